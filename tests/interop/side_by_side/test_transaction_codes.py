"""Every request about a transaction gets the same error code as from Apache Kafka 3.9.1, in every state.

`scripts/record-transactions` records the codes of Kafka. That Kafka still returns them, and that a broker process in a
cluster does (`tests/cluster/test_transaction_codes.py` asks brokers in this process), is tested in long runs only.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from interop.side_by_side.transaction_codes import code_rows, exhaustion_rows
from interop.side_by_side.transaction_stage import SETTINGS, SITUATIONS, Situation, Stage
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.processes.silent_member import silent_member
from support.transaction_codes import Case, cases_in, differences_of_pybroker, recorded_cases

KAFKA, PYBROKER, PYBROKER_ALONE = "Kafka", "pybroker", "pybroker alone"
IN_LONG_RUNS = pytest.mark.long
USUAL = ("Empty, fenced", "Ongoing with records", "CompleteCommit")
"""The situations that are tried in all runs."""

EXPIRING = {
    "transactional.id.expiration.ms": "5000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "100",
}
EXPIRED_IDS = 80
"""At least one for each request that changes an id."""


def started(
    stack: ExitStack, kind: str, directory: Path, settings: Mapping[str, str], *, with_silent_broker: bool
) -> str:
    """The address of a broker that runs until the end of the stack."""
    if kind == PYBROKER_ALONE:
        return stack.enter_context(BrokerProcess(directory, settings)).bootstrap_servers
    zookeeper = ZooKeeperProcess(directory / "zookeeper", {"maxSessionTimeout": "3600000"}).start()
    stack.callback(zookeeper.kill)
    if kind == KAFKA:
        broker = KafkaProcess(directory / "kafka", zookeeper, settings).start()
        stack.callback(broker.kill)
        servers = broker.bootstrap_servers
    else:
        settings = {**settings, "zookeeper.connect": zookeeper.connect}
        servers = stack.enter_context(BrokerProcess(directory / "pybroker", settings)).bootstrap_servers
    if with_silent_broker:
        stack.enter_context(silent_member(zookeeper.connect))
    return servers


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(KAFKA, marks=IN_LONG_RUNS),
        pytest.param(PYBROKER, marks=IN_LONG_RUNS),
        PYBROKER_ALONE,
    ],
)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    is_alone = request.param == PYBROKER_ALONE
    with ExitStack() as stack:
        directory = tmp_path_factory.mktemp("codes")
        servers = started(stack, request.param, directory, SETTINGS, with_silent_broker=not is_alone)
        yield stack.enter_context(Stage.alone(servers) if is_alone else Stage.with_silent_broker(servers))


@pytest.fixture
def is_kafka(request: pytest.FixtureRequest) -> bool:
    return bool(request.node.callspec.params["stage"] == KAFKA)


@pytest.mark.parametrize(
    "situation",
    [
        pytest.param(each, id=each.name, marks=() if each.name in USUAL else IN_LONG_RUNS)
        for each in SITUATIONS.values()
    ],
)
def test_transactional_requests_get_the_codes_of_kafka(stage: Stage, is_kafka: bool, situation: Situation) -> None:
    if situation.needs_silent_broker and not stage.has_silent_broker:
        pytest.skip("a broker alone writes every marker and commits every record at once")
    found, recorded = cases_in(code_rows(stage, situation)), recorded_cases(situation.name)
    compare(found, recorded, is_kafka=is_kafka)


def compare(found: dict[Case, str], recorded: dict[Case, str], *, is_kafka: bool) -> None:
    if is_kafka:
        assert found == recorded
    else:
        different = differences_of_pybroker(found, recorded)
        assert not different, "\n".join(different)


def test_exhausted_producers_get_the_codes_of_kafka(stage: Stage, is_kafka: bool) -> None:
    compare(cases_in(exhaustion_rows(stage)), recorded_cases("exhausted"), is_kafka=is_kafka)


@pytest.mark.parametrize("kind", [pytest.param(KAFKA, marks=IN_LONG_RUNS), PYBROKER_ALONE])
def test_an_expired_id_is_unknown(kind: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        servers = started(stack, kind, tmp_path, {**SETTINGS, **EXPIRING}, with_silent_broker=False)
        stage = stack.enter_context(Stage.alone(servers))
        expired = stage.await_expiry(EXPIRED_IDS)
        found = cases_in(code_rows(stage, Situation("unknown id", lambda _: expired.pop())))
        compare(found, recorded_cases("unknown id"), is_kafka=kind == KAFKA)

"""Sends the same requests to pybroker and Apache Kafka 3.9.1 and compares the responses field by field.

`scenarios.py` lists the scenarios, `allowed_differences.py` the permitted differences.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from interop.side_by_side import misshapen_record_scenarios, produce_scenarios
from interop.side_by_side.allowed_differences import ALLOWED, BY_HEADER, WALKED, Allowed, is_allowed_everywhere
from interop.side_by_side.conversation import Conversation, Step
from interop.side_by_side.differences import differences
from interop.side_by_side.scenarios import SCENARIOS, Scenario
from pybroker.protocol.messages.metadata import MetadataRequest
from support.clients.recorded_scripts import comparable, run_here
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess

SCRIPT_LINES = (
    "kafka-topics --create --topic scripts --partitions 2 --config retention.ms=1000000",
    "kafka-topics --describe --topic scripts",
    "kafka-topics --create --topic scripts",
    "kafka-configs --describe --entity-type topics --entity-name scripts",
    "kafka-get-offsets --topic scripts",
    "kafka-leader-election --election-type preferred --topic scripts --partition 0",
    "kafka-log-dirs --describe --topic-list scripts",
    "kafka-consumer-groups --describe --group nobody --members",
    "kafka-transactions describe-producers --topic scripts --partition 0",
    "kafka-acls --list --topic scripts",
    "kafka-topics --delete --topic scripts",
)

# Settings of both; the first are pybroker's defaults with the embedded store.
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "broker.id": "0",
    "offsets.topic.num.partitions": "3",
    "group.max.size": "3",
    "group.coordinator.rebalance.protocols": "classic",
    "log.retention.ms": "-1",  # the records have old timestamps
    "max.incremental.fetch.session.cache.slots": "100000",
    "connections.max.idle.ms": "3600000",
}


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KafkaProcess, BrokerProcess]]:
    directory = tmp_path_factory.mktemp("side_by_side")
    zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
    kafka = KafkaProcess(directory / "kafka", zookeeper, SETTINGS)
    kafka.begin()
    with BrokerProcess(directory / "pybroker", SETTINGS) as pybroker:
        kafka.wait_until_ready()
        await_cluster(kafka.port)
        yield kafka, pybroker
    kafka.kill()
    zookeeper.kill()


def await_cluster(port: int) -> None:
    """Waits for the cluster: Kafka reports its start before it knows its own registration."""
    talk = Conversation(("127.0.0.1", port), "start")
    while not talk.unrecorded(MetadataRequest(topics=[]), 1).brokers:
        pass
    talk.close()


@pytest.fixture(scope="module")
def thorough(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A pybroker that validates every record, like Kafka."""
    directory = tmp_path_factory.mktemp("thorough")
    with BrokerProcess(directory, {**SETTINGS, "pybroker.record.validation": "full"}) as pybroker:
        yield pybroker


def record(port: int, scenario: Scenario, name: str) -> list[Step]:
    """Runs a scenario and records its responses. `name`: prefix of its topics and groups."""
    talk = Conversation(("127.0.0.1", port), name)
    try:
        scenario(talk)
    finally:
        talk.close()
    return talk.steps


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_pybroker_responds_like_kafka(brokers: tuple[KafkaProcess, BrokerProcess], scenario: Scenario) -> None:
    kafka, pybroker = brokers
    allowed = [one for one in ALLOWED.get(scenario.__name__, []) if one.reason != WALKED]
    compare(kafka.port, pybroker.port, scenario, scenario.__name__, allowed)


def is_validated(scenario: Scenario) -> bool:
    """Whether a response depends on the validation of records, as far as the list of differences tells."""
    return any(one.reason in (BY_HEADER, WALKED) for one in ALLOWED.get(scenario.__name__, ()))


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(each, id=each.__name__, marks=() if is_validated(each) else pytest.mark.long)
        for each in (*produce_scenarios.SCENARIOS, *misshapen_record_scenarios.SCENARIOS)
    ],
)
def test_pybroker_with_full_validation_responds_to_produce_like_kafka(
    brokers: tuple[KafkaProcess, BrokerProcess], thorough: BrokerProcess, scenario: Scenario
) -> None:
    kafka, _ = brokers
    allowed = [one for one in ALLOWED.get(scenario.__name__, []) if one.reason != BY_HEADER]
    compare(kafka.port, thorough.port, scenario, f"walked.{scenario.__name__}", allowed)


def compare(kafka: int, pybroker: int, scenario: Scenario, name: str, allowed: Sequence[Allowed]) -> None:
    """Compares the responses of both ports. Every difference must be allowed, and every allowed
    difference must occur."""
    with ThreadPoolExecutor() as pool:
        of_kafka, of_pybroker = pool.map(record, [kafka, pybroker], [scenario] * 2, [name] * 2)
    for step in of_kafka:  # pytest shows this output if the test fails
        print(f"{step.name} -> {step.answer}")
    found = [each for each in differences(of_kafka, of_pybroker) if not is_allowed_everywhere(each)]
    unexpected = [each for each in found if not any(one.covers(each) for one in allowed)]
    assert not unexpected, "\n".join(map(str, unexpected))
    vanished = [one for one in allowed if not any(one.covers(each) for each in found)]
    assert not vanished, f"these differ no longer: take them out of the list: {vanished}"


def test_allowed_differences_name_existing_scenarios() -> None:
    assert set(ALLOWED) <= {scenario.__name__ for scenario in SCENARIOS}


def test_scenario_names_are_unique() -> None:
    names = [scenario.__name__ for scenario in SCENARIOS]
    assert len(names) == len(set(names))


def test_scripts_with_kafkas_names_print_the_same_on_both(
    brokers: tuple[KafkaProcess, BrokerProcess],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = run_here(capsys, monkeypatch, tmp_path / "stdin")
    for line in SCRIPT_LINES:
        name, *arguments = line.split()
        printed = [run([name, "--bootstrap-server", each.bootstrap_servers, *arguments], "") for each in brokers]
        directories = [str(each.directory) for each in brokers]
        theirs, ours = (
            comparable(each._replace(out=each.out.replace(directory, "<dir>")))
            for each, directory in zip(printed, directories, strict=True)
        )
        assert (line, ours) == (line, theirs)

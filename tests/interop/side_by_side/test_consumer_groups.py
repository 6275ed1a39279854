"""Sends the same requests of the consumer protocol to pybroker and Apache Kafka 4.2.0, and compares the responses."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from interop.side_by_side import consumer_group_scenarios, group_transaction_scenarios
from interop.side_by_side.allowed_differences import Allowed
from interop.side_by_side.conversation import Conversation, Step
from interop.side_by_side.differences import differences
from interop.side_by_side.scenarios import Scenario
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_versions import KRaftProcess, libs_of

pytestmark = pytest.mark.long

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.consumer.max.size": "3",
    "group.consumer.migration.policy": "disabled",
    "group.coordinator.rebalance.protocols": "classic,consumer",
}
EMPTY_IS_DONE = "later releases of Kafka: an empty group has nothing to assign (KAFKA-20442)"
HELD = "later releases of Kafka: the partitions that a member still has to give back are shown too (KAFKA-20431)"
ANOTHER_ASSIGNOR = "later releases of Kafka: another assignor assigns anew (KAFKA-20434)"
NO_MIX = "a classic member cannot join: it is refused at once, before it gets a member id"
ALLOWED: dict[str, list[Allowed]] = {
    "join_and_leave": [Allowed("* groups.0.assignmentEpoch", EMPTY_IS_DONE, 1, 2)],
    "change_the_subscription": [Allowed("5 *.members.0.assignment.topicPartitions", HELD, [1], [1, 2])],
    "share_partitions": [Allowed("5 * (revoking): *.members.0.assignment.topicPartitions.0", HELD, 2, 4)],
    "name_an_assignor": [
        Allowed(f"{step} *{field}", ANOTHER_ASSIGNOR, 1, 2)
        for step, field in ((3, "memberEpoch"), (4, "groupEpoch"), (4, "assignmentEpoch"), (4, "memberEpoch"))
    ],
    "use_the_other_protocol": [
        Allowed("2 JoinGroup *: errorCode", NO_MIX, "MEMBER_ID_REQUIRED", "INCONSISTENT_GROUP_PROTOCOL"),
        Allowed("2 JoinGroup *: memberId", NO_MIX, "<member 1>", ""),
    ],
}
"""The permanent differences by scenario, with the reasons."""
SCENARIOS = (*consumer_group_scenarios.SCENARIOS, *group_transaction_scenarios.SCENARIOS)


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[str, int]]]:
    yield from side_by_side(tmp_path_factory.mktemp("consumer_groups"), SETTINGS)


def side_by_side(directory: Path, settings: Mapping[str, str]) -> Iterator[list[tuple[str, int]]]:
    """Run Kafka and pybroker with the same settings; yield the addresses."""
    kafka = KRaftProcess(directory / "kafka", libs_of("4.2.0"), dict(settings))
    try:
        kafka.start()
        with BrokerProcess(directory / "pybroker", dict(settings)) as pybroker:
            yield [_address(each.bootstrap_servers) for each in (kafka, pybroker)]
    finally:
        kafka.stop()


def _address(servers: str) -> tuple[str, int]:
    host, _, port = servers.partition(":")
    return host, int(port)


def record(address: tuple[str, int], scenario: Scenario) -> list[Step]:
    talk = Conversation(address, scenario.__name__)
    try:
        scenario(talk)
    finally:
        talk.close()
    return talk.steps


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_consumer_groups_are_answered_as_by_kafka(addresses: list[tuple[str, int]], scenario: Scenario) -> None:
    with ThreadPoolExecutor() as pool:
        of_kafka, of_pybroker = pool.map(record, addresses, [scenario] * 2)
    for step in of_kafka:  # pytest shows this output if the test fails
        print(f"{step.name} -> {step.answer}")
    allowed = ALLOWED.get(scenario.__name__, [])
    found = differences(of_kafka, of_pybroker)
    unexpected = [each for each in found if not any(one.covers(each) for one in allowed)]
    assert not unexpected, "\n".join(map(str, unexpected))
    vanished = [one for one in allowed if not any(one.covers(each) for each in found)]
    assert not vanished, f"these differ no longer: take them out of the list: {vanished}"

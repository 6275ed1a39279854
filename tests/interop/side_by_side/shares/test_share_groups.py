"""Sends the same requests of share groups to pybroker and Apache Kafka 4.2.0, and compares the responses."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from interop.side_by_side.allowed_differences import ANY, Allowed
from interop.side_by_side.differences import differences
from interop.side_by_side.scenarios import Scenario
from interop.side_by_side.shares import group_scenarios, lock_scenarios, offset_scenarios, record_scenarios
from interop.side_by_side.test_consumer_groups import record, side_by_side

pytestmark = pytest.mark.long

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.coordinator.rebalance.protocols": "classic,consumer,share",
    "group.share.min.record.lock.duration.ms": "1000",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
CRASHES = "Kafka fails at a topic that does not exist; here the other topics are served"
CLEARER = "Kafka fails by accident here; the code says what is wrong"
TOLD_AGAIN = "the response with the assignment may have been lost"
GROWN = "later releases of Kafka: a partition that is new in the group begins at 0 (KAFKA-20742)"
CODE_SAYS_IT = "clients have a text for each code"
AS_ONE = "neighbours with the same count are told as one"
SAYS_WHY = Allowed("*rrorMessage", "it says why", None, "some text")


def crashes(step: str) -> list[Allowed]:
    return [
        Allowed(f"{step}: errorCode", CRASHES, "UNKNOWN_SERVER_ERROR", "NONE"),
        Allowed(f"{step}: acquisitionLockTimeoutMs", CRASHES, 0, 30_000),
        Allowed(f"{step}: responses", CRASHES, [], ANY),
    ]


ALLOWED: dict[str, list[Allowed]] = {
    "share_members_come_and_change": [Allowed("5 *(the epoch before): assignment", TOLD_AGAIN, None, ANY)],
    "start_offsets_of_share_groups": [
        *(Allowed(f"{step} *.partitions.1.startOffset", GROWN, -1, 0) for step in (18, 19)),
        Allowed("*rrorMessage", CODE_SAYS_IT, "some text", None),
    ],
    "refused_acknowledgements": crashes("* ShareAcknowledge v2 (an unknown topic)"),
    "unknown_places": [*crashes("2 ShareFetch v2 (an unknown topic too)"), *crashes("3 ShareFetch v2 (again)")],
    "limits_of_fetches": [
        Allowed("8 *.acquiredRecords", AS_ONE, ANY, ANY),
        Allowed("12 *(an unknown mode): errorCode", CLEARER, "UNKNOWN_SERVER_ERROR", "INVALID_REQUEST"),
    ],
}
"""The permanent differences by scenario, with the reasons."""
SCENARIOS = (
    *group_scenarios.SCENARIOS,
    *offset_scenarios.SCENARIOS,
    *record_scenarios.SCENARIOS,
    *lock_scenarios.SCENARIOS,
)


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[str, int]]]:
    yield from side_by_side(tmp_path_factory.mktemp("share_groups"), SETTINGS)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_share_groups_are_answered_as_by_kafka(addresses: list[tuple[str, int]], scenario: Scenario) -> None:
    with ThreadPoolExecutor() as pool:
        of_kafka, of_pybroker = pool.map(record, addresses, [scenario] * 2)
    for step in of_kafka:  # pytest shows this output if the test fails
        print(f"{step.name} -> {step.answer}")
    allowed = ALLOWED.get(scenario.__name__, [])
    found = differences(of_kafka, of_pybroker)
    unexpected = [each for each in found if not any(one.covers(each) for one in [SAYS_WHY, *allowed])]
    assert not unexpected, "\n".join(map(str, unexpected))
    vanished = [one for one in allowed if not any(one.covers(each) for each in found)]
    assert not vanished, f"these differ no longer: take them out of the list: {vanished}"

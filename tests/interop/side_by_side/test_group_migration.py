"""Sends pybroker and Apache Kafka 4.2.0 requests about groups whose members use both protocols, and compares them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from interop.side_by_side.allowed_differences import Allowed
from interop.side_by_side.differences import differences
from interop.side_by_side.migration_scenarios import SCENARIOS
from interop.side_by_side.scenarios import Scenario
from interop.side_by_side.test_consumer_groups import HELD, SETTINGS, record, side_by_side

pytestmark = pytest.mark.long

NO_LEADER = "a group that nobody leads rebalances at once; in Kafka, nobody watches its topics until it does"
NEXT_EPOCH = "whoever makes a classic group a consumer group begins an epoch, because partitions may be held back"
ALLOWED: dict[str, list[Allowed]] = {
    "consumer_joins_a_classic_group": [
        Allowed("7 * (revoking): *.assignment.topicPartitions.0", HELD, 2, 4),
    ],
    "static_member_changes_up_and_down": [
        Allowed("1 * (up): memberEpoch", NEXT_EPOCH, 1, 2),
        Allowed("2 * (up): groups.0.groupEpoch", NEXT_EPOCH, 1, 2),
        Allowed("2 * (up): groups.0.assignmentEpoch", NEXT_EPOCH, 1, 2),
        Allowed("2 * (up): groups.0.members.0.memberEpoch", NEXT_EPOCH, 1, 2),
        Allowed("4 * (down): generationId", NEXT_EPOCH, 1, 2),
        Allowed("7 Heartbeat * (stable): errorCode", NO_LEADER, "NONE", "REBALANCE_IN_PROGRESS"),
    ],
}
"""The permanent differences by scenario, with the reasons."""


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[str, int]]]:
    settings = {**SETTINGS, "group.consumer.migration.policy": "bidirectional"}
    yield from side_by_side(tmp_path_factory.mktemp("migration"), settings)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_groups_of_both_protocols_are_answered_as_by_kafka(
    addresses: list[tuple[str, int]], scenario: Scenario
) -> None:
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

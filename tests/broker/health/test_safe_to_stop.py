"""Whether a broker can be stopped: the rule, against a plain count of the replicas that are left."""

from collections.abc import AsyncIterator

from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.health.safe_to_stop import judge_stop, why_unsafe
from pybroker.protocol.messages.update_metadata import UpdateMetadataPartitionState

BROKERS = st.integers(0, 4)


@given(st.lists(BROKERS, unique=True), BROKERS, st.integers(1, 4), st.sets(BROKERS))
def test_partition_suffers_when_too_few_live_replicas_in_sync_are_left(
    isr: list[int], stopping: int, min_isr: int, alive: set[int]
) -> None:
    state = UpdateMetadataPartitionState(isr=isr, replicas=isr)
    left = (set(isr) & alive) - {stopping}
    suffers = stopping in isr and len(left) < max(min_isr, 1)
    assert (why_unsafe(state, stopping, min_isr, alive.__contains__) is not None) == suffers


async def states(*states: tuple[str, list[int], list[int]]) -> AsyncIterator[tuple[str, UpdateMetadataPartitionState]]:
    for number, (topic, isr, replicas) in enumerate(states):
        yield topic, UpdateMetadataPartitionState(partition_index=number, isr=isr, replicas=replicas)


async def test_verdict_names_the_partitions_and_does_not_count_partitions_without_a_spare_replica() -> None:
    partitions = states(
        ("fine", [1, 2, 3], [1, 2, 3]),
        ("behind", [1, 2], [1, 2, 3]),
        ("alone", [1], [1]),
        ("leaderless", [1], [1, 2]),
        ("elsewhere", [2, 3], [1, 2, 3]),
    )
    minimum = {"leaderless": 1}
    verdict = await judge_stop(partitions, 1, lambda topic: minimum.get(topic, 2), lambda _broker: True)
    assert not verdict.is_safe
    assert verdict.reasons == [
        "behind-1 would have 1 in-sync replicas, but min.insync.replicas is 2",
        "leaderless-3 would lose its leader",
    ]
    assert (verdict.partitions, verdict.without_spare) == (2, 1)


async def test_verdict_names_a_bounded_number_of_partitions() -> None:
    partitions = states(*[("behind", [1, 2], [1, 2, 3])] * 500)
    verdict = await judge_stop(partitions, 1, lambda _topic: 2, lambda _broker: True)
    assert verdict.partitions == 500
    assert len(verdict.reasons) == 20

"""Plans of reassignments: balanced, with few moves, and safe to read from a file of a stranger."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.command_parser import CommandError
from pybroker.base.topic_partition import TopicPartition
from pybroker.cli.cluster.reassignment_plan import balanced, plan_text, read_plan

BROKERS = range(1, 7)


@st.composite
def assignments(draw: st.DrawFn) -> dict[TopicPartition, tuple[int, ...]]:
    size = draw(st.integers(1, 3))
    replicas = st.lists(st.sampled_from(BROKERS), min_size=size, max_size=size, unique=True).map(tuple)
    rows = draw(st.lists(replicas, min_size=1, max_size=30))
    return {TopicPartition("t", number): row for number, row in enumerate(rows)}


@given(assignments(), st.sets(st.sampled_from(BROKERS), min_size=3), st.sampled_from([None, 1, 2, 3]))
def test_plan_uses_the_brokers_evenly_and_keeps_replication(
    current: dict[TopicPartition, tuple[int, ...]], chosen: set[int], replication_factor: int | None
) -> None:
    plan = balanced(current, sorted(chosen), replication_factor)
    assert plan.keys() == current.keys()
    for at, replicas in plan.items():
        assert len(set(replicas)) == len(replicas) == (replication_factor or len(current[at]))
        assert set(replicas) <= chosen
    load = Counter(dict.fromkeys(chosen, 0))
    load.update(replica for replicas in plan.values() for replica in replicas)
    assert max(load.values()) - min(load.values()) <= 1


@given(assignments(), st.sets(st.sampled_from(BROKERS), min_size=3))
def test_plan_of_a_plan_copies_nothing(current: dict[TopicPartition, tuple[int, ...]], chosen: set[int]) -> None:
    once = balanced(current, sorted(chosen))
    twice = balanced(once, sorted(chosen))
    assert {at: set(replicas) for at, replicas in twice.items()} == {at: set(each) for at, each in once.items()}


@given(assignments())
def test_plan_is_read_as_it_was_written(current: dict[TopicPartition, tuple[int, ...]]) -> None:
    assert read_plan(plan_text(current), "plan") == current


def test_plan_needs_enough_brokers() -> None:
    with pytest.raises(CommandError, match="2 replicas need 2 brokers"):
        balanced({TopicPartition("t", 0): (1, 2)}, [1])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        '{"partitions":[1]}',
        '{"partitions":[{"topic":"t","partition":0}]}',
        '{"partitions":[{"topic":"t","partition":0,"replicas":[]}]}',
        '{"partitions":[{"topic":"t","partition":0,"replicas":[1,1]}]}',
        '{"partitions":[{"topic":"t","partition":0,"replicas":[true]}]}',
        '{"partitions":[{"topic":"t","partition":-1,"replicas":[1]}]}',
        '{"partitions":[{"topic":1,"partition":0,"replicas":[1]}]}',
        '{"partitions":[{"topic":"t","partition":0,"replicas":[1]},{"topic":"t","partition":0,"replicas":[2]}]}',
    ],
)
def test_text_that_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(CommandError, match=r"^plan: "):
        read_plan(text, "plan")

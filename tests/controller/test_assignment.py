"""Assignment of replicas to brokers: the same as Kafka's AdminUtils, with the invariants of every assignment."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.protocol.errors import InvalidPartitionsError, InvalidReplicationFactorError
from pybroker.protocol.replica_assignment import BrokerRack, IncompleteRacksError, assign_replicas, rack_alternated

# Results of Kafka 3.9.1's AdminUtils.assignReplicasToBrokers: brokers 0…, partitions, factor, start, first, racks.
KAFKAS = [
    (5, 10, 3, 0, 0, "", {0: (0, 1, 2), 1: (1, 2, 3), 2: (2, 3, 4), 3: (3, 4, 0), 4: (4, 0, 1),
                          5: (0, 2, 3), 6: (1, 3, 4), 7: (2, 4, 0), 8: (3, 0, 1), 9: (4, 1, 2)}),
    (3, 4, 2, 2, 5, "", {5: (1, 2), 6: (2, 1), 7: (0, 2), 8: (1, 0)}),
    (1, 3, 1, 0, 0, "", {0: (0,), 1: (0,), 2: (0,)}),
    (6, 7, 3, 0, 0, "r1 r3 r3 r2 r2 r1", {0: (0, 3, 1), 1: (3, 1, 5), 2: (1, 5, 4), 3: (5, 4, 2), 4: (4, 2, 0),
                                           5: (2, 0, 3), 6: (0, 4, 2)}),
    (6, 8, 2, 4, 3, "a a a b b c", {3: (3, 2), 4: (5, 2), 5: (1, 3), 6: (4, 2), 7: (2, 3), 8: (0, 3), 9: (3, 5),
                                     10: (5, 1)}),
    (4, 5, 4, 1, 0, "a a b b", {0: (2, 0, 1, 3), 1: (1, 2, 3, 0), 2: (3, 1, 0, 2), 3: (0, 3, 2, 1), 4: (2, 0, 1, 3)}),
    (5, 5, 3, 3, 7, "x y y y y", {7: (0, 3, 4), 8: (1, 0, 2), 9: (2, 0, 1), 10: (3, 0, 1), 11: (4, 0, 1)}),
]  # fmt: skip


def brokers(count: int, racks: str = "") -> list[BrokerRack]:
    names: list[str | None] = [*racks.split()] or [None] * count
    return [BrokerRack(broker_id, rack) for broker_id, rack in enumerate(names)]


@pytest.mark.parametrize(("count", "partitions", "factor", "start", "first", "racks", "expected"), KAFKAS)
def test_replicas_are_assigned_to_the_same_brokers_as_by_kafka(
    count: int, partitions: int, factor: int, start: int, first: int, racks: str, expected: dict[int, tuple[int, ...]]
) -> None:
    placed = assign_replicas(
        brokers(count, racks), partitions, factor, Random(0).randrange, start_index=start, first_partition=first
    )
    assert placed == expected


def test_brokers_are_ordered_so_that_racks_alternate() -> None:
    racks = {0: "r1", 1: "r1", 2: "r1", 3: "r2", 4: "r2", 5: "r2", 6: "r3", 7: "r3"}
    assert rack_alternated(racks) == [0, 3, 6, 1, 4, 7, 2, 5]


@given(st.integers(1, 8), st.integers(1, 30), st.data())
def test_leaders_are_even_and_replicas_are_different_brokers(count: int, partitions: int, data: st.DataObject) -> None:
    factor = data.draw(st.integers(1, count))
    placed = assign_replicas(brokers(count), partitions, factor, Random(data.draw(st.integers(0, 99))).randrange)
    assert list(placed) == list(range(partitions))
    assert all(len(set(replicas)) == factor for replicas in placed.values())
    leaders = Counter(replicas[0] for replicas in placed.values())
    assert max(leaders.values()) - min(leaders.get(b, 0) for b in range(count)) <= 1


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=8), st.integers(1, 20), st.data())
def test_replicas_are_on_as_many_racks_as_possible(racks: list[str], partitions: int, data: st.DataObject) -> None:
    factor = data.draw(st.integers(1, len(racks)))
    seed = data.draw(st.integers(0, 99))
    placed = assign_replicas(brokers(len(racks), " ".join(racks)), partitions, factor, Random(seed).randrange)
    for replicas in placed.values():
        assert len(set(replicas)) == factor
        assert len({racks[broker_id] for broker_id in replicas}) == min(factor, len(set(racks)))


def test_assignment_uses_the_random_numbers_of_the_caller() -> None:
    asked: list[int] = []

    def below(limit: int) -> int:
        asked.append(limit)
        return 1

    assert assign_replicas(brokers(3), 1, 2, below) == {0: (1, 0)}
    assert asked == [3, 3]


def test_impossible_assignments_are_refused_with_kafkas_errors() -> None:
    with pytest.raises(InvalidPartitionsError):
        assign_replicas(brokers(3), 0, 1, Random(0).randrange)
    with pytest.raises(InvalidReplicationFactorError, match="larger than 0"):
        assign_replicas(brokers(3), 1, 0, Random(0).randrange)
    with pytest.raises(InvalidReplicationFactorError, match="larger than available brokers: 3"):
        assign_replicas(brokers(3), 1, 4, Random(0).randrange)
    with pytest.raises(InvalidReplicationFactorError):
        assign_replicas([], 1, 1, Random(0).randrange)
    with pytest.raises(IncompleteRacksError):
        assign_replicas([BrokerRack(0, "a"), BrokerRack(1)], 1, 1, Random(0).randrange)

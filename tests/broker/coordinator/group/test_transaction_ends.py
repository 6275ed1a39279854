"""Ends of transactions reach the groups that have offsets in them, and no other groups."""

from collections.abc import Callable

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.group import Group
from pybroker.broker.coordinator.group.offsets import CommitRecord, GroupOffsets, OffsetAndMetadata
from pybroker.broker.coordinator.group.registry import GroupRegistry, TransactionEnd

T0 = TopicPartition("t", 0)
VALUE = OffsetAndMetadata(5, -1, "", 0)
PARTITION = 3


def group_with_pending(group_id: str, *producer_ids: int) -> Group:
    """A group as a load finds it, with an offset in the open transaction of each producer."""
    group = Group(group_id, 0)
    for number, producer_id in enumerate(producer_ids):
        group.offsets.load_pending(producer_id, {TopicPartition("t", number): CommitRecord(number, VALUE)})
    return group


def loaded(*groups: Group) -> GroupRegistry:
    registry = GroupRegistry(lambda: 50)
    registry.ownership.begin_loading(PARTITION, 1)
    registry.finish_loading(PARTITION, groups)
    return registry


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The producer id of each end that a group was told."""
    producer_ids: list[int] = []
    complete: Callable[..., None] = GroupOffsets.complete_transaction

    def counted(offsets: GroupOffsets, producer_id: int, *, is_commit: bool) -> None:
        producer_ids.append(producer_id)
        complete(offsets, producer_id, is_commit=is_commit)

    monkeypatch.setattr(GroupOffsets, "complete_transaction", counted)
    return producer_ids


def test_end_of_a_transaction_visits_only_groups_with_offsets_in_it(ended: list[int]) -> None:
    others = [group_with_pending(f"other-{number}", 8) for number in range(100)]
    one, two = group_with_pending("one", 7), group_with_pending("two", 7, 8)
    registry = loaded(*others, one, two)
    registry.end_transaction(PARTITION, TransactionEnd(7, is_commit=True))
    assert ended == [7, 7]
    assert one.offsets.get(T0) == two.offsets.get(T0) == VALUE
    assert not any(group.offsets.committed for group in others)
    registry.end_transaction(PARTITION, TransactionEnd(7, is_commit=True))
    assert ended == [7, 7]


def test_every_group_of_a_producer_learns_of_its_end() -> None:
    groups = [group_with_pending(f"group-{number}", 7) for number in range(3)]
    loaded(*groups).end_transaction(PARTITION, TransactionEnd(7, is_commit=True))
    assert all(group.offsets.get(T0) == VALUE for group in groups)


def test_end_of_a_transaction_of_a_removed_group_changes_nothing(ended: list[int]) -> None:
    group = group_with_pending("one", 7)
    registry = loaded(group)
    registry.remove(group)
    registry.end_transaction(PARTITION, TransactionEnd(7, is_commit=True))
    assert ended == []


def test_ends_reach_the_groups_of_a_partition_that_came_back(ended: list[int]) -> None:
    registry = loaded(group_with_pending("one", 7))
    registry.remove_partition(PARTITION)
    registry.end_transaction(PARTITION, TransactionEnd(7, is_commit=True))
    assert ended == []
    registry.ownership.release(PARTITION, 2)
    registry.ownership.begin_loading(PARTITION, 3)
    again = group_with_pending("one", 7)
    registry.finish_loading(PARTITION, [again])
    registry.end_transaction(PARTITION, TransactionEnd(7, is_commit=True))
    assert again.offsets.get(T0) == VALUE

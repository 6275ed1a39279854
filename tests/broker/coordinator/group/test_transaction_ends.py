"""Ends of transactions reach the groups that have offsets in them, and no other groups."""

from collections.abc import Callable

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.group import Group
from pybroker.broker.coordinator.group.offsets import CommitRecord, GroupOffsets, OffsetAndMetadata
from pybroker.broker.coordinator.group.registry import GroupRegistry
from pybroker.broker.coordinator.transaction_end import TransactionEnd

T0 = TopicPartition("t", 0)
VALUE = OffsetAndMetadata(5, -1, "", 0)
PARTITION = 3
END = TransactionEnd(7, is_commit=True, marker_offset=100)


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

    def counted(offsets: GroupOffsets, end: TransactionEnd) -> None:
        producer_ids.append(end.producer_id)
        complete(offsets, end)

    monkeypatch.setattr(GroupOffsets, "complete_transaction", counted)
    return producer_ids


def test_end_of_a_transaction_visits_only_groups_with_offsets_in_it(ended: list[int]) -> None:
    others = [group_with_pending(f"other-{number}", 8) for number in range(100)]
    one, two = group_with_pending("one", 7), group_with_pending("two", 7, 8)
    registry = loaded(*others, one, two)
    registry.end_transaction(PARTITION, END)
    assert ended == [7, 7]
    assert one.offsets.get(T0) == two.offsets.get(T0) == VALUE
    assert not any(group.offsets.committed for group in others)
    registry.end_transaction(PARTITION, END)
    assert ended == [7, 7]


def test_every_group_of_a_producer_learns_of_its_end() -> None:
    groups = [group_with_pending(f"group-{number}", 7) for number in range(3)]
    loaded(*groups).end_transaction(PARTITION, END)
    assert all(group.offsets.get(T0) == VALUE for group in groups)


def test_end_of_a_transaction_of_a_removed_group_changes_nothing(ended: list[int]) -> None:
    group = group_with_pending("one", 7)
    registry = loaded(group)
    registry.remove(group)
    registry.end_transaction(PARTITION, END)
    assert ended == []


def test_ends_reach_the_groups_of_a_partition_that_came_back(ended: list[int]) -> None:
    registry = loaded(group_with_pending("one", 7))
    registry.remove_partition(PARTITION)
    registry.end_transaction(PARTITION, END)
    assert ended == []
    registry.ownership.release(PARTITION, 2)
    registry.ownership.begin_loading(PARTITION, 3)
    again = group_with_pending("one", 7)
    registry.finish_loading(PARTITION, [again])
    registry.end_transaction(PARTITION, END)
    assert again.offsets.get(T0) == VALUE


# -- ends, and offsets whose append is running


def value_of(offset: int) -> dict[TopicPartition, OffsetAndMetadata]:
    return {T0: OffsetAndMetadata(offset, -1, "", 0)}


def committed_offset(offsets: GroupOffsets) -> int | None:
    value = offsets.get(T0)
    return None if value is None else value.offset


@pytest.mark.parametrize("is_commit", [True, False])
def test_late_copy_of_a_marker_does_not_end_the_next_transaction_whose_commit_is_being_written(is_commit: bool) -> None:
    offsets, first, second = GroupOffsets(), value_of(10), value_of(20)
    offsets.stage_transactional(7, first)
    offsets.on_transactional_appended(7, 1, first)
    offsets.complete_transaction(TransactionEnd(7, is_commit=True, marker_offset=2))
    offsets.stage_transactional(7, second)
    offsets.complete_transaction(TransactionEnd(7, is_commit=is_commit, marker_offset=3))
    offsets.on_transactional_appended(7, 4, second)
    assert committed_offset(offsets) == 10
    assert offsets.is_unstable(T0)
    offsets.complete_transaction(TransactionEnd(7, is_commit=True, marker_offset=5))
    assert committed_offset(offsets) == 20
    assert not offsets.is_unstable(T0)


def test_late_copy_of_a_marker_does_not_end_the_next_transaction_whose_commit_was_written() -> None:
    group = Group("one", 0)
    group.offsets.load_pending(7, {T0: CommitRecord(8, VALUE)})
    registry = loaded(group)
    registry.end_transaction(PARTITION, END._replace(marker_offset=7))
    assert group.offsets.get(T0) is None
    registry.end_transaction(PARTITION, END._replace(marker_offset=9))
    assert group.offsets.get(T0) == VALUE


def test_commit_of_an_ended_transaction_takes_effect_although_the_next_one_has_begun() -> None:
    offsets, first, second = GroupOffsets(), value_of(10), value_of(20)
    offsets.stage_transactional(7, first)
    offsets.complete_transaction(TransactionEnd(7, is_commit=True, marker_offset=2))
    offsets.stage_transactional(7, second)
    offsets.complete_transaction(TransactionEnd(7, is_commit=False, marker_offset=4))
    offsets.on_transactional_appended(7, 1, first)
    offsets.on_transactional_appended(7, 3, second)
    assert committed_offset(offsets) == 10
    assert not offsets.has_offsets_of(7)


def test_failed_commit_leaves_the_earlier_commit_of_its_transaction() -> None:
    offsets, first, second = GroupOffsets(), value_of(10), value_of(20)
    offsets.stage_transactional(7, first)
    offsets.on_transactional_appended(7, 1, first)
    offsets.stage_transactional(7, second)
    offsets.on_transactional_append_failed(7, second)
    offsets.complete_transaction(TransactionEnd(7, is_commit=True, marker_offset=2))
    assert committed_offset(offsets) == 10


def test_offset_removed_while_its_commit_is_being_written_stays_removed() -> None:
    offsets, value = GroupOffsets(), value_of(10)
    offsets.stage_transactional(7, value)
    assert offsets.remove([T0]) == [T0]
    assert offsets.is_empty()
    offsets.on_transactional_appended(7, 1, value)
    offsets.complete_transaction(TransactionEnd(7, is_commit=True, marker_offset=2))
    assert offsets.is_empty()

"""A share partition gives each record to one member at a time, and again until it is done."""

import pytest
from pybroker.broker.coordinator.share.state_batch import StateBatch
from pybroker.broker.share.acknowledgements import Acknowledgement, AcknowledgeType, check_acknowledgements
from pybroker.broker.share.acquisition import Acquired, Acquisition
from pybroker.broker.share.record_runs import Change, OffsetSpan, RecordState
from pybroker.broker.share.share_partition import Progress, SharePartition
from pybroker.protocol.errors import InvalidRecordStateError, InvalidRequestError

ACCEPT, RELEASE, REJECT, RENEW = (
    AcknowledgeType.ACCEPT,
    AcknowledgeType.RELEASE,
    AcknowledgeType.REJECT,
    AcknowledgeType.RENEW,
)
TENS = [OffsetSpan(first, first + 9) for first in range(0, 100, 10)]
"""A log of batches of ten records."""


def partition(*batches: StateBatch, start: int = 0, max_locks: int = 200, max_deliveries: int = 5) -> SharePartition:
    return SharePartition(start, batches, max_locks=max_locks, max_deliveries=max_deliveries)


def acquire(
    share: SharePartition,
    member: str = "a",
    count: int = 10,
    read: list[OffsetSpan] = TENS,
    *,
    is_record_limit: bool = False,
    aborted: tuple[OffsetSpan, ...] = (),
    may_grow: bool = True,
) -> list[Acquired]:
    wish = Acquisition(member, count, 10, 100, is_record_limit)
    offset = share.next_fetch_offset()
    return share.acquire(wish, offset, [span for span in read if span.last >= offset], aborted, may_grow=may_grow)


def say(
    share: SharePartition, first: int, last: int, *types: AcknowledgeType, member: str = "a", deadline_ms: int = 0
) -> Change:
    return share.acknowledge(member, [Acknowledgement(first, last, types)], deadline_ms)


def stored(share: SharePartition, change: Change) -> tuple[StateBatch, ...]:
    share.finish(change, is_stored=True, now_ms=0)
    return change.batches


def test_two_members_get_different_records() -> None:
    share = partition()
    assert acquire(share, "a") == [Acquired(0, 9, 1)]
    assert acquire(share, "b") == [Acquired(10, 19, 1)]
    assert share.next_fetch_offset() == share.end_offset == 20


def test_a_member_gets_whole_batches_and_with_a_record_limit_not_more_than_it_asked_for() -> None:
    share = partition()
    assert acquire(share, count=3) == [Acquired(0, 9, 1)]
    assert acquire(share, count=3, is_record_limit=True) == [Acquired(10, 12, 1)]
    assert acquire(share, count=3, is_record_limit=True) == [Acquired(13, 15, 1)]
    assert acquire(share, count=5) == [Acquired(16, 29, 1)]


def test_acquired_records_are_parted_where_batches_begin() -> None:
    assert acquire(partition(), count=25) == [Acquired(0, 9, 1), Acquired(10, 19, 1), Acquired(20, 29, 1)]


def test_accepted_records_move_the_start_offset_once_they_are_stored() -> None:
    share = partition()
    acquire(share)
    change = say(share, 0, 9, ACCEPT)
    assert change.batches == (StateBatch(0, 9, RecordState.ACKNOWLEDGED, 1),)
    assert share.progress() == Progress(0, 10)
    share.finish(change, is_stored=True, now_ms=0)
    assert share.progress() == Progress(10, 0)
    assert list(share.runs) == []


def test_records_accepted_in_the_middle_are_kept_until_those_before_are_done() -> None:
    share = partition()
    acquire(share)
    stored(share, say(share, 3, 5, ACCEPT))
    assert share.progress() == Progress(0, 3)
    stored(share, say(share, 0, 2, REJECT))
    assert share.progress() == Progress(6, 0)


def test_released_records_are_delivered_again_and_counted() -> None:
    share = partition()
    acquire(share)
    assert stored(share, say(share, 2, 4, RELEASE)) == (StateBatch(2, 4, RecordState.AVAILABLE, 1),)
    assert share.next_fetch_offset() == 2
    assert acquire(share, "b", count=3, is_record_limit=True) == [Acquired(2, 4, 2)]


def test_types_for_single_records_are_stored_as_runs() -> None:
    share = partition()
    acquire(share)
    change = say(share, 0, 4, ACCEPT, ACCEPT, RELEASE, REJECT, AcknowledgeType.GAP)
    assert change.batches == (StateBatch(0, 1, 2, 1), StateBatch(2, 2, 0, 1), StateBatch(3, 4, 4, 1))


def test_released_record_is_archived_at_its_last_delivery() -> None:
    share = partition(max_deliveries=2)
    acquire(share)
    stored(share, say(share, 0, 9, RELEASE))
    acquire(share, count=1, is_record_limit=True)
    assert stored(share, say(share, 0, 0, RELEASE)) == (StateBatch(0, 0, RecordState.ARCHIVED, 2),)
    assert share.start_offset == 1


def test_often_delivered_records_come_in_fewer_and_the_last_time_alone() -> None:
    share = partition(StateBatch(0, 9, 0, 3))
    assert acquire(share, count=50) == [Acquired(0, 4, 4)]
    stored(share, say(share, 0, 4, RELEASE))
    assert acquire(share, count=50) == [Acquired(0, 0, 5)]


@pytest.mark.parametrize(
    ("member", "first", "last", "error"),
    [
        ("b", 0, 9, InvalidRecordStateError),
        ("a", 0, 12, InvalidRequestError),
        ("a", 8, 9, InvalidRecordStateError),
    ],
)
def test_acknowledgement_by_another_member_or_of_other_records_changes_nothing(
    member: str, first: int, last: int, error: type[Exception]
) -> None:
    share = partition()
    acquire(share)
    stored(share, say(share, 9, 9, RELEASE))
    before = list(share.runs)
    with pytest.raises(error):
        say(share, first, last, ACCEPT, member=member)
    assert list(share.runs) == before


def test_record_is_not_acknowledged_twice_in_one_request() -> None:
    share = partition()
    acquire(share)
    with pytest.raises(InvalidRecordStateError):
        share.acknowledge("a", [Acknowledgement(0, 5, [1]), Acknowledgement(5, 9, [1])], 0)


def test_records_whose_acknowledgement_is_being_stored_are_neither_acquired_nor_acknowledged() -> None:
    share = partition()
    acquire(share)
    change = say(share, 0, 9, RELEASE)
    assert share.next_fetch_offset() == 10
    with pytest.raises(InvalidRecordStateError):
        say(share, 0, 9, ACCEPT)
    share.finish(change, is_stored=False, now_ms=50)
    assert stored(share, say(share, 0, 9, ACCEPT)) != ()
    assert share.start_offset == 10


def test_lock_that_ended_while_an_acknowledgement_was_not_stored_frees_the_records() -> None:
    share = partition()
    acquire(share)
    change = say(share, 0, 9, ACCEPT)
    assert share.expire(1000).batches == ()
    share.finish(change, is_stored=False, now_ms=1000)
    assert share.next_fetch_offset() == 0


def test_records_are_available_again_when_the_lock_ends_and_renewing_it_prevents_that() -> None:
    share = partition()
    acquire(share)
    assert share.next_deadline_ms() == 100
    assert share.expire(99).batches == ()
    assert say(share, 0, 3, RENEW, deadline_ms=200).batches == ()
    assert share.expire(100).batches == (StateBatch(4, 9, RecordState.AVAILABLE, 1),)
    assert share.next_deadline_ms() == 200
    assert share.next_fetch_offset() == 4


def test_records_of_a_leaving_member_are_available_again() -> None:
    share = partition()
    acquire(share, "a")
    acquire(share, "b")
    assert stored(share, share.release("b")) == (StateBatch(10, 19, RecordState.AVAILABLE, 1),)
    assert share.next_fetch_offset() == 10


def test_new_records_are_acquired_only_below_the_limit_of_locks() -> None:
    share = partition(max_locks=15)
    assert acquire(share, count=50) == [Acquired(0, 9, 1), Acquired(10, 14, 1)]
    assert not share.can_acquire()
    assert acquire(share) == []
    stored(share, say(share, 0, 4, RELEASE))
    assert acquire(share, count=50) == [Acquired(0, 4, 2)]


def test_share_partition_that_must_not_grow_gives_out_only_records_in_flight() -> None:
    share = partition()
    acquire(share, count=3, is_record_limit=True)
    assert not share.can_acquire(may_grow=False)
    assert acquire(share, may_grow=False) == []
    stored(share, say(share, 1, 2, RELEASE))
    assert share.can_acquire(may_grow=False)
    assert acquire(share, may_grow=False) == [Acquired(1, 2, 2)]
    assert (share.start_offset, share.end_offset) == (0, 3)


def test_share_partition_that_must_not_grow_archives_missing_offsets_only_below_its_end() -> None:
    share = partition()
    acquire(share)
    stored(share, say(share, 5, 9, RELEASE))
    assert acquire(share, read=[OffsetSpan(40, 49)], may_grow=False) == []
    assert (share.next_fetch_offset(), share.end_offset) == (10, 10)
    stored(share, say(share, 0, 4, ACCEPT))
    assert share.in_flight == 0


def test_no_more_than_the_limit_of_a_huge_batch_is_acquired_at_once() -> None:
    share = partition(max_locks=100)
    assert acquire(share, count=1, read=[OffsetSpan(0, 2**31)]) == [Acquired(0, 99, 1)]


def test_offsets_without_records_are_archived() -> None:
    share = partition()
    acquire(share)
    stored(share, say(share, 0, 9, RELEASE))
    assert acquire(share, read=[OffsetSpan(5, 9), OffsetSpan(10, 19)], count=5) == [Acquired(5, 9, 2)]
    assert share.start_offset == 5
    stored(share, say(share, 5, 9, ACCEPT))
    assert acquire(share, read=[OffsetSpan(40, 49)]) == [Acquired(40, 49, 1)]
    assert share.start_offset == 40


def test_aborted_records_are_archived_and_not_given_out() -> None:
    share = partition()
    aborted = (OffsetSpan(0, 9), OffsetSpan(15, 19))
    assert acquire(share, count=30, aborted=aborted) == [Acquired(10, 14, 1), Acquired(20, 29, 1)]
    assert share.start_offset == 10
    stored(share, say(share, 10, 14, ACCEPT))
    assert share.start_offset == 20


def test_records_below_the_log_start_are_forgotten_and_their_acknowledgement_is_passed_over() -> None:
    share = partition()
    acquire(share)
    change = say(share, 0, 3, ACCEPT)
    share.log_starts_at(5)
    assert share.start_offset == 5
    share.finish(change, is_stored=True, now_ms=0)
    assert say(share, 0, 4, ACCEPT).batches == ()
    assert stored(share, say(share, 0, 9, ACCEPT)) == (StateBatch(5, 9, 2, 1),)
    share.log_starts_at(40)
    assert (share.start_offset, share.end_offset, share.next_fetch_offset()) == (40, 40, 40)


def test_stored_state_is_continued_and_its_gaps_are_available() -> None:
    share = partition(StateBatch(5, 9, 2, 1), StateBatch(12, 14, 0, 5), StateBatch(15, 15, 0, 3), start=3)
    assert (share.start_offset, share.end_offset, share.next_fetch_offset()) == (3, 16, 3)
    assert acquire(share, count=5, read=[OffsetSpan(0, 19)]) == [Acquired(3, 4, 1), Acquired(10, 11, 1)]
    assert acquire(share, count=5, read=[OffsetSpan(0, 19)]) == [Acquired(15, 15, 4)]


def test_records_done_at_the_start_are_not_in_flight_after_loading() -> None:
    share = partition(StateBatch(0, 9, 2, 1), StateBatch(10, 12, 4, 1))
    assert (share.start_offset, share.in_flight) == (13, 0)


@pytest.mark.parametrize(
    "said",
    [
        [Acknowledgement(5, 4, [1])],
        [Acknowledgement(5, 9, [1]), Acknowledgement(0, 4, [1])],
        [Acknowledgement(0, 4, [])],
        [Acknowledgement(0, 4, [1, 1])],
        [Acknowledgement(0, 4, [5])],
        [Acknowledgement(0, 4, [-1])],
        [Acknowledgement(0, 4, [4])],
        [Acknowledgement(0, 99, [1] * 100)],
    ],
)
def test_malformed_acknowledgements_are_refused(said: list[Acknowledgement]) -> None:
    with pytest.raises(InvalidRequestError):
        check_acknowledgements(said, knows_renew=True, may_renew=False, max_types=50)


def test_locks_are_renewed_only_by_versions_and_requests_that_say_so() -> None:
    renewal = [Acknowledgement(0, 4, [4])]
    check_acknowledgements(renewal, knows_renew=True, may_renew=True, max_types=50)
    with pytest.raises(InvalidRequestError):
        check_acknowledgements(renewal, knows_renew=False, may_renew=True, max_types=50)

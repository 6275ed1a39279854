"""Roles, ISR and high watermark of a single partition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.invariant import InvariantError
from pybroker.protocol.errors import (
    ErrorCode,
    FencedLeaderEpochError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    OffsetNotAvailableError,
    UnknownLeaderEpochError,
)
from pybroker.replication.partition.isolation import Isolation
from pybroker.replication.partition.isr import CommittedIsr, PendingExpand, PendingShrink
from pybroker.replication.partition.partition import Follower, Partition
from support.in_process.partitions import LAG_MS, FakeLog, leading_partition, new_partition, partition_state


def follower_fetches(partition: Partition, broker: int, offset: int, now_ms: int = 0) -> bool:
    replica = partition.check_follower(broker, partition.leader_epoch)
    log = partition.log
    assert log is not None
    progress = partition.record_follower_fetch(replica, offset, 0, now_ms, log.log_end_offset, -1, may_propose=False)
    return progress.high_watermark_moved


# -- the high watermark ----------------------------------------------------------------------------------------------


def test_high_watermark_is_the_lowest_log_end_offset_in_the_isr() -> None:
    log = FakeLog()
    partition = leading_partition(log)
    # event, LEO of the leader, expected HW afterwards
    steps: list[tuple[str, int, int]] = [
        ("append", 10, 0),
        ("2 fetches 0", 10, 0),
        ("3 fetches 0", 10, 0),
        ("2 fetches 10", 10, 0),
        ("3 fetches 4", 10, 4),
        ("append", 20, 4),
        ("3 fetches 20", 20, 10),
        ("2 fetches 15", 20, 15),
        ("2 fetches 20", 20, 20),
    ]
    for what, leader_end, expected in steps:
        log.log_end_offset = leader_end
        if what == "append":
            partition.maybe_increment_high_watermark(0)
        else:
            broker, offset = int(what.split()[0]), int(what.split()[2])
            follower_fetches(partition, broker, offset)
        assert partition.high_watermark == expected, what


def test_single_replica_advances_the_high_watermark_at_each_append() -> None:
    log = FakeLog()
    partition = leading_partition(log, state=partition_state(isr=(1,), replicas=(1,)))
    log.log_end_offset = 7
    assert partition.maybe_increment_high_watermark(0)
    assert partition.high_watermark == 7
    assert not partition.maybe_increment_high_watermark(0)


def test_high_watermark_does_not_fall_when_a_follower_starts_over() -> None:
    log = FakeLog()
    partition = leading_partition(log)
    log.log_end_offset = 10
    for broker in (2, 3):
        follower_fetches(partition, broker, 10)
    assert partition.high_watermark == 10
    assert not follower_fetches(partition, 2, 3)
    assert partition.high_watermark == 10


def test_high_watermark_stays_while_the_isr_is_below_the_minimum() -> None:
    log = FakeLog(log_end_offset=10)
    partition = leading_partition(log, minimum_isr=2, state=partition_state(isr=(1,)), now_ms=LAG_MS * 10)
    assert not partition.maybe_increment_high_watermark(LAG_MS * 10)
    assert partition.high_watermark == 0


def test_minimum_isr_is_capped_by_the_number_of_replicas() -> None:
    log = FakeLog(log_end_offset=10)
    partition = leading_partition(log, minimum_isr=3, state=partition_state(isr=(1,), replicas=(1,)))
    partition.check_append(required_acks=-1)
    assert partition.high_watermark == 10
    assert partition.check_acks(10) is ErrorCode.NONE


def test_high_watermark_waits_for_a_caught_up_follower_outside_the_isr() -> None:
    log = FakeLog(log_end_offset=10)
    partition = leading_partition(log, state=partition_state(isr=(1,), replicas=(1, 2)), now_ms=0)
    assert partition.high_watermark == 10
    follower_fetches(partition, 2, 10, now_ms=100)
    log.log_end_offset = 20
    assert not partition.maybe_increment_high_watermark(200)
    assert partition.high_watermark == 10
    # It was caught up at 100 and may lag for replica.lag.time.max.ms.
    assert not partition.maybe_increment_high_watermark(100 + LAG_MS)
    assert partition.maybe_increment_high_watermark(100 + LAG_MS + 1)
    assert partition.high_watermark == 20


def test_high_watermark_does_not_wait_for_a_dead_follower_outside_the_isr() -> None:
    log = FakeLog(log_end_offset=10)
    alive = {1, 2}
    partition = new_partition(log, is_alive=alive.__contains__)
    partition.become_leader(partition_state(isr=(1,), replicas=(1, 2)), 10, 0)
    follower_fetches(partition, 2, 10)
    log.log_end_offset = 20
    alive.discard(2)
    assert partition.maybe_increment_high_watermark(1)


def test_a_checkpointed_high_watermark_is_brought_inside_the_log() -> None:
    assert new_partition(FakeLog(log_end_offset=5), checkpointed_high_watermark=9).high_watermark == 5
    assert (
        new_partition(FakeLog(log_end_offset=5, log_start_offset=3), checkpointed_high_watermark=1).high_watermark == 3
    )
    assert new_partition(FakeLog(log_end_offset=5), checkpointed_high_watermark=4).high_watermark == 4


def test_a_follower_takes_the_leaders_high_watermark_up_to_its_own_end() -> None:
    log = FakeLog(log_end_offset=10, log_start_offset=2)
    partition = new_partition(log)
    partition.become_follower(partition_state(leader=2))
    for leader_says, expected in ((20, 10), (7, 7), (7, 7), (0, 2)):
        partition.update_follower_high_watermark(leader_says)
        assert partition.high_watermark == expected


# -- leadership ------------------------------------------------------------------------------------------------------


def test_new_leader_forgets_follower_offsets_of_an_earlier_leadership() -> None:
    log = FakeLog(log_end_offset=10)
    partition = leading_partition(log)
    follower_fetches(partition, 2, 10)
    partition.become_follower(partition_state(leader=2, leader_epoch=6, partition_epoch=2))
    assert partition.become_leader(partition_state(leader_epoch=7, partition_epoch=3), 10, 0)
    assert partition.leader is not None
    assert partition.leader.replicas[2].log_end_offset == -1


def test_a_re_elected_leader_keeps_what_it_knows_of_followers() -> None:
    log = FakeLog(log_end_offset=10)
    partition = leading_partition(log)
    follower_fetches(partition, 2, 8)
    assert not partition.become_leader(partition_state(leader_epoch=6, partition_epoch=2), 10, 0)
    assert partition.leader is not None
    assert partition.leader.replicas[2].log_end_offset == 8


def test_an_older_partition_epoch_changes_nothing() -> None:
    log = FakeLog(log_end_offset=10)
    partition = leading_partition(log, state=partition_state(partition_epoch=4, leader_epoch=5))
    assert not partition.become_leader(partition_state(partition_epoch=3, leader_epoch=6, isr=(1,)), 10, 0)
    assert not partition.become_follower(partition_state(partition_epoch=3, leader_epoch=6, leader=2))
    assert partition.is_leader
    assert (partition.leader_epoch, partition.partition_epoch) == (5, 4)


def test_falling_leader_epoch_is_a_broken_invariant() -> None:
    partition = leading_partition(FakeLog())
    with pytest.raises(InvariantError, match="leader epoch 5 would fall to 4"):
        partition.become_follower(partition_state(leader=2, leader_epoch=4, partition_epoch=2))


def test_high_watermark_moves_when_a_new_leadership_has_an_isr_of_one() -> None:
    log = FakeLog(log_end_offset=10)
    partition = leading_partition(log)
    assert partition.high_watermark == 0
    partition.become_leader(partition_state(leader_epoch=6, isr=(1,), partition_epoch=2), 10, LAG_MS * 5)
    assert partition.high_watermark == 10


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [(-1, None), (5, None), (4, FencedLeaderEpochError), (6, UnknownLeaderEpochError)],
)
def test_readers_are_fenced_by_the_leader_epoch(epoch: int, expected: type[Exception] | None) -> None:
    partition = leading_partition(FakeLog())
    if expected is None:
        partition.check_readable(epoch, leader_only=True)
    else:
        with pytest.raises(expected):
            partition.check_readable(epoch, leader_only=True)


def test_follower_serves_only_reads_that_do_not_need_the_leader() -> None:
    partition = new_partition(FakeLog())
    with pytest.raises(NotLeaderOrFollowerError):
        partition.check_readable(-1, leader_only=False)
    partition.become_follower(partition_state(leader=2))
    assert partition.role == Follower(2)
    partition.check_readable(5, leader_only=False)
    with pytest.raises(NotLeaderOrFollowerError):
        partition.check_readable(5, leader_only=True)
    with pytest.raises(NotLeaderOrFollowerError):
        partition.check_append(1)


def test_readable_end_depends_on_the_isolation_level() -> None:
    log = FakeLog()
    partition = leading_partition(log)
    log.log_end_offset = 10
    follower_fetches(partition, 2, 8)
    follower_fetches(partition, 3, 8)
    log.first_unstable = 3
    assert partition.readable_end(Isolation.LOG_END) == 10
    assert partition.readable_end(Isolation.HIGH_WATERMARK) == 8
    assert partition.readable_end(Isolation.COMMITTED) == 3


def test_latest_offset_is_unknown_until_the_high_watermark_reaches_the_epochs_start() -> None:
    log = FakeLog(log_end_offset=10)
    partition = leading_partition(log)
    with pytest.raises(OffsetNotAvailableError):
        partition.check_latest_known()
    follower_fetches(partition, 2, 10)
    follower_fetches(partition, 3, 10)
    partition.check_latest_known()


# -- acks ------------------------------------------------------------------------------------------------------------


def test_only_acks_all_needs_the_minimum_isr() -> None:
    partition = leading_partition(FakeLog(), minimum_isr=2, state=partition_state(isr=(1,)))
    partition.check_append(required_acks=0)
    partition.check_append(required_acks=1)
    with pytest.raises(NotEnoughReplicasError):
        partition.check_append(required_acks=-1)


def test_isr_that_shrank_after_the_append_gives_another_error_than_one_too_small_before() -> None:
    log = FakeLog(log_end_offset=0)
    partition = leading_partition(log, minimum_isr=2, now_ms=0)
    log.log_end_offset = 10
    assert partition.check_acks(10) is None
    follower_fetches(partition, 2, 10)
    follower_fetches(partition, 3, 10)
    assert partition.check_acks(10) is ErrorCode.NONE
    partition.become_leader(partition_state(leader_epoch=6, isr=(1,), partition_epoch=2), 10, 0)
    assert partition.check_acks(10) is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    partition.become_follower(partition_state(leader=2, leader_epoch=7, partition_epoch=3))
    assert partition.check_acks(10) is ErrorCode.NOT_LEADER_OR_FOLLOWER


# -- the ISR ---------------------------------------------------------------------------------------------------------


def test_a_follower_joins_the_isr_once_it_reaches_the_high_watermark() -> None:
    log = FakeLog(log_end_offset=10)
    partition = leading_partition(log, state=partition_state(isr=(1, 2)), now_ms=LAG_MS * 5)
    log.log_end_offset = 12
    assert partition.leader is not None
    replica = partition.leader.replicas[3]
    follower_fetches(partition, 2, 12, LAG_MS * 5)
    follower_fetches(partition, 3, 11, LAG_MS * 5)
    assert partition.high_watermark == 12
    assert partition.maybe_expand_isr(replica) is None
    follower_fetches(partition, 3, 12, LAG_MS * 5)
    change = partition.maybe_expand_isr(replica)
    assert change == PendingExpand(CommittedIsr(frozenset({1, 2})), 3)
    assert change is not None
    assert partition.maybe_expand_isr(replica) is None  # one change at a time
    partition.isr_change_accepted(change, (1, 2, 3), leader_epoch=5, partition_epoch=2, now_ms=0)
    assert partition.leader.isr == CommittedIsr(frozenset({1, 2, 3}))
    assert partition.partition_epoch == 2


def test_follower_does_not_join_the_isr_before_the_leaders_epoch() -> None:
    # The HW is 5 before the start of this epoch: the earlier leader may have committed the records between.
    log = FakeLog(log_end_offset=10)
    partition = new_partition(log, checkpointed_high_watermark=5)
    partition.become_leader(partition_state(isr=(1, 2)), 10, 0)
    assert partition.high_watermark == 5
    assert partition.leader is not None
    replica = partition.leader.replicas[3]
    follower_fetches(partition, 3, 7)
    assert partition.maybe_expand_isr(replica) is None
    follower_fetches(partition, 3, 10)
    assert partition.maybe_expand_isr(replica) is not None


def test_unregistered_broker_does_not_join_the_isr() -> None:
    """Otherwise each of its fetches would propose a change, which the controller refuses."""
    log = FakeLog(log_end_offset=10)
    alive = {1}
    partition = new_partition(log, is_alive=alive.__contains__)
    partition.become_leader(partition_state(isr=(1,), replicas=(1, 2)), 10, 0)
    follower_fetches(partition, 2, 10)
    assert partition.leader is not None
    replica = partition.leader.replicas[2]
    assert partition.maybe_expand_isr(replica) is None
    alive.add(2)
    assert partition.maybe_expand_isr(replica) == PendingExpand(CommittedIsr(frozenset({1})), 2)


def test_the_high_watermark_waits_for_a_follower_that_is_about_to_join() -> None:
    log = FakeLog(log_end_offset=10)
    partition = leading_partition(log, state=partition_state(isr=(1,), replicas=(1, 2)))
    follower_fetches(partition, 2, 10)
    assert partition.leader is not None
    change = partition.maybe_expand_isr(partition.leader.replicas[2])
    assert change is not None
    log.log_end_offset = 20
    assert not partition.maybe_increment_high_watermark(LAG_MS * 9)
    assert not partition.isr_change_refused(change, ErrorCode.INELIGIBLE_REPLICA)
    assert partition.maybe_increment_high_watermark(LAG_MS * 9)


def test_lagging_follower_delays_the_high_watermark_until_the_controller_removes_it() -> None:
    log = FakeLog()
    partition = leading_partition(log, now_ms=0)
    log.log_end_offset = 10
    follower_fetches(partition, 2, 10, now_ms=LAG_MS)
    assert partition.maybe_shrink_isr(LAG_MS) is None
    change = partition.maybe_shrink_isr(LAG_MS + 1)
    assert change == PendingShrink(CommittedIsr(frozenset({1, 2, 3})), frozenset({3}))
    assert change is not None
    assert partition.maybe_shrink_isr(LAG_MS + 1) is None
    assert not partition.maybe_increment_high_watermark(LAG_MS * 9)
    assert partition.isr_change_accepted(change, (1, 2), leader_epoch=5, partition_epoch=2, now_ms=LAG_MS * 9)
    assert partition.high_watermark == 10


def test_follower_that_fetches_to_each_log_end_stays_in_sync_under_steady_appends() -> None:
    log = FakeLog()
    partition = leading_partition(log, state=partition_state(isr=(1, 2), replicas=(1, 2)))
    for step in range(1, 40):
        now_ms = step * LAG_MS // 2
        fetched = log.log_end_offset  # the log end at the previous fetch
        log.log_end_offset += 5
        follower_fetches(partition, 2, fetched, now_ms)
        assert partition.maybe_shrink_isr(now_ms) is None


@given(
    burst=st.integers(1, 1_000_000),
    fetches=st.lists(st.tuples(st.integers(0, LAG_MS), st.integers(1, 400_000)), max_size=20),
)
def test_a_burst_of_any_size_shrinks_no_isr_as_long_as_the_follower_catches_up_in_time(
    burst: int, fetches: list[tuple[int, int]]
) -> None:
    """A follower in sync gets many records at once. Its lag is measured by the time since it last had all records, not
    by the number of missing records.
    """
    log = FakeLog()
    partition = leading_partition(log, state=partition_state(isr=(1, 2), replicas=(1, 2)))
    follower_fetches(partition, 2, 0, now_ms=0)
    log.log_end_offset = burst
    had_everything_ms, fetched = 0, 0
    for now_ms, size in sorted(fetches):
        assert partition.maybe_shrink_isr(now_ms) is None  # the follower has never lagged for longer than it may
        fetched = min(fetched + size, burst)
        follower_fetches(partition, 2, fetched, now_ms)
        if fetched == burst:
            had_everything_ms = now_ms
    assert partition.maybe_shrink_isr(had_everything_ms + LAG_MS) is None
    has_everything = fetched == burst
    later = partition.maybe_shrink_isr(had_everything_ms + LAG_MS * 9)
    assert (later is None) is has_everything


@pytest.mark.parametrize(
    ("error", "again", "stays_pending"),
    [
        (ErrorCode.INELIGIBLE_REPLICA, False, False),
        (ErrorCode.OPERATION_NOT_ATTEMPTED, False, False),
        (ErrorCode.FENCED_LEADER_EPOCH, False, True),
        (ErrorCode.INVALID_UPDATE_VERSION, False, True),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False, True),
        (ErrorCode.NOT_CONTROLLER, True, True),
        (ErrorCode.UNKNOWN_SERVER_ERROR, True, True),
    ],
)
def test_only_a_definite_refusal_reverts_a_proposed_isr_change(
    error: ErrorCode, again: bool, stays_pending: bool
) -> None:
    log = FakeLog()
    partition = leading_partition(log, now_ms=0)
    log.log_end_offset = 10
    change = partition.maybe_shrink_isr(LAG_MS + 1)
    assert change is not None
    assert partition.isr_change_refused(change, error) is again
    assert partition.leader is not None
    assert (partition.leader.isr is change) is stays_pending


def test_response_to_an_overtaken_isr_change_is_ignored() -> None:
    log = FakeLog()
    partition = leading_partition(log, now_ms=0)
    log.log_end_offset = 10
    change = partition.maybe_shrink_isr(LAG_MS + 1)
    assert change is not None
    partition.become_leader(partition_state(leader_epoch=6, partition_epoch=2, isr=(1, 2)), 10, LAG_MS + 2)
    assert not partition.isr_change_accepted(change, (1,), leader_epoch=5, partition_epoch=3, now_ms=LAG_MS * 9)
    assert not partition.isr_change_refused(change, ErrorCode.NOT_CONTROLLER)
    assert partition.leader is not None
    assert partition.leader.isr == CommittedIsr(frozenset({1, 2}))
    assert partition.partition_epoch == 2


def test_unassigned_follower_gets_an_error_by_whose_leader_epoch_is_older() -> None:
    partition = leading_partition(FakeLog())
    with pytest.raises(UnknownLeaderEpochError):
        partition.check_follower(9, leader_epoch=5)
    with pytest.raises(NotLeaderOrFollowerError):
        partition.check_follower(9, leader_epoch=-1)


Step = tuple[str, int, int]


@given(
    st.lists(
        st.tuples(st.sampled_from(["append", "fetch 2", "fetch 3", "wait", "shrink", "expand 2", "expand 3", "agree",
                                   "refuse"]), st.integers(0, 8)),
        max_size=60,
    ),
    st.integers(1, 3),
)  # fmt: skip
def test_committed_records_are_on_every_confirmed_member_of_the_isr(
    steps: list[tuple[str, int]], minimum_isr: int
) -> None:
    """HW rises only, log start <= HW <= LEO, and below a HW that just rose every member of the committed ISR has
    all."""
    log = FakeLog()
    partition = leading_partition(log, minimum_isr=minimum_isr, now_ms=0)
    leader = partition.leader
    assert leader is not None
    now_ms, highest = 0, 0
    for what, amount in steps:
        before = partition.high_watermark
        if what == "append":
            log.log_end_offset += amount
            partition.maybe_increment_high_watermark(now_ms)
        elif what.startswith("fetch"):
            replica = leader.replicas[int(what[-1])]
            # A follower reports what it fetched before: never more than the leader had, and never less than it had.
            offset = min(log.log_end_offset, max(replica.log_end_offset, 0) + amount)
            partition.record_follower_fetch(
                replica, offset, 0, now_ms, log.log_end_offset, -1, may_propose=amount % 2 == 0
            )
        elif what == "wait":
            now_ms += amount * LAG_MS // 4
        elif what == "shrink":
            partition.maybe_shrink_isr(now_ms)
        elif what.startswith("expand"):
            partition.maybe_expand_isr(leader.replicas[int(what[-1])])
        elif isinstance(leader.isr, PendingExpand | PendingShrink):
            if what == "agree":
                isr = tuple(sorted(leader.isr.proposed))
                partition.isr_change_accepted(leader.isr, isr, 5, partition.partition_epoch + 1, now_ms)
            else:
                partition.isr_change_refused(leader.isr, ErrorCode.OPERATION_NOT_ATTEMPTED)
        assert before <= partition.high_watermark <= log.log_end_offset
        if partition.high_watermark > highest:
            highest = partition.high_watermark
            held = [leader.replicas[broker].log_end_offset for broker in sorted(leader.isr.maximal) if broker != 1]
            assert all(offset >= highest for offset in held), (what, leader.isr)
            assert len(leader.isr.members) >= min(minimum_isr, 3)

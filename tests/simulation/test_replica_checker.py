"""Tests that the replica checker notices every broken invariant of a partition's replicas."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pybroker.replication.partition.isr import CommittedIsr, PendingExpand
from pybroker.replication.partition.partition import Partition
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_truncation import truncate_to
from simulation.checkers.history import History, ViolationError
from simulation.checkers.replica_checker import ReplicaChecker
from simulation.checkers.tree_checker import Excuse, PartitionRecord, Reason, TreeChecker
from support.in_process.partitions import LAG_MS, TP, partition_state
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, open_log

PLACE = (TP.topic, TP.partition)


class OneReplica:
    """A broker with one replica, as the checker sees it."""

    def __init__(self, broker_id: int, log: Log) -> None:
        self.broker_id = broker_id
        self.starts = 1
        self.log = log
        self.partition = Partition(TP, broker_id, replica_lag_time_max_ms=LAG_MS, is_alive=lambda _: True)
        self.partition.attach_log(log, 0, 1)

    def partitions(self) -> list[Any]:
        strand = SimpleNamespace(is_idle=True)
        return [SimpleNamespace(partition=self.partition, log=self.log, strand=strand, topic_partition=TP)]

    def append(self, *values: str, leader_epoch: int = 5) -> None:
        append_as_leader(self.log, batch_of(*values), leader_epoch, NOW_MS)

    def commit(self, high_watermark: int) -> None:
        """Set the high watermark, whatever other replicas have."""
        self.partition.high_watermark = high_watermark

    def lead(self, leader_epoch: int = 5) -> None:
        state = partition_state(leader=self.broker_id, leader_epoch=leader_epoch)
        self.partition.become_leader(state, self.log.log_end_offset, 0)

    def follow(self, leader: int, leader_epoch: int = 5) -> None:
        self.partition.become_follower(partition_state(leader=leader, leader_epoch=leader_epoch))


class Checked:
    """Brokers 1 and 2; broker 1 leads under epoch 5. `see` checks both."""

    def __init__(self, directory: Path) -> None:
        self.now_s = 0.0
        self.tree = TreeChecker(lambda: self.now_s, lambda _: None, lambda _: 0.0)
        self.tree.partitions[PLACE] = PartitionRecord(1, 5, (1, 2, 3))
        self.minimum_isr = 1
        self.history = History()
        self.checker = ReplicaChecker(self.tree, lambda topic: self.minimum_isr, self.running, self.history)
        self.one, self.two = (OneReplica(number, open_log(directory / str(number))) for number in (1, 2))
        self.one.lead()
        self.two.follow(1)

    def running(self) -> Any:
        return [self.one, self.two]

    def see(self) -> None:
        self.checker.check()
        self.checker.check_logs(self.running())

    def others_have(self, offset: int) -> None:
        leader = self.one.partition.leader
        assert leader is not None
        for replica in leader.replicas.values():
            replica.log_end_offset = offset


@pytest.fixture
def checked(tmp_path: Path) -> Iterator[Checked]:
    checked = Checked(tmp_path)
    yield checked
    checked.one.log.close()
    checked.two.log.close()


def test_correct_replicas_pass(checked: Checked) -> None:
    checked.see()
    for replica in (checked.one, checked.two):
        replica.append("a", "b")
    checked.others_have(2)
    checked.one.commit(2)
    checked.see()
    checked.two.commit(2)
    checked.see()
    assert checked.checker.committed_ends == {PLACE: 2}


def test_follower_high_watermark_beyond_the_log_for_long_is_a_violation(checked: Checked) -> None:
    checked.two.commit(1)
    checked.see()  # its log may just have been truncated
    checked.now_s = 11.0
    with pytest.raises(ViolationError, match="log start 0, high watermark 1, log end 0"):
        checked.see()


def test_leader_high_watermark_beyond_the_log_is_a_violation(checked: Checked) -> None:
    checked.one.commit(1)
    with pytest.raises(ViolationError, match="log start 0, high watermark 1, log end 0"):
        checked.see()


def test_falling_leader_high_watermark_is_a_violation(checked: Checked) -> None:
    checked.one.append("a")
    checked.others_have(1)
    checked.one.commit(1)
    checked.see()
    checked.one.commit(0)
    with pytest.raises(ViolationError, match="high watermark falls from 1 to 0"):
        checked.see()


def test_two_leaders_of_an_epoch_are_a_violation(checked: Checked) -> None:
    checked.two.lead()
    with pytest.raises(ViolationError, match="1 and 2 lead under epoch 5"):
        checked.see()


def test_high_watermark_ahead_of_the_isr_is_a_violation(checked: Checked) -> None:
    checked.see()
    checked.one.append("a")
    checked.others_have(0)
    checked.one.commit(1)
    with pytest.raises(ViolationError, match=r"moves to 1, \d is at 0"):
        checked.see()


def test_high_watermark_that_moves_below_min_isr_is_a_violation(checked: Checked) -> None:
    assert checked.one.partition.leader is not None
    checked.one.partition.leader.isr = CommittedIsr(frozenset({1}))
    checked.minimum_isr = 2
    checked.see()
    checked.one.append("a")
    checked.others_have(1)  # the tree still has them in the ISR
    checked.one.commit(1)
    with pytest.raises(ViolationError, match="the minimum is 2"):
        checked.see()


def test_high_watermark_must_not_move_while_only_a_pending_isr_reaches_min_isr(checked: Checked) -> None:
    assert checked.one.partition.leader is not None
    checked.one.partition.leader.isr = PendingExpand(CommittedIsr(frozenset({1})), 2)
    checked.minimum_isr = 2
    checked.see()
    checked.one.append("a")
    checked.others_have(1)
    checked.one.commit(1)
    with pytest.raises(ViolationError, match="the minimum is 2"):
        checked.see()


def test_different_replicas_below_the_high_watermark_are_a_violation(checked: Checked) -> None:
    checked.one.append("a")
    checked.two.append("b")
    checked.others_have(1)
    checked.one.commit(1)
    checked.see()
    checked.two.commit(1)
    with pytest.raises(ViolationError, match="at offset 0 broker 2 has"):
        checked.see()


def test_replica_without_the_latest_committed_records_has_not_caught_up(checked: Checked) -> None:
    for replica in (checked.one, checked.two):
        replica.append("a")
    checked.one.commit(1)
    checked.checker.note_high_watermarks(cast("Any", checked.one), PLACE)
    truncate_to(checked.two.log, 0, NOW_MS)
    checked.tree.lost_bytes(2, PLACE, 0)
    checked.checker.check_logs(cast("Any", [checked.two]))
    assert list(checked.tree.partitions[PLACE].lossy_members) == [2]
    checked.two.append("a")
    checked.checker.check_logs(cast("Any", [checked.two]))
    assert list(checked.tree.partitions[PLACE].lossy_members) == []


def test_leader_without_all_committed_records_is_a_violation(checked: Checked) -> None:
    checked.one.append("a")
    checked.others_have(1)
    checked.one.commit(1)
    checked.see()
    checked.one.follow(2, leader_epoch=6)
    checked.two.lead(leader_epoch=6)
    checked.tree.partitions[PLACE] = PartitionRecord(2, 6, (1, 2, 3))
    with pytest.raises(ViolationError, match="leads under epoch 6 with a log up to 0; committed was 1"):
        checked.see()


# --- lost records


def all_of_one_is_committed(checked: Checked, of_one: str, of_two: str) -> None:
    """Leader 1 has the first records and has committed them; broker 2 has the others. Each record is a batch."""
    for replica, values in ((checked.one, of_one), (checked.two, of_two)):
        for value in values:
            replica.append(value)
    checked.others_have(len(of_one))
    checked.one.commit(len(of_one))


def the_second_of_two_records_is_lost(checked: Checked) -> Excuse:
    """Broker 1 has both records, broker 2 only the first; broker 2 is elected."""
    all_of_one_is_committed(checked, "ab", "a")
    checked.see()
    record = checked.tree.partitions[PLACE]
    record.leader, record.leader_epoch, record.isr = 2, 6, (2,)
    excuse = Excuse(Reason.UNCLEAN, 2, 6, 0.0)
    record.excuses.append(excuse)
    checked.see()
    assert excuse.from_offset is None
    checked.two.lead(6)
    leader = checked.two.partition.leader
    assert leader is not None
    for other in leader.replicas.values():
        other.log_end_offset = 9
    checked.see()
    return excuse


def all_of_a_log_that_begins_within_a_batch_is_lost(checked: Checked) -> Excuse:
    """Broker 1 has deleted the front of its log; broker 2, which has nothing, is elected."""
    checked.one.append("a", "b", "c")
    checked.history.deletions[PLACE] = 1
    checked.one.log.increment_log_start_offset(1)
    checked.one.append("d")
    checked.others_have(4)
    checked.one.commit(4)
    checked.see()
    return two_leads_under_an_excuse(checked)


def two_leads_under_an_excuse(checked: Checked, kept_end: int = 0) -> Excuse:
    excuse = Excuse(Reason.LAST, 2, 6, 0.0, kept_end)
    checked.tree.partitions[PLACE] = PartitionRecord(2, 6, (2, 1), excuses=[excuse])
    checked.two.lead(6)
    checked.see()
    return excuse


def test_excused_loss_begins_where_the_next_leaders_log_differs(checked: Checked) -> None:
    excuse = the_second_of_two_records_is_lost(checked)
    assert (excuse.from_offset, excuse.has_lost) == (1, True)


def test_excuse_covers_no_loss_when_the_next_leader_has_all_records(checked: Checked) -> None:
    all_of_one_is_committed(checked, "a", "a")
    checked.see()
    excuse = two_leads_under_an_excuse(checked)
    assert (excuse.from_offset, excuse.has_lost) == (1, False)


def test_leader_that_lacks_more_than_its_crash_took_is_a_violation(checked: Checked) -> None:
    all_of_one_is_committed(checked, "abc", "a")
    checked.see()
    with pytest.raises(ViolationError, match="more is lost than its crash took, which left what is before 2"):
        two_leads_under_an_excuse(checked, kept_end=2)


def test_unchecked_records_that_survive_a_crash_are_not_lost(checked: Checked) -> None:
    all_of_one_is_committed(checked, "ab", "ab")
    checked.checker.check(cast("Any", [checked.one]))  # the high watermark is known, the records below it are not
    excuse = two_leads_under_an_excuse(checked, kept_end=2)
    assert (excuse.from_offset, excuse.has_lost) == (2, False)


def test_excuse_for_one_leader_does_not_cover_another(checked: Checked) -> None:
    all_of_one_is_committed(checked, "ab", "a")
    checked.see()
    excuse = Excuse(Reason.LAST, 3, 6, 0.0)  # it was elected, but never led
    checked.tree.partitions[PLACE] = PartitionRecord(2, 7, (2, 1), excuses=[excuse])
    checked.two.lead(7)
    with pytest.raises(ViolationError, match="leads under epoch 7 with a log up to 1; committed was 2"):
        checked.see()


def test_records_committed_by_the_next_leader_are_compared_from_then_on(checked: Checked) -> None:
    the_second_of_two_records_is_lost(checked)
    checked.two.append("c", leader_epoch=6)
    checked.two.commit(2)
    checked.see()  # broker 1 does not know about it yet
    checked.one.follow(2, leader_epoch=6)
    checked.see()  # it has not truncated its log yet
    truncate_to(checked.one.log, 1, NOW_MS)
    checked.one.append("d", leader_epoch=6)
    with pytest.raises(ViolationError, match="at offset 1 broker 1 has"):
        checked.see()


def test_records_below_an_excused_loss_are_still_compared(checked: Checked) -> None:
    the_second_of_two_records_is_lost(checked)
    checked.one.starts = 2  # its log is checked from the start after a restart
    checked.one.follow(2, leader_epoch=6)
    truncate_to(checked.one.log, 0, NOW_MS)
    checked.one.append("x", leader_epoch=6)
    with pytest.raises(ViolationError, match="at offset 0 broker 1 has"):
        checked.see()


def test_excuse_does_not_cover_records_committed_after_the_loss(checked: Checked) -> None:
    the_second_of_two_records_is_lost(checked)
    checked.two.append("c", leader_epoch=6)
    checked.two.commit(2)
    checked.see()
    truncate_to(checked.one.log, 1, NOW_MS)
    record = checked.tree.partitions[PLACE]
    record.leader, record.leader_epoch = 1, 7
    checked.one.commit(1)
    checked.two.follow(1, leader_epoch=7)
    checked.one.lead(7)
    with pytest.raises(ViolationError, match="with a log up to 1; committed was 2"):
        checked.see()


def test_every_record_beyond_the_next_leaders_log_end_may_be_lost(checked: Checked) -> None:
    """This includes records that no check compared: the end of a batch whose first records were deleted."""
    excuse = all_of_a_log_that_begins_within_a_batch_is_lost(checked)
    assert excuse.from_offset == 0


def test_lost_records_that_a_later_leader_still_has_become_committed(checked: Checked) -> None:
    """The leader between them has not truncated its own records yet."""
    the_second_of_two_records_is_lost(checked)
    checked.two.append("c", leader_epoch=6)
    checked.see()
    record = checked.tree.partitions[PLACE]
    record.leader, record.leader_epoch = 1, 7
    checked.two.follow(1, leader_epoch=7)
    checked.two.commit(2)
    checked.one.lead(7)
    checked.see()
    checked.see()
    checked.one.append("d", leader_epoch=7)
    truncate_to(checked.two.log, 1, NOW_MS)
    checked.two.append("c", leader_epoch=7)
    checked.two.commit(2)
    with pytest.raises(ViolationError, match="at offset 1 broker 2 has"):
        checked.see()


def test_records_a_follower_has_not_truncated_yet_are_not_committed(checked: Checked) -> None:
    """Neither are the records before the first batch that can be compared."""
    all_of_a_log_that_begins_within_a_batch_is_lost(checked)
    checked.one.follow(2, leader_epoch=6)
    checked.see()
    checked.two.append("x", leader_epoch=6)
    checked.see()

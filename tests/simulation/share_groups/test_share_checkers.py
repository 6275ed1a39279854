"""Tests that the checkers of share groups report histories with one error, and no others."""

from pybroker.protocol.messages.share_group_state import ShareSnapshotValue, ShareUpdateValue, StateBatch
from simulation.share_groups.delivery_history import Delivery, DeliveryHistory, Heard, Load
from simulation.share_groups.state_log import Picture

PLACE = "shared0", 0
LOCK_S, LIMIT = 2.0, 5
BROKER, OTHER = "broker-1", "broker-2"


class Told:
    """A history, and what it reports at once."""

    def __init__(self) -> None:
        self.reports: list[str] = []
        self.aborted: set[int] = set()
        self.history = DeliveryHistory(self.reports.append, LOCK_S, LIMIT)

    def deliver(self, asked_s: float, count: int = 1, broker: str = BROKER, proven_s: float = 100.0) -> Delivery:
        received_s = asked_s + 0.1
        delivery = Delivery(str(asked_s), Heard(broker, proven_s), count, asked_s, received_s, asked_s)
        self.history.delivered(PLACE, 0, delivery)
        return delivery

    def at_the_end(self) -> list[str]:
        return list(self.history.violations({PLACE: 0}, {PLACE: 1}, {PLACE: self.aborted}, {PLACE: ()}))


def test_record_with_two_live_locks_is_reported() -> None:
    told = Told()
    told.deliver(1.0)
    told.history.finished[PLACE].add(0)
    told.deliver(2.0, 2)
    assert len(told.at_the_end()) == 1


def test_second_delivery_is_right_after_lock_has_ended_or_broker_has_loaded_anew() -> None:
    for first, load_s in ((1.0, -1.0), (3.5, 3.6)):
        told = Told()
        told.history.finished[PLACE].add(0)
        told.history.loads[PLACE].append(Load(BROKER, 0, load_s))
        told.deliver(first)
        told.deliver(4.0, 2)
        assert told.at_the_end() == []


def test_lock_of_session_that_may_have_ended_proves_nothing() -> None:
    told = Told()
    told.history.finished[PLACE].add(0)
    told.deliver(1.0, proven_s=1.5)
    told.deliver(2.0, 2)
    assert told.at_the_end() == []


def test_delivery_of_accepted_record_is_reported_unless_its_broker_was_deposed() -> None:
    told = Told()
    told.history.loads[PLACE] += [Load(BROKER, 0, 0.0), Load(OTHER, 1, 5.0)]
    told.history.done(PLACE, 0, 6.0)
    told.deliver(7.0)
    assert told.reports == []
    told.deliver(7.0, broker=OTHER)
    assert len(told.reports) == 1


def test_delivery_over_the_limit_and_forgotten_release_are_reported() -> None:
    told = Told()
    told.deliver(1.0, LIMIT + 1)
    assert len(told.reports) == 1
    told.history.released(PLACE, 0, 2.0, 3)
    told.deliver(3.0, 3)
    assert len(told.reports) == 2


def test_record_that_is_done_without_reason_is_reported_until_the_limit() -> None:
    told = Told()
    assert len(told.at_the_end()) == 1
    told.history.locked[PLACE][0] = LIMIT
    assert told.at_the_end() == []


def test_refusal_is_reported_only_while_all_locks_are_live() -> None:
    told = Told()
    early, late = told.deliver(1.0), told.deliver(2.5)
    told.history.refused(PLACE, [early, late], 3.1)
    assert told.reports == []
    told.history.refused(PLACE, [late], 3.1)
    assert len(told.reports) == 1


def test_delivery_of_aborted_record_is_reported() -> None:
    told = Told()
    told.aborted.add(0)
    assert told.at_the_end() == []
    told.deliver(1.0)
    assert len(told.at_the_end()) == 1


def test_delivery_of_record_from_before_the_group_began_is_reported() -> None:
    told = Told()
    told.history.finished[PLACE].add(0)
    told.deliver(1.0)
    assert told.at_the_end() == []
    told.history.begins[PLACE] = 1
    assert len(told.at_the_end()) == 1


def test_nothing_is_reported_of_what_was_before_an_administrator_set_the_offset() -> None:
    told = Told()
    told.history.finished[PLACE].add(0)
    told.history.done(PLACE, 0, 2.0)
    told.history.begin_anew(PLACE, 0)
    told.deliver(3.0)
    assert told.reports == []
    assert len(told.at_the_end()) == 1  # nobody has accepted the record since


def test_partition_with_offsets_in_doubt_is_not_judged_until_they_are_known() -> None:
    told = Told()
    told.history.in_doubt.add(PLACE)
    told.deliver(1.0, LIMIT + 1)
    assert told.reports == told.at_the_end() == []
    told.history.begin_anew(PLACE, None)
    told.deliver(1.0, LIMIT + 1)
    assert len(told.reports) == 1


def test_renewal_counts_only_while_the_lock_is_live() -> None:
    told = Told()
    delivery = told.deliver(1.0)
    for answered_s, locked_s in ((3.1, 1.0), (2.5, 2.4)):
        delivery.spoken_s = 2.4
        told.history.renewed(delivery, answered_s)
        assert delivery.locked_s == locked_s


def test_start_offset_and_leader_epoch_that_go_back_are_reported() -> None:
    picture = Picture()
    picture.take_snapshot(ShareSnapshotValue(state_epoch=1, leader_epoch=2, start_offset=5))
    picture.take_update(ShareUpdateValue(leader_epoch=2, start_offset=-1))
    assert picture.violations == []
    picture.take_update(ShareUpdateValue(leader_epoch=1, start_offset=4))
    assert len(picture.violations) == 2


def test_snapshot_that_forgets_a_record_is_reported() -> None:
    picture = Picture()
    picture.take_snapshot(ShareSnapshotValue(state_epoch=1, start_offset=5, state_batches=[batch(5, 6)]))
    assert picture.done_until() == 7
    picture.take_snapshot(ShareSnapshotValue(state_epoch=1, start_offset=5, state_batches=[batch(5, 5)]))
    assert len(picture.violations) == 1


def test_state_that_begins_anew_has_a_new_beginning() -> None:
    picture = Picture()
    picture.take_snapshot(ShareSnapshotValue(state_epoch=1, leader_epoch=0, start_offset=5))
    picture.take_update(ShareUpdateValue(leader_epoch=2, start_offset=6, state_batches=[batch(6, 6)]))
    assert (picture.begins_at, picture.done_until(), picture.done_until({7})) == (5, 7, 8)
    picture.take_snapshot(ShareSnapshotValue(state_epoch=1, leader_epoch=0, start_offset=2))
    assert (picture.begins_at, picture.done_until(), picture.violations) == (2, 2, [])
    picture.begin_anew()
    assert not picture.is_there


def batch(first: int, last: int) -> StateBatch:
    return StateBatch(first_offset=first, last_offset=last, delivery_state=2, delivery_count=1)

"""Leader epochs of a log: look-ups, truncation, and the order of entries."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from pybroker.storage.leader_epochs import EpochEntry, LeaderEpochs


def epochs(*entries: tuple[int, int]) -> LeaderEpochs:
    return LeaderEpochs(EpochEntry(*entry) for entry in entries)


def test_end_offset_of_an_epoch_is_the_start_of_the_next_one() -> None:
    known = epochs((2, 10), (5, 20), (7, 30))
    assert known.end_offset_for(7, 99) == (7, 99)
    assert known.end_offset_for(5, 99) == (5, 30)
    assert known.end_offset_for(6, 99) == (5, 30)
    assert known.end_offset_for(2, 99) == (2, 20)
    assert known.end_offset_for(1, 99) == (1, 10)
    assert known.end_offset_for(8, 99) == (-1, -1)
    assert known.end_offset_for(-1, 99) == (-1, -1)
    assert epochs().end_offset_for(0, 99) == (-1, -1)


def test_truncation_removes_epochs_at_the_end_and_moves_the_first_one() -> None:
    known = epochs((2, 10), (5, 20), (7, 30))
    assert not known.truncate_from_end(31)
    assert known.truncate_from_end(30)
    assert list(known.entries) == [(2, 10), (5, 20)]
    assert known.latest_epoch == 5
    assert not known.truncate_from_start(10)
    assert known.truncate_from_start(15)
    assert list(known.entries) == [(2, 15), (5, 20)]
    assert known.truncate_from_start(25)
    assert list(known.entries) == [(5, 25)]
    assert known.clear()
    assert not known.clear()
    assert known.latest_epoch == -1


def test_epoch_of_an_offset_is_the_last_one_that_starts_at_or_before_it() -> None:
    known = epochs((2, 10), (5, 20))
    assert [known.epoch_for_offset(offset) for offset in (9, 10, 19, 20, 99)] == [None, 2, 2, 5, 5]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), max_size=12))
def test_epoch_entries_always_rise_and_the_last_assignment_holds(assignments: list[tuple[int, int]]) -> None:
    known = LeaderEpochs()
    for epoch, offset in assignments:
        before = known.entries
        changed = known.assign(epoch, offset)
        entries = known.entries
        assert changed == (entries != before)
        assert entries[-1].epoch == epoch
        assert entries[-1].start_offset <= offset
        assert all(one.epoch < two.epoch for one, two in pairwise(entries))
        assert all(one.start_offset < two.start_offset for one, two in pairwise(entries))

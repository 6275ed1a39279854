"""Runs of records are cut where the parts of an acknowledgement begin and end."""

from dataclasses import astuple
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.share.record_runs import RecordRuns, RecordState, Run

_END = 40
_cuts = st.sets(st.integers(1, _END - 1), max_size=20)


def runs_cut_at(cuts: set[int]) -> RecordRuns:
    """Runs of the offsets below `_END`, each with a delivery count of its own."""
    runs = RecordRuns()
    for count, (first, end) in enumerate(pairwise([0, *sorted(cuts), _END])):
        runs.append(Run(first, end - 1, RecordState.ACQUIRED, count, "a", 100))
    return runs


@given(cuts=_cuts, bounds=_cuts, left_out=st.sets(st.integers(0, 20)))
def test_pieces_of_many_parts_are_those_of_one_part_after_another(
    cuts: set[int], bounds: set[int], left_out: set[int]
) -> None:
    parts = [
        (first, end - 1, number)
        for number, (first, end) in enumerate(pairwise([0, *sorted(bounds), _END]))
        if number not in left_out
    ]
    runs, others = runs_cut_at(cuts), runs_cut_at(cuts)
    pieces = [(astuple(run), number) for run, number in runs.pieces(parts)]
    assert pieces == [(astuple(run), number) for first, last, number in parts for run in others.between(first, last)]
    assert [astuple(run) for run in runs] == [astuple(run) for run in others]

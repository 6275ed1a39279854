"""Verdicts by the rules of Burrow: a table of histories, and properties that hold for all histories."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.lag_verdicts import MIN_SILENCE_S, UNKNOWN_END, Verdict, judge, worst
from pybroker.broker.coordinator.group.commit_history import CommitHistory
from pybroker.broker.lag.commit_trend import trend_of


def history(*commits: tuple[int, int], step_ms: int = 5_000) -> CommitHistory:
    """Commits of (offset, lag at that time)."""
    made = CommitHistory()
    for number, (offset, lag) in enumerate(commits):
        made.add(number * step_ms, offset, UNKNOWN_END if lag < 0 else offset + lag)
    return made


TABLE = {
    "caught up once": ([(10, 5), (15, 0), (15, 9)], Verdict.OK),
    "two commits tell no trend": ([(10, 5), (11, 9)], Verdict.OK),
    "lag fell": ([(10, 90), (40, 60), (70, 50)], Verdict.CATCHING_UP),
    "lag fell with one relapse": ([(10, 90), (40, 60), (50, 70)], Verdict.CATCHING_UP),
    "lag goes up and down": ([(10, 50), (40, 40), (70, 60)], Verdict.OK),
    "lag grows": ([(10, 50), (20, 60), (30, 75)], Verdict.FALLING_BEHIND),
    "lag stays": ([(10, 50), (20, 50), (30, 50)], Verdict.FALLING_BEHIND),
    "same offset while the lag grows": ([(10, 50), (10, 60), (10, 75)], Verdict.STALLED),
    "same offset while the lag stays": ([(10, 50), (10, 50), (10, 50)], Verdict.STALLED),
    "same offset, but the log became shorter": ([(10, 50), (10, 40), (10, 50)], Verdict.OK),
    "offset went back": ([(10, 50), (5, 60), (30, 75)], Verdict.REWOUND),
    "offset went back, of two commits": ([(10, 50), (5, 60)], Verdict.REWOUND),
    "ends unknown": ([(10, -1), (20, -1), (30, -1), (40, -1)], Verdict.OK),
    "ends known lately": ([(10, -1), (20, 5), (30, 6), (40, 7)], Verdict.FALLING_BEHIND),
    "one commit": ([(10, 5)], Verdict.OK),
}


@pytest.mark.parametrize("name", TABLE)
def test_trend_of_the_last_commits(name: str) -> None:
    commits, verdict = TABLE[name]
    assert trend_of(history(*commits))[0] is verdict


@pytest.mark.parametrize(
    ("silent_s", "unread_s", "window_s", "is_stop"),
    [
        (MIN_SILENCE_S + 1, None, 0.0, True),
        (MIN_SILENCE_S, None, 0.0, False),
        (3600.0, 10.0, 45.0, False),  # nothing to read for an hour, then a record
        (3600.0, 3600.0, 45.0, True),
        (400.0, 3600.0, 540.0, False),  # a group that commits once a minute
        (600.0, 3600.0, 540.0, True),
    ],
)
def test_group_has_stopped_after_a_silence_with_records_to_read(
    silent_s: float, unread_s: float | None, window_s: float, is_stop: bool
) -> None:
    silence = (silent_s, unread_s, window_s)
    assert judge(Verdict.CATCHING_UP, 5, *silence) is (Verdict.STOPPED if is_stop else Verdict.CATCHING_UP)
    assert judge(Verdict.FALLING_BEHIND, 0, *silence) is Verdict.OK


def test_gain_is_how_fast_the_lag_becomes_less() -> None:
    assert trend_of(history((0, 100), (10, 95), (30, 80)))[1] == 2.0
    assert trend_of(history((0, 100), (10, 120), (30, 100)))[1] is None
    assert trend_of(history((0, 100), (10, 50)))[1] is None


def test_trend_is_judged_anew_after_a_commit() -> None:
    commits = history((10, 90), (40, 60), (70, 50))
    assert trend_of(commits)[0] is Verdict.CATCHING_UP
    commits.add(15_000, 5, 200)
    assert trend_of(commits)[0] is Verdict.REWOUND


def test_group_has_the_worst_verdict_of_its_partitions() -> None:
    assert worst([]) is Verdict.OK
    assert worst([Verdict.OK, Verdict.STALLED, Verdict.FALLING_BEHIND]) is Verdict.STALLED
    assert list(Verdict) == sorted(Verdict)


COMMITS = st.lists(st.tuples(st.integers(0, 1000), st.integers(-1, 1000)), min_size=1, max_size=30)


@given(COMMITS, st.integers(1, 20_000))
def test_only_the_last_ten_commits_count(commits: list[tuple[int, int]], step_ms: int) -> None:
    times_ms, offsets, ends = history(*commits, step_ms=step_ms).columns()
    assert len(offsets) == len(ends) == len(times_ms) <= 10
    assert offsets[-1] == commits[-1][0]
    assert times_ms[-1] == (len(commits) - 1) * step_ms
    assert times_ms == sorted(times_ms)


@given(st.lists(st.integers(0, 400), min_size=2, max_size=60))
def test_commits_within_a_second_take_one_place(steps_ms: list[int]) -> None:
    made, now_ms = CommitHistory(), 0
    for number, step_ms in enumerate(steps_ms):
        now_ms += step_ms
        made.add(now_ms, number, number)
    times_ms, _, _ = made.columns()
    distances = [later - earlier for earlier, later in zip(times_ms, times_ms[2:], strict=False)]
    assert all(distance >= 1_000 for distance in distances[:-1])


def test_commit_that_goes_back_is_kept_though_it_comes_soon() -> None:
    made = CommitHistory()
    for number, offset in enumerate([10, 20, 5, 30]):
        made.add(number, offset, 100)
    assert trend_of(made)[0] is Verdict.REWOUND


@given(COMMITS, st.integers(0, 500))
def test_verdict_does_not_depend_on_where_offsets_begin(commits: list[tuple[int, int]], shift: int) -> None:
    moved = [(offset + shift, lag) for offset, lag in commits]
    assert trend_of(history(*commits)) == trend_of(history(*moved))


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(0, 100)), min_size=4, max_size=10))
def test_steady_group_that_never_reaches_the_end_falls_behind_exactly_when_its_lag_never_falls(
    steps: list[tuple[int, int]],
) -> None:
    offset, end, commits = 0, 2_000, []
    for read, written in steps:
        offset, end = offset + read, end + written
        commits.append((offset, end - offset))
    verdict, gain, _, _ = trend_of(history(*commits))
    fell = any(later < earlier for (_, earlier), (_, later) in pairwise(commits))
    assert (verdict is Verdict.FALLING_BEHIND) == (not fell)
    assert (gain is not None) == (commits[-1][1] < commits[0][1])


@given(st.integers(0, 1000), st.floats(0, 1e6), st.one_of(st.none(), st.floats(0, 1e6)), st.floats(0, 1e6))
def test_worse_trend_never_gives_a_better_verdict(
    lag: int, silent_s: float, unread_s: float | None, window_s: float
) -> None:
    verdicts = [judge(trend, lag, silent_s, unread_s, window_s) for trend in Verdict]
    assert verdicts == sorted(verdicts)


def test_talking_group_keeps_its_trend() -> None:
    assert [judge(trend, 1, 1.0, 1.0, 10.0) for trend in Verdict if trend is not Verdict.STOPPED] == list(Verdict)[:-1]

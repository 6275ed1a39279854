"""Judges from offsets at several moments whether a group keeps up with a partition (rules of LinkedIn's Burrow). Pure.

Differences from Burrow: a group is not "stopped" for a partition that has only just got records, and a lag that became
less is "catching up" instead of "ok".
"""

from collections.abc import Iterable
from enum import IntEnum
from operator import sub

__all__ = ["MIN_SILENCE_S", "UNKNOWN_END", "Verdict", "judge", "trend", "worst"]

UNKNOWN_END = -1
"""In place of a partition's end that is not known."""

MIN_SILENCE_S = 60.0
"""A group that commits often is not stopped before this time."""
_MIN_COMMITS = 3
"""With fewer commits nothing is known about the trend."""


class Verdict(IntEnum):
    """From good to bad. The numbers are values of a metric, so they stay as they are."""

    OK = 0
    CATCHING_UP = 1
    """There is lag, and it became less."""
    FALLING_BEHIND = 2
    """Offsets move on, and the lag never became less."""
    REWOUND = 3
    """An offset went back."""
    STALLED = 4
    """The group commits, but always the same offset, and the lag did not become less."""
    STOPPED = 5
    """The group does not commit any more, and there are records to read."""


def judge(trend: Verdict, lag: int, silent_s: float, unread_s: float | None, window_s: float) -> Verdict:
    """The verdict for one partition.

    ``lag``: in records, now. ``silent_s``: since the last commit. ``unread_s``: the age of the first unread record;
    None when unknown. ``window_s``: the time between the first and the last of the commits that are known.

    A group has stopped if there were records to read for longer than its last commits took together, but no commit.
    Many clients do not commit while there is nothing to read, so a group is silent only since there are records.
    """
    if lag <= 0:
        return Verdict.OK
    waited_s = silent_s if unread_s is None or unread_s > silent_s else unread_s
    return Verdict.STOPPED if waited_s > MIN_SILENCE_S and waited_s > window_s else trend


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict for a group: the worst one of its partitions."""
    return max(verdicts, default=Verdict.OK)


def trend(offsets: list[int], ends: list[int], times_ms: list[int]) -> tuple[Verdict, float | None]:
    """The verdict that the commits alone give, and by how many records a second the lag became less, None: it did not.

    ``ends``: where the partition ended at the time of each commit, or `UNKNOWN_END`.
    """
    if UNKNOWN_END in ends:
        lags = [end - offset for offset, end in zip(offsets, ends, strict=True) if end != UNKNOWN_END]
        gain = None
    else:
        lags = list(map(sub, ends, offsets))
        gain = _gain_per_s(times_ms, lags) if len(lags) >= _MIN_COMMITS and lags[0] > lags[-1] else None
    if offsets != sorted(offsets):
        return Verdict.REWOUND, gain
    if len(lags) < _MIN_COMMITS or min(lags) <= 0:
        return Verdict.OK, gain
    never_fell = lags[0] <= lags[-1] and lags == sorted(lags)
    if offsets[0] == offsets[-1]:
        return Verdict.STALLED if never_fell else Verdict.OK, gain
    if never_fell:
        return Verdict.FALLING_BEHIND, gain
    return Verdict.CATCHING_UP if lags[-1] < lags[0] else Verdict.OK, gain


def _gain_per_s(times_ms: list[int], lags: list[int]) -> float | None:
    elapsed_s = (times_ms[-1] - times_ms[0]) / 1000
    return (lags[0] - lags[-1]) / elapsed_s if elapsed_s > 0 else None

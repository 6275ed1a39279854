"""Compares the gaps that clients met with pybroker and with Kafka."""

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Row", "worse_rows"]

_SLACK_S = 1.0
_SLACK = 0.1
"""A gap counts as worse when it is longer by more than both: one second, and a tenth of Kafka's. Less is noise, for
example when a session ends just before or after a ZooKeeper tick."""


class Row(NamedTuple):
    """A trouble that was played, and the longest gap in seconds of each kind of client."""

    trouble: str
    gaps_s: Sequence[float]


def worse_rows(ours: Sequence[Row], theirs: Sequence[Row]) -> list[str]:
    """Returns the names of the troubles in which pybroker's longest gap is worse than Kafka's, with both in seconds."""
    worse = []
    for our, their in zip(ours, theirs, strict=True):
        our_s, their_s = max(our.gaps_s), max(their.gaps_s)
        if our_s - their_s > max(_SLACK_S, _SLACK * their_s):
            worse.append(f"{our.trouble} ({our_s:.1f}, {their_s:.1f})")
    return worse

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
    """Returns the names of the troubles in which a kind of client met a longer gap than with Kafka, with both gaps in
    seconds."""
    return [
        f"{our.trouble} ({our_s:.1f}, {their_s:.1f})"
        for our, their in zip(ours, theirs, strict=True)
        for our_s, their_s in zip(our.gaps_s, their.gaps_s, strict=True)
        if our_s - their_s > max(_SLACK_S, _SLACK * their_s)
    ]

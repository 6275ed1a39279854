"""How long a client that exceeded a rate must wait (Kafka: QuotaUtils.throttleTime). Pure."""

import math

from .sampled_rate import Measurement

__all__ = ["LONGEST_MS", "rounded_ms", "throttle_time_ms"]

LONGEST_MS = 2**31 - 1
"""The largest value of throttle_time_ms in a response."""


def throttle_time_ms(measured: Measurement, bound: float, longest_ms: int = LONGEST_MS) -> int:
    """The pause after which the rate would be back at ``bound``, if the client sent nothing meanwhile; 0: no pause.

    A bound of 0 allows nothing: the pause is ``longest_ms``. Kafka's result overflows to -1 there, so it allows all.
    """
    excess = measured.per_second - bound
    if not excess > 0 or bound < 0:
        return 0
    if bound == 0:
        return longest_ms
    return rounded_ms(excess / bound * measured.window_ms, longest_ms)


def rounded_ms(time_ms: float, longest_ms: int = LONGEST_MS) -> int:
    """``time_ms`` as Java rounds it, from 0 to ``longest_ms``."""
    return 0 if not time_ms > 0 else math.floor(min(time_ms, longest_ms) + 0.5)

"""One type of quota that limits a rate: its limits, and the counters of its clients (Kafka: ClientQuotaManager). Pure.

Nearly all values are within limits, so that case must cost little. The counters of clients seen lately are remembered
with the total that is within the limit at any time. Below that total no rate is measured.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from .quota_entity import QuotaEntity
from .quota_limits import Bucket, QuotaLimits, short_bucket
from .recently_used import RecentlyUsed
from .sampled_rate import SampledRate, Windows
from .throttle_time import throttle_time_ms

__all__ = ["QuotaUse", "RateQuota"]

_LONGEST_NAME = 100
_MOST_SEEN = 1_000


class QuotaUse(NamedTuple):
    """The recent rate of one bucket's clients. ``throttle_ms``: their mean throttle time; 0: the quota was kept."""

    bucket: Bucket
    per_second: float
    throttle_ms: float


class _Pauses:
    """The throttle times of a bucket, in a window that begins with the first after the end of the last window."""

    __slots__ = ("_began_ms", "_count", "_last_ms", "_sum_ms")

    def __init__(self) -> None:
        self._began_ms = self._last_ms = 0
        self._count = self._sum_ms = 0

    def add(self, pause_ms: int, now_ms: int, windows: Windows) -> None:
        if now_ms - self._began_ms >= windows.span_ms:
            self._began_ms = now_ms
            self._count = self._sum_ms = 0
        self._last_ms = now_ms
        self._count += 1
        self._sum_ms += pause_ms

    def mean_ms(self, now_ms: int, windows: Windows) -> float:
        return 0.0 if self.is_idle(now_ms, windows) else self._sum_ms / self._count

    def is_idle(self, now_ms: int, windows: Windows) -> bool:
        return not self._count or now_ms - self._last_ms >= windows.span_ms


class _Seen(NamedTuple):
    bucket: Bucket
    rate: SampledRate
    bound: float
    at_once: float
    """A total in all windows that cannot exceed the bound."""


class RateQuota:
    """Times are ms of a clock that does not go back. A missing client id counts as an empty one.

    ``longest_ms``: the longest throttle time. ``most_counters``: see `RecentlyUsed`.
    """

    def __init__(self, windows: Windows, longest_ms: int, most_counters: int) -> None:
        self._windows = windows
        self._longest_ms = longest_ms
        self._limits = QuotaLimits()
        self.has_limits = False
        """Whether any client has a quota; if not, nothing needs to be recorded."""
        self.may_exceed_until_ms: float = math.inf
        """Until then a client may exceed its quota. Later none does, unless a value is recorded that says so."""
        self._seen: dict[tuple[str, str | None], _Seen] = {}
        self._rates: RecentlyUsed[Bucket, SampledRate] = RecentlyUsed(
            SampledRate, lambda rate, now_ms: rate.is_idle(now_ms, windows), most_counters
        )
        self._pauses: RecentlyUsed[Bucket, _Pauses] = RecentlyUsed(
            _Pauses, lambda pauses, now_ms: pauses.is_idle(now_ms, windows), most_counters
        )

    def set_limit(self, entity: QuotaEntity, bound: float | None) -> None:
        """Set the limit of a user, a client id or a pair; None removes it. Counters go on with the new limit."""
        self._limits.set(entity, bound)
        self.has_limits = bool(self._limits)
        self.may_exceed_until_ms = math.inf
        self._seen.clear()

    def record(self, user: str, client_id: str | None, value: float, now_ms: int) -> int:
        """Count a value; returns throttle_time_ms, 0 if the client is within its quota. A negative value takes back."""
        seen = self._seen.get((user, client_id))
        if seen is None or now_ms >= seen.rate.fresh_until_ms:
            seen = self._look_up(user, client_id, now_ms)
            if seen is None:
                return 0
            seen.rate.record(value, now_ms, self._windows)
        elif seen.rate.add(value, now_ms) <= seen.at_once:
            return 0
        throttle_ms = self._throttle_ms(seen, now_ms)
        if throttle_ms and value > 0:
            self._pauses.get(seen.bucket, now_ms).add(throttle_ms, now_ms, self._windows)
        if throttle_ms or self.may_exceed_until_ms == math.inf:
            self.may_exceed_until_ms = now_ms + self._windows.span_ms  # then no value of now counts any more
        return throttle_ms

    def current_ms(self, user: str, client_id: str | None, now_ms: int) -> int:
        """throttle_time_ms for the values recorded so far."""
        if now_ms >= self.may_exceed_until_ms:
            return 0
        seen = self._seen.get((user, client_id)) or self._look_up(user, client_id, now_ms)
        return 0 if seen is None else self._throttle_ms(seen, now_ms)

    def most_at_once(self, user: str, client_id: str | None) -> float | None:
        """The largest value that is not throttled by itself; None: there is no limit (KAFKA-9677)."""
        seen = self._seen.get((user, client_id))
        if seen is not None:
            return seen.at_once
        limit = self._limits.find(user, client_id or "")
        return None if limit is None else self._at_once(limit.bound)

    def uses(self, now_ms: int) -> Iterator[QuotaUse]:
        """The use of each bucket that counts now. A bucket with a long name has its digest instead."""
        pauses = dict(self._pauses.items())
        for bucket, rate in self._rates.items():
            if not rate.is_idle(now_ms, self._windows):
                paused = pauses.get(bucket)
                throttle_ms = 0.0 if paused is None else paused.mean_ms(now_ms, self._windows)
                yield QuotaUse(bucket, rate.measure(now_ms, self._windows).per_second, throttle_ms)

    def _look_up(self, user: str, client_id: str | None, now_ms: int) -> _Seen | None:
        limit = self._limits.find(user, client_id or "")
        if limit is None:
            return None
        bucket = short_bucket(limit.bucket)
        seen = _Seen(bucket, self._rates.get(bucket, now_ms), limit.bound, self._at_once(limit.bound))
        if self._rates.is_crowded or len(self._seen) >= _MOST_SEEN:
            self._seen.clear()  # a counter in use must count as used, so that it is not dropped
        elif len(user) + len(client_id or "") <= _LONGEST_NAME:
            self._seen[user, client_id] = seen
        return seen

    def _throttle_ms(self, seen: _Seen, now_ms: int) -> int:
        return throttle_time_ms(seen.rate.measure(now_ms, self._windows), seen.bound, self._longest_ms)

    def _at_once(self, bound: float) -> float:
        return bound * (self._windows.count - 1) * self._windows.length_ms / 1000

"""Counts the use of quotas by clients, and finds throttle times (Kafka: ClientQuotaManager, KIP-124, KIP-599). Pure.

Clients without a limit are not counted. The counters of a client whose limit changes go on with the new limit.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Protocol

from .quota_entity import QuotaEntity
from .quota_limits import Bucket, QuotaLimits
from .quota_type import CLIENT_TYPES, QuotaType
from .recently_used import MOST_COUNTERS, RecentlyUsed
from .sampled_rate import SampledRate, Windows
from .throttle_time import LONGEST_MS, throttle_time_ms
from .token_bucket import TokenBucket

__all__ = ["ClientQuotas", "MutationQuota", "User"]

_RATE_TYPES: tuple[QuotaType, ...] = tuple(each for each in CLIENT_TYPES if each is not QuotaType.CONTROLLER_MUTATION)


_LONG_NAMES = 100


class User(Protocol):
    """A principal; quotas only look at its name."""

    @property
    def name(self) -> str: ...


class ClientQuotas:
    """Times are ms of a clock that does not go back. A missing client id counts as an empty one.

    Produce and fetch count bytes; request counts per cent of a second of one processor.
    """

    def __init__(self, windows: Windows, mutation_windows: Windows, most_counters: int = MOST_COUNTERS) -> None:
        """``most_counters`` for each type of quota."""
        self._windows = windows
        self.mutation_windows = mutation_windows
        self._limits = {each: QuotaLimits() for each in CLIENT_TYPES}
        self.has_limits = False
        """Whether any client has a quota; if not, nothing needs to be recorded."""
        self.limits_time = False
        """Whether any client has a quota of request time; if not, no time needs to be measured."""
        self._rates: dict[QuotaType, RecentlyUsed[Bucket, SampledRate]] = {
            each: RecentlyUsed(SampledRate, self._is_idle, most_counters) for each in _RATE_TYPES
        }
        self._buckets: RecentlyUsed[Bucket, TokenBucket] = RecentlyUsed(
            TokenBucket, lambda bucket, now_ms: bucket.is_idle(now_ms, mutation_windows), most_counters
        )
        self._longest_ms = dict.fromkeys(_RATE_TYPES, LONGEST_MS) | {QuotaType.REQUEST: windows.length_ms}

    def set_limits(self, entity: QuotaEntity, quotas: Mapping[QuotaType, float]) -> None:
        """Replace all quotas of a user, a client id or a pair; an empty mapping removes them."""
        for quota_type, limits in self._limits.items():
            limits.set(entity, quotas.get(quota_type))
        self.has_limits = any(self._limits.values())
        self.limits_time = bool(self._limits[QuotaType.REQUEST])

    def record(self, user: User, client_id: str | None, quota_type: QuotaType, value: float, now_ms: int) -> int:
        """Count a value; returns throttle_time_ms, 0 if the client is within its quota. A negative value takes back."""
        limit = self._limits[quota_type].find(user.name, client_id or "")
        if limit is None:
            return 0
        rate = self._rates[quota_type].get(_key(limit.bucket), now_ms)
        rate.record(value, now_ms, self._windows)
        return throttle_time_ms(rate.measure(now_ms, self._windows), limit.bound, self._longest_ms[quota_type])

    def most_at_once(self, user: User, client_id: str | None, quota_type: QuotaType) -> float | None:
        """The largest value that is not throttled by itself; None: there is no limit (KAFKA-9677)."""
        limit = self._limits[quota_type].find(user.name, client_id or "")
        if limit is None:
            return None
        return limit.bound * (self._windows.count - 1) * self._windows.length_ms / 1000

    def mutation_quota(self, user: User, client_id: str | None, *, is_strict: bool) -> "MutationQuota":
        """The quota of topic changes for one request. ``is_strict``: the API's version knows the error."""
        return MutationQuota(self, user.name, client_id or "", is_strict=is_strict)

    def mutation_bucket(self, user_name: str, client_id: str, now_ms: int) -> tuple[TokenBucket, float] | None:
        """The bucket of a client, and the rate at which it fills; None: it has no limit."""
        limit = self._limits[QuotaType.CONTROLLER_MUTATION].find(user_name, client_id)
        return None if limit is None else (self._buckets.get(_key(limit.bucket), now_ms), limit.bound)

    def _is_idle(self, rate: SampledRate, now_ms: int) -> bool:
        return rate.is_idle(now_ms, self._windows)


def _key(bucket: Bucket) -> Bucket:
    """``bucket``, with digests in place of long names, because a client id may have 32 KiB."""
    user, client_id = bucket
    if len(user) + len(client_id) <= _LONG_NAMES:
        return bucket
    return _digest(user), _digest(client_id)


def _digest(name: str) -> str:
    return blake2b(name.encode(errors="surrogatepass"), digest_size=16).hexdigest() if name else ""


class MutationQuota:
    """The topic changes of one request: partitions created, added or deleted.

    A strict quota refuses changes while the bucket is in debt, and never delays a client. Any other one permits all
    changes, and delays a client that is in debt.
    """

    def __init__(self, quotas: ClientQuotas, user_name: str, client_id: str, *, is_strict: bool) -> None:
        self._quotas = quotas
        self._user_name = user_name
        self._client_id = client_id
        self._is_strict = is_strict
        self._usable_ms = 0

    def take(self, partitions: int, now_ms: int) -> bool:
        """Count a change; False: it must be refused with THROTTLING_QUOTA_EXCEEDED. Called after its validation."""
        found = self._quotas.mutation_bucket(self._user_name, self._client_id, now_ms)
        if found is None:
            return True
        bucket, rate = found
        windows = self._quotas.mutation_windows
        is_refused = self._is_strict and bucket.tokens(rate, now_ms, windows) < 0
        if not is_refused:
            bucket.take(partitions, rate, now_ms, windows)
        if is_refused or not self._is_strict:
            self._usable_ms = now_ms + bucket.wait_ms(rate, now_ms, windows)
        return not is_refused

    def throttle_ms(self, now_ms: int) -> int:
        """throttle_time_ms of the response: until the debt is paid, from now on."""
        return min(max(self._usable_ms - now_ms, 0), LONGEST_MS)

"""Counts the use of quotas by clients, and finds throttle times (Kafka: ClientQuotaManager, KIP-124, KIP-599). Pure.

Clients without a limit are not counted.
"""

from collections.abc import Mapping
from typing import Protocol

from .quota_entity import QuotaEntity
from .quota_limits import Bucket, QuotaLimits, short_bucket
from .quota_type import QuotaType
from .rate_quota import RateQuota
from .recently_used import MOST_COUNTERS, RecentlyUsed
from .sampled_rate import Windows
from .throttle_time import LONGEST_MS
from .token_bucket import TokenBucket

__all__ = ["ClientQuotas", "MutationQuota", "User"]


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
        self.mutation_windows = mutation_windows
        self.rates = {
            QuotaType.PRODUCE: RateQuota(windows, LONGEST_MS, most_counters),
            QuotaType.FETCH: RateQuota(windows, LONGEST_MS, most_counters),
            QuotaType.REQUEST: RateQuota(windows, windows.length_ms, most_counters),
        }
        self.has_limits = False
        """Whether any client has a quota; if not, nothing needs to be recorded."""
        self._mutation_limits = QuotaLimits()
        self._buckets: RecentlyUsed[Bucket, TokenBucket] = RecentlyUsed(
            TokenBucket, lambda bucket, now_ms: bucket.is_idle(now_ms, mutation_windows), most_counters
        )

    def set_limits(self, entity: QuotaEntity, quotas: Mapping[QuotaType, float]) -> None:
        """Replace all quotas of a user, a client id or a pair; an empty mapping removes them."""
        for quota_type, rate in self.rates.items():
            rate.set_limit(entity, quotas.get(quota_type))
        self._mutation_limits.set(entity, quotas.get(QuotaType.CONTROLLER_MUTATION))
        self.has_limits = bool(self._mutation_limits) or any(rate.has_limits for rate in self.rates.values())

    def mutation_quota(self, user: User, client_id: str | None, *, is_strict: bool) -> "MutationQuota":
        """The quota of topic changes for one request. ``is_strict``: the API's version knows the error."""
        return MutationQuota(self, user.name, client_id or "", is_strict=is_strict)

    def mutation_bucket(self, user_name: str, client_id: str, now_ms: int) -> tuple[TokenBucket, float] | None:
        """The bucket of a client, and the rate at which it fills; None: it has no limit."""
        limit = self._mutation_limits.find(user_name, client_id)
        return None if limit is None else (self._buckets.get(short_bucket(limit.bucket), now_ms), limit.bound)


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

"""Samples of the clients with a quota: how fast they produce and fetch, and how long they were throttled.

**Limits.** Clients choose their names, so only the `MOST_TOLD` busiest buckets of each type are told.
"""

import heapq
from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter

from ..quotas.client_quotas import ClientQuotas
from ..quotas.quota_type import QuotaType
from ..quotas.rate_quota import QuotaUse, RateQuota
from .labels import labels
from .registry import Registry, Sample
from .series.table import series_named

__all__ = ["MOST_TOLD", "add_quota_samples"]

MOST_TOLD = 100
_BUCKETS_BETWEEN_SLICES = 64
_TYPES = {"produce": QuotaType.PRODUCE, "fetch": QuotaType.FETCH}


def add_quota_samples(registry: Registry, quotas: ClientQuotas, clock_ms: Callable[[], int]) -> None:
    """``clock_ms``: that of ``quotas``."""
    for name, quota_type in _TYPES.items():
        busiest = partial(_busiest, quotas.rates[quota_type], clock_ms)
        registry.add(series_named(f"kafka_server_{name}_byte_rate"), partial(busiest, attrgetter("per_second")))
        registry.add(series_named(f"kafka_server_{name}_throttle_time"), partial(busiest, attrgetter("throttle_ms")))


def _busiest(
    quota: RateQuota, clock_ms: Callable[[], int], value: Callable[[QuotaUse], float]
) -> Iterator[Sample | None]:
    """The user is empty where a quota counts all users of a client id together, and the other way round."""
    uses: list[QuotaUse] = []
    for number, use in enumerate(quota.uses(clock_ms()), 1):
        uses.append(use)
        if not number % _BUCKETS_BETWEEN_SLICES:
            uses = _largest(uses)
            yield None
    for use in _largest(uses):
        user, client_id = use.bucket
        yield labels(user=user, client_id=client_id), value(use)


def _largest(uses: list[QuotaUse]) -> list[QuotaUse]:
    return heapq.nlargest(MOST_TOLD, uses, key=lambda use: (use.throttle_ms, use.per_second))

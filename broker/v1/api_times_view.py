"""Requests by API, and the quantiles of their times, as the documents show them."""

from collections import Counter

from ...base.log_buckets import quantile
from ...views.brokers import ApiTimes as ApiRow
from ...views.traffic import Times
from ..requests.request_times import ApiTimes
from .known_state import KnownState

__all__ = ["CONSUMER_FETCH", "PRODUCE", "api_rows", "times_of"]

PRODUCE = "Produce"
CONSUMER_FETCH = "FetchConsumer"
_MEDIAN, _P99, _ALL = 0.5, 0.99, 1.0


def api_rows(state: KnownState) -> tuple[ApiRow, ...]:
    """Return a row for each API that was used, the most used first."""
    errors: Counter[str] = Counter()
    for route in state.dispatcher.routes():
        errors[route.name] += sum(count for code, count in route.errors.items() if code)
    counted = {route.name for route in state.dispatcher.routes()}
    rows = [
        ApiRow(
            api=api.name,
            requests=(times := _times(state, api)).count,
            errors=errors[api.name] if api.name in counted else None,
            p50_ms=times.p50_ms,
            p99_ms=times.p99_ms,
            max_ms=times.max_ms,
        )
        for api in state.requests.times.apis()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.requests, row.api)))


def times_of(state: KnownState, name: str) -> Times | None:
    """Return the times of an API; None when it was not used."""
    return next((_times(state, api) for api in state.requests.times.apis() if api.name == name), None)


def _times(state: KnownState, api: ApiTimes) -> Times:
    recent = state.recent.request_times.of(api.name, api.total.counts)
    p50_ms, p99_ms, max_ms = (
        round(quantile(recent, share) * 1000, 3) if any(recent) else None for share in (_MEDIAN, _P99, _ALL)
    )
    return Times(count=api.total.count, p50_ms=p50_ms, p99_ms=p99_ms, max_ms=max_ms)

"""Samples of requests: how many, their errors, and the quantiles of their times over the last minutes."""

from collections.abc import Iterator
from functools import partial

from ...base.log_buckets import BOUNDS, LogBuckets, quantile
from ...protocol.errors import ErrorCode
from ..requests.dispatch import Dispatcher
from ..requests.recent_counts import RecentCounts
from ..requests.request_times import ApiTimes
from ..requests.request_watch import RequestWatch
from .durations import QUANTILES
from .labels import labels
from .registry import Registry, Sample
from .series.table import series_named

__all__ = ["add_request_samples"]

_PREFIX = "kafka_network_requestmetrics"
_PHASES = {
    "total": "totaltimems",
    "queue": "requestqueuetimems",
    "local": "localtimems",
    "remote": "remotetimems",
    "throttle": "throttletimems",
    "response_queue": "responsequeuetimems",
    "send": "responsesendtimems",
}
_MS = 1000.0
_EDGES = (48, 56, 64, 72, 80, 88, 96, 100, 104, 112, 120)
"""The edges of buckets that are edges of ``pybroker_request_duration_seconds`` too: 66 µs to 17 s."""


def add_request_samples(registry: Registry, watch: RequestWatch, dispatcher: Dispatcher) -> None:
    """Add the sources of Kafka's RequestMetrics, and of the histogram of durations."""
    times = _Times(watch)
    dispatcher.counts_errors = True
    registry.add(series_named(f"{_PREFIX}_requests_total"), partial(_requests, dispatcher))
    registry.add(series_named(f"{_PREFIX}_errors_total"), partial(_errors, dispatcher))
    for phase, name in _PHASES.items():
        registry.add(series_named(f"{_PREFIX}_{name}"), partial(times.summary, phase))
    registry.add(series_named(f"{_PREFIX}_requestbytes"), times.sizes)
    registry.add(series_named("pybroker_request_duration_seconds"), times.histogram)


def _requests(dispatcher: Dispatcher) -> Iterator[Sample]:
    for route in dispatcher.routes():
        name, version = route.name, route.version
        yield labels(request=name, version=version), route.requests
        if name == "Fetch":
            yield labels(request="FetchFollower", version=version), route.follower_requests
            yield labels(request="FetchConsumer", version=version), route.requests - route.follower_requests


def _errors(dispatcher: Dispatcher) -> Iterator[Sample]:
    counts: dict[tuple[str, int], int] = {}
    for route in dispatcher.routes():
        for code, count in (*route.errors.items(), (0, route.encoded_responses)):
            if count:
                counts[route.name, code] = counts.get((route.name, code), 0) + count
    for (name, code), count in counts.items():
        yield labels(request=name, error=ErrorCode(code).name), count


class _Times:
    def __init__(self, watch: RequestWatch) -> None:
        self._times = watch.times
        self._recent = RecentCounts(watch.times.now_s)

    def summary(self, phase: str) -> Iterator[Sample]:
        """Quantiles, counts and sums of a phase by API, in ms."""
        for api in self._times.apis():
            yield from self._quantiles(api, phase, api.phase(phase), _MS)

    def sizes(self) -> Iterator[Sample]:
        """Quantiles, counts and sums of the sizes of requests by API, in bytes."""
        for api in self._times.apis():
            yield from self._quantiles(api, "bytes", api.request_bytes, 1.0)

    def _quantiles(self, api: ApiTimes, what: str, buckets: LogBuckets, scale: float) -> Iterator[Sample]:
        recent = self._recent.of((api.name, what), buckets.counts)
        # A phase that took no time is not counted.
        zeros = sum(self._recent.of((api.name, f"all of {what}"), api.total.counts)) - sum(recent)
        for text, share in QUANTILES.items():
            yield labels(request=api.name, quantile=text), quantile(recent, share, max(zeros, 0)) * scale
        name = labels(request=api.name)
        yield f"_count{name}", api.total.count
        yield f"_sum{name}", buckets.sum * scale

    def histogram(self) -> Iterator[Sample]:
        for api in self._times.apis():
            if api.name != "Fetch":  # its parts are there
                counts = api.total.counts
                for edge in _EDGES:
                    yield f"_bucket{labels(request=api.name, le=f'{BOUNDS[edge]:.6g}')}", sum(counts[: edge + 1])
                yield f"_bucket{labels(request=api.name, le='+Inf')}", api.total.count
                yield f"_count{labels(request=api.name)}", api.total.count
                yield f"_sum{labels(request=api.name)}", api.total.sum

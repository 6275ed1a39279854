"""Samples of durations: quantiles over the last minutes, the count and the sum, in ms."""

from collections.abc import Callable, Iterator

from ...base.log_buckets import LogBuckets, quantile
from ..requests.recent_counts import RecentCounts
from .registry import Registry, Sample
from .series.table import series_named

__all__ = ["QUANTILES", "add_durations"]

_MS = 1000.0
QUANTILES = {"0.50": 0.5, "0.75": 0.75, "0.95": 0.95, "0.98": 0.98, "0.99": 0.99, "0.999": 0.999}
"""The shares, by the text of the label ``quantile``: those of Kafka."""


def add_durations(registry: Registry, name: str, buckets: LogBuckets, now_s: Callable[[], float]) -> None:
    """Add a summary without other labels. ``buckets``: in seconds. ``now_s``: a monotonic clock."""
    recent = RecentCounts(now_s)

    def samples() -> Iterator[Sample]:
        counts = recent.of(name, buckets.counts)
        for text, share in QUANTILES.items():
            yield f'{{quantile="{text}"}}', quantile(counts, share) * _MS
        yield "_count", buckets.count
        yield "_sum", buckets.sum * _MS

    registry.add(series_named(name), samples)

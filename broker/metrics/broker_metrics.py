"""The metrics of one broker: the registry that its parts fill, and the text that ``/metrics`` gives."""

from collections.abc import AsyncIterator

from ...config.config import Config
from .exposition import Exposition, content_type_for
from .process_samples import add_process_samples
from .registry import Registry
from .selection import Selection
from .series.table import series_named

__all__ = ["BrokerMetrics"]


class BrokerMetrics:
    """``registry``: parts of the broker add their samples to it."""

    def __init__(self, config: Config) -> None:
        self.registry = Registry()
        self._exposition = Exposition(
            self.registry,
            Selection.from_config(config),
            dropped=series_named("pybroker_metrics_dropped_series"),
            failed=series_named("pybroker_metrics_failed_sources"),
        )
        add_process_samples(self.registry)

    def scrape(self, accept: str) -> tuple[str, AsyncIterator[bytes]]:
        """The content type for the request's header ``Accept``, and the text in pieces, made while it is read."""
        content_type = content_type_for(accept)
        return content_type, self._exposition.text(content_type)

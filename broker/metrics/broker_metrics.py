"""The metrics of one broker: the registry that its parts fill, and the text that ``/metrics`` gives."""

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from ...config.config import Config
from ...controller.tree.renewing_store import RenewingStore
from ..apis.broker_parts import BrokerParts
from .controller_samples import ControllerSamples
from .coordinator_samples import GroupSamples
from .exposition import Exposition, content_type_for
from .log_samples import LogSamples
from .partition_samples import PartitionSamples
from .process_samples import add_process_samples
from .quota_samples import add_quota_samples
from .registry import Registry
from .replication_samples import add_fetch_session_samples, add_fetcher_samples, add_purgatory_samples
from .selection import Selection
from .series.table import series_named
from .session_samples import add_session_samples

if TYPE_CHECKING:
    from ..inter_broker.cluster_links import ClusterLinks

__all__ = ["BrokerMetrics"]


class BrokerMetrics:
    """``registry``: parts of the broker add their samples to it. ``clock_ms``: the wall clock."""

    def __init__(self, config: Config, clock_ms: Callable[[], int]) -> None:
        self.registry = Registry()
        self._clock_ms = clock_ms
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

    def add_parts(self, parts: BrokerParts, links: "ClusterLinks | None", now_s: Callable[[], float]) -> None:
        """Add the samples of the parts of a broker, when all of these are made.

        ``links``: None without a cluster. ``now_s``: the clock of the loop.
        """
        registry, metadata = self.registry, parts.metadata
        listener = parts.config.inter_broker_listener_name
        PartitionSamples(registry, parts.partitions, parts.cache.partition_count, metadata.identity.cluster_id)
        LogSamples(registry, parts.logs, parts.run_in_pool, self._clock_ms, now_s)
        ControllerSamples(registry, metadata.controller, parts.cache, listener, now_s)
        if isinstance(metadata.store, RenewingStore):
            add_session_samples(registry, metadata.store, now_s)
        GroupSamples(registry, parts.coordinators.groups)
        add_quota_samples(registry, parts.throttling.quotas, parts.throttling.clock_ms)
        add_purgatory_samples(registry, parts.partitions.wakeups)
        add_fetch_session_samples(registry, parts.fetch_sessions)
        add_fetcher_samples(registry, None if links is None else links.fetchers, now_s)

"""Sends consumers to a replica in their own rack (KIP-392, replica.selector.class)."""

import logging
from functools import partial

from ....config.config import Config
from ....replication.partition.nearest_replica import ReplicaChoice, nearest_replica
from ...metadata.metadata_cache import MetadataCache

__all__ = ["NearConsumers"]

logger = logging.getLogger(__name__)

_PACKAGE = "org.apache.kafka.common.replica."
_BY_RACK = f"{_PACKAGE}RackAwareReplicaSelector"
_LEADER = f"{_PACKAGE}LeaderSelector"


class NearConsumers:
    """Used by leaders. ``local_rack`` is broker.rack."""

    def __init__(self, cache: MetadataCache, local_rack: str | None) -> None:
        self._cache = cache
        self._local_rack = local_rack

    @classmethod
    def of(cls, config: Config, cache: MetadataCache) -> "NearConsumers | None":
        """None: all consumers read from leaders."""
        selector = config.optional_string("replica.selector.class")
        if selector == _BY_RACK:
            return cls(cache, config.optional_string("broker.rack"))
        if selector not in (None, "", _LEADER):
            logger.warning(
                "replica.selector.class=%s is unknown, only %s is supported: consumers read from leaders",
                selector,
                _BY_RACK,
            )
        return None

    def nearest_in(self, rack: str, listener_name: str) -> ReplicaChoice:
        """The choice for consumers in ``rack`` on this listener."""
        cache = self._cache
        return partial(
            nearest_replica,
            rack,
            self._local_rack,
            cache.rack_of,
            lambda broker_id: cache.endpoint_of(broker_id, listener_name) is not None,
        )

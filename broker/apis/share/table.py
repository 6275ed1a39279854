"""The APIs by which members of share groups get and acknowledge records, with their handlers."""

from collections.abc import Mapping
from functools import partial

from ....protocol.apis import ApiKey
from ...requests.context import Handler
from ...share.active_share_partition import ActiveSharePartition
from ...share.fetched_records import ShareFetchParts
from ...share.first_offset import first_offset
from ...share.partition_memory import ShareMemory
from ...share.ports import SharePorts
from ...share.settings import ShareSettings
from ...share.share_partitions import SharePartitions
from ..broker_parts import BrokerParts
from ..records.parked_fetches import ParkedFetches
from .fetch_params import ShareFetchHandlerParts
from .fetch_response import FetchResponses
from .share_acknowledge import ShareAcknowledge
from .share_fetch import ShareFetch

__all__ = ["share_apis"]


def share_apis(parts: BrokerParts) -> Mapping[ApiKey, Handler]:
    """To be called where the settings ask for share groups."""
    config, partitions, cache, coordination = parts.config, parts.partitions, parts.cache, parts.coordinators.share
    assert coordination is not None
    find_first = partial(first_offset, partitions, parts.clock_ms)
    memory = ShareMemory(config.int("pybroker.share.states.max.bytes"), parts.timers)
    shares = SharePartitions(
        partitions,
        SharePorts(coordination.states, parts.timers, find_first, memory),
        lambda group_id: ShareSettings.of(config, parts.settings.groups(group_id)),
        max_sessions=config.int("group.share.max.share.sessions"),
        max_partitions=config.int("pybroker.fetch.sessions.max.partitions"),
    )
    parts.changes.on_leadership(shares.leadership_changed)

    def log_start_offset(active: ActiveSharePartition) -> int:
        hosted = partitions.get(active.place.topic_partition)
        return 0 if hosted is None else hosted.log.log_start_offset

    return {
        ApiKey.SHARE_FETCH: ShareFetch(
            ShareFetchHandlerParts(
                shares,
                cache,
                ShareFetchParts(partitions.reads, parts.timers, memory, log_start_offset),
                FetchResponses(shares, partitions, cache, parts.throttling),
                ParkedFetches(config.int("pybroker.fetch.waiting.max.bytes")),
                parts.throttling,
                config.int("fetch.max.bytes"),
            )
        ),
        ApiKey.SHARE_ACKNOWLEDGE: ShareAcknowledge(shares, partitions, cache),
    }

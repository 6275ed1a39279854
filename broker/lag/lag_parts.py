"""Builds the parts that tell how far groups lag behind, and connects them with the coordinator of groups."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ...replication.partition_set import PartitionSet
from ..coordinator.group.coordinator import GroupCoordinator
from ..metadata.metadata_cache import MetadataCache
from .group_lags import GroupLags
from .partition_ends import PartitionEnds
from .unread_times import UnreadTimes

if TYPE_CHECKING:
    from ..inter_broker.cluster_links import ClusterLinks
    from .remote_ends import RemoteEnds

__all__ = ["LagParts"]


class LagParts:
    """``links``: None when there is no other broker. ``clock_ms``: the wall clock. ``run_in_pool``: for long work."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        coordinator: GroupCoordinator,
        partitions: PartitionSet,
        cache: MetadataCache,
        links: "ClusterLinks | None",
        clock_ms: Callable[[], int],
        run_in_pool: Callable[[Callable[[], Any]], Awaitable[Any]],
    ) -> None:
        self._remote = None if links is None else _remote_ends(loop, links)
        self._times = UnreadTimes(clock_ms, loop.time, run_in_pool)
        ends = PartitionEnds(partitions, cache.isr_of, self._remote)
        self.lags = GroupLags(coordinator.registry.groups, ends, self._times, clock_ms, loop.time)
        commit_clock = coordinator.registry.commit_clock
        commit_clock.end_of = ends.known_end
        commit_clock.now_s = loop.time

    def kill(self) -> None:
        """Look up nothing more, and ask nobody."""
        self._times.kill()
        if self._remote is not None:
            self._remote.kill()

    async def close(self) -> None:
        """`kill`, and wait until the connections to other brokers are closed."""
        self.kill()
        if self._remote is not None:
            await self._remote.close()


def _remote_ends(loop: asyncio.AbstractEventLoop, links: "ClusterLinks") -> "RemoteEnds":
    from .remote_ends import RemoteEnds  # not needed without a cluster

    return RemoteEnds(
        loop,
        leader_of=links.other_leader_of,
        link_to=links.link_to_broker,
        version=links.list_offsets_version,
    )

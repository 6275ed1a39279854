"""The group coordinator of one broker. It loads and unloads partitions of ``__consumer_offsets``.

Everything runs on the event loop. The rules of groups are in other files, without I/O; this file has the loading of a
partition, the expiry timer and the shutdown. Handlers use ``membership``, ``commits`` and ``administration``.
"""

import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from ....base.timers import Scheduler, TimerHandle
from ....protocol.errors import KafkaError
from ..append_bridge import AppendBridge
from ..internal_log import OffsetsLog
from ..load_counts import LoadCounts
from ..partition_reading import PartitionReading
from .group import Group
from .group_parts import GroupParts
from .replay import Replay
from .settings import GroupSettings

__all__ = ["GroupCoordinator"]

logger = logging.getLogger(__name__)


class GroupCoordinator:
    """Kafka's GroupCoordinator with its GroupMetadataManager.

    ``now_ms``: the wall clock. ``new_uuid`` makes the random part of member ids.
    """

    def __init__(
        self,
        settings: GroupSettings,
        log: OffsetsLog,
        scheduler: Scheduler,
        now_ms: Callable[[], int],
        new_uuid: Callable[[], str],
    ) -> None:
        self._settings = settings
        self._scheduler = scheduler
        self._now_ms = now_ms
        self._expiry_timer: TimerHandle | None = None
        self._appends = AppendBridge(log)
        self._reading = PartitionReading(log, now_ms)
        self._loads = LoadCounts(now_ms)
        parts = GroupParts(settings, self._appends, lambda: log.partition_count, scheduler, now_ms, new_uuid)
        self._rebalances = parts.rebalances
        self.registry = parts.registry
        self.membership = parts.membership
        self.commits = parts.commits
        self.administration = parts.administration

    def partition_for(self, group_id: str) -> int:
        """The partition of ``__consumer_offsets`` whose leader coordinates the group."""
        return self.registry.partition_for(group_id)

    # -- partitions come and go

    def load_partition(self, partition: int, coordinator_epoch: int) -> Coroutine[Any, Any, None]:
        """This broker leads the partition now. Returns a coroutine that reads its groups.

        From this call on, requests for these groups get COORDINATOR_LOAD_IN_PROGRESS. When reading fails, the coroutine
        raises KafkaError and requests get NOT_COORDINATOR: "nothing committed" would send consumers back to the start.
        After an ``unload_partition`` or a newer ``load_partition`` the coroutine ends without effect.
        """
        if self.registry.begin_loading(partition, coordinator_epoch):
            return self._load(partition, coordinator_epoch)
        logger.debug("not loading __consumer_offsets-%d in leader epoch %d", partition, coordinator_epoch)
        return _nothing_to_load()

    def unload_partition(self, partition: int, coordinator_epoch: int | None = None) -> int | None:
        """Another broker leads the partition now: forget its groups and answer their parked requests.

        ``coordinator_epoch`` is None when the topic was deleted. Returns the number of groups, None when this broker
        was not their coordinator.
        """
        was_owned = self.registry.owns(partition)
        groups = self.registry.release(partition, coordinator_epoch)
        if groups is None:
            logger.debug("not unloading __consumer_offsets-%d for old leader epoch %s", partition, coordinator_epoch)
            return None
        for group in groups:
            self._rebalances.mark_dead(group)
        self._appends.abandon(partition)
        logger.debug("unloaded %d groups of __consumer_offsets-%d", len(groups), partition)
        return len(groups) if was_owned else None

    async def _load(self, partition: int, epoch: int) -> None:
        with self._loads.loading():
            await self._read(partition, epoch)

    async def _read(self, partition: int, epoch: int) -> None:
        replay = Replay(partition)
        started_ms = self._now_ms()
        try:
            groups = await self._reading.groups_of(
                partition, replay, partial(self.registry.is_loading, partition, epoch)
            )
        except BaseException as error:
            if not self.registry.is_loading(partition, epoch) and isinstance(error, KafkaError):
                return  # the partition moved to another broker while it was read
            self.registry.give_up_loading(partition, epoch)
            raise
        if groups is None:
            return
        for group in self.registry.finish_loading(partition, groups):
            self._resume(group)
        self._loads.add(len(groups), replay.record_count)
        logger.debug(
            "loaded %d groups from %d records of __consumer_offsets-%d in leader epoch %d, %d ms",
            len(groups),
            replay.record_count,
            partition,
            epoch,
            self._now_ms() - started_ms,
        )

    def _resume(self, group: Group) -> None:
        if len(group.members) > self._settings.max_size:
            self._rebalances.prepare(group, f"it has more than group.max.size={self._settings.max_size} members")
        for member in group.members.values():
            self._rebalances.keep_alive(group, member)

    # -- start and stop

    def start(self) -> None:
        """Start to delete expired offsets periodically."""
        self._schedule_expiry()

    async def close(self) -> None:
        """Stop answering, cancel all timers, and wait for running appends."""
        self.kill()
        await self._appends.drain()

    def kill(self) -> None:
        """Stop answering and cancel all timers."""
        self.registry.is_active = False
        if self._expiry_timer is not None:
            self._expiry_timer.cancel()
        for group in self.registry.groups():
            self._rebalances.mark_dead(group)

    def _schedule_expiry(self) -> None:
        delay_s = self._settings.retention_check_interval_ms / 1000
        self._expiry_timer = self._scheduler.call_later(delay_s, self._expire)

    def _expire(self) -> None:
        self._schedule_expiry()
        self.administration.expire()


async def _nothing_to_load() -> None:
    """The partition is loaded or loading already, or its epoch is older than the known one."""

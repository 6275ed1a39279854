"""The group coordinator of one broker.

Everything runs on the event loop. The rules of groups are in other files, without I/O; this file has what happens when
a partition comes or goes, the expiry timer and the shutdown. Handlers use ``membership``, ``commits`` and
``administration``.
"""

import logging
from collections.abc import Callable

from ....base.timers import Scheduler, TimerHandle
from ..append_bridge import AppendBridge
from ..coordinator_partitions import CoordinatorPartitions
from ..internal_log import InternalLog
from .base import GroupBase
from .consumer.consumer_group import ConsumerGroup
from .consumer.consumer_groups import NO_TOPICS, ConsumerPorts
from .group import Group
from .group_parts import GroupParts
from .member import Member
from .rebalance import Grace, no_grace
from .rebalance_cause import RebalanceCause, RebalanceReason
from .replay import Replay
from .settings import GroupSettings
from .share.share_group import ShareGroup
from .share.share_groups import ShareGroups, SharePorts
from .share.share_offsets import ShareOffsets
from .timeline import EventKind

__all__ = ["GroupCoordinator"]

logger = logging.getLogger(__name__)


class GroupCoordinator:
    """Kafka's GroupCoordinator with its GroupMetadataManager.

    ``now_ms``: the wall clock. ``new_uuid`` makes the random part of member ids. ``shares``: None where share groups
    are not served.
    """

    def __init__(
        self,
        settings: GroupSettings,
        log: InternalLog,
        scheduler: Scheduler,
        now_ms: Callable[[], int],
        new_uuid: Callable[[], str],
        consumers: ConsumerPorts = NO_TOPICS,
        shares: SharePorts | None = None,
    ) -> None:
        self._settings = settings
        self._scheduler = scheduler
        self._now_ms = now_ms
        self._expiry_timer: TimerHandle | None = None
        self._appends = AppendBridge(log)
        parts = GroupParts(
            settings,
            self._appends,
            log,
            scheduler,
            now_ms,
            new_uuid,
            consumers,
            self._reload,
        )
        self._log = parts.log
        self._load_again: Callable[[int, int], None] | None = None
        parts.registry.on_removal(self._ended)
        self._rebalances = parts.rebalances
        self.rebalance_counts = parts.rebalances.counts
        self.registry = parts.registry
        self.partitions = CoordinatorPartitions(log, parts.registry.ownership, self, self._appends, now_ms)
        self.membership = parts.membership
        self.consumers = parts.consumers
        self.shares: ShareGroups | None = None
        self.share_offsets: ShareOffsets | None = None
        if shares is not None:
            self.shares = ShareGroups(parts.registry, parts.log, parts.turns, now_ms, shares, self._reload)
            self.share_offsets = ShareOffsets(self.shares, scheduler, shares)
        self.commits = parts.commits
        self.administration = parts.administration

    def partition_for(self, group_id: str) -> int:
        """The partition of ``__consumer_offsets`` whose leader coordinates the group."""
        return self.registry.partition_for(group_id)

    @property
    def completed_rebalances(self) -> int:
        """Since the start."""
        return self._rebalances.completed

    def now_s(self) -> float:
        """The time by which sessions end."""
        return self._scheduler.time()

    # -- a clock that tests move

    def give_grace(self, grace: Grace) -> None:
        """Ask ``grace`` from now on when a wait for members is over."""
        self._rebalances.grace = grace

    def end_grace(self, is_alive: Callable[[Member], bool]) -> None:
        """The clock does not move any more: begin all waits for members that are alive anew."""
        self._rebalances.grace = no_grace
        for group in self.registry.groups():
            if isinstance(group, Group):
                self._rebalances.begin_waits_anew(group, is_alive)

    async def settled(self) -> None:
        """Wait until no record is being written."""
        await self._appends.drain()

    # -- the groups of partitions (`KeptEntries`)

    @property
    def kind(self) -> str:
        return "groups"

    def new_replay(self, partition: int) -> Replay:
        if self.shares is not None:
            self.shares.knowledge.load_begins(partition, self.registry.ownership.epoch_of(partition))
        return Replay(partition, self._now_ms())

    def loaded(self, partition: int, entries: list[GroupBase]) -> None:
        for group in self.registry.finish_loading(partition, entries):
            if isinstance(group, Group):
                self._resume(group)
            elif isinstance(group, ConsumerGroup):
                self.consumers.loaded(group)
            elif isinstance(group, ShareGroup) and self.shares is not None:
                self.shares.loaded(group, partition)

    def unloaded(self, partition: int) -> int:
        self._log.begin_anew(partition)
        groups = self.registry.remove_partition(partition)
        for group in groups:
            group.bury(self._now_ms())
        return len(groups)

    def load_again_by(self, load: Callable[[int, int], None]) -> None:
        """Have ``load`` load a partition, given with its leader epoch, when its groups in memory cannot be used."""
        self._load_again = load

    def _reload(self, partition: int) -> None:
        """Memory is ahead of the log, because records were not written: forget the groups, and load them anew."""
        epoch = self.registry.ownership.epoch_of(partition)
        logger.warning("%s-%d is loaded anew in leader epoch %d", self.partitions.topic, partition, epoch)
        self.partitions.unload(partition, epoch)
        if self._load_again is not None:
            self._load_again(partition, epoch)

    def _ended(self, group: GroupBase) -> None:
        if isinstance(group, ConsumerGroup):
            self.consumers.ended(group)
        elif isinstance(group, ShareGroup) and self.shares is not None:
            self.shares.ended(group)

    def _resume(self, group: Group) -> None:
        if len(group.members) > self._settings.max_size:
            text = f"it has more than group.max.size={self._settings.max_size} members"
            self._rebalances.prepare(group, RebalanceCause(RebalanceReason.SIZE_LIMIT_LOWERED, text))
        for member in group.members.values():
            self._rebalances.keep_alive(group, member)
        if group.members:
            text = "this broker became the coordinator; earlier events are not known"
            group.timeline.note(EventKind.LOADED, text, group.generation_id, self._now_ms())

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
        self.registry.ownership.is_active = False
        if self._expiry_timer is not None:
            self._expiry_timer.cancel()
        for group in self.registry.groups():
            group.bury(self._now_ms())
            self._ended(group)

    def _schedule_expiry(self) -> None:
        delay_s = self._settings.retention_check_interval_ms / 1000
        self._expiry_timer = self._scheduler.call_later(delay_s, self._expire)

    def _expire(self) -> None:
        self._schedule_expiry()
        self.administration.expire()

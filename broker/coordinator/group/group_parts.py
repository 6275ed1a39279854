"""The parts of the group coordinator that do no I/O: all but loading, awaited appends and shutdown."""

from collections.abc import Callable

from ....base.timers import Scheduler
from ....protocol.records.compression import Codec
from ..internal_log import InternalLog, RecordSink
from .administration import Administration
from .commits import Commits
from .consumer.consumer_groups import ConsumerGroups, ConsumerPorts
from .group_log import GroupLog
from .joining import Joins
from .membership import Membership
from .migration.conversions import Conversions
from .migration.upgrades import Upgrades
from .modern.deletions import Deletions
from .modern.turns import Turns
from .offset_log import OffsetLog
from .rebalance import Rebalances
from .record_log import RecordLog
from .registry import GroupRegistry
from .settings import GroupSettings
from .syncing import Syncs

__all__ = ["GroupParts"]


class GroupParts:
    """Builds the parts and connects them.

    ``now_ms``: the wall clock, for stored timestamps. Sessions and delays use the scheduler's clock. ``reload`` loads
    a partition anew.
    """

    def __init__(
        self,
        settings: GroupSettings,
        sink: RecordSink,
        internal_log: InternalLog,
        scheduler: Scheduler,
        now_ms: Callable[[], int],
        new_uuid: Callable[[], str],
        consumers: ConsumerPorts,
        reload: Callable[[int], None],
    ) -> None:
        registry = GroupRegistry(lambda: internal_log.partition_count, settings.max_bytes, scheduler.time)
        log = RecordLog(
            sink,
            registry.partition_for,
            now_ms,
            Codec(settings.compression_codec),
            internal_log.refusal,
            internal_log.max_batch_bytes,
            internal_log.is_load_committed,
        )
        self.log = log
        self.turns = Turns(scheduler)
        group_log = GroupLog(log)
        offset_log = OffsetLog(log)
        rebalances = Rebalances(settings, scheduler, now_ms, group_log)
        joins = Joins(settings, rebalances, group_log, new_uuid)
        syncs = Syncs(rebalances, group_log, lambda size_bytes: registry.has_space_for(size_bytes, now_ms()))
        self.registry = registry
        self.rebalances = rebalances
        upgrades = Upgrades(self.turns, consumers.topics, log.begin_batch)
        conversions = Conversions(
            consumers.settings, settings.max_size, consumers.topics, rebalances, joins, upgrades, now_ms
        )
        self.consumers = ConsumerGroups(registry, log, self.turns, now_ms, new_uuid, consumers, reload, conversions)
        self.membership = Membership(settings, registry, rebalances, joins, syncs, offset_log, self.consumers, now_ms)
        self.commits = Commits(settings, registry, rebalances, offset_log, now_ms)
        self.administration = Administration(settings, registry, Deletions(registry, offset_log, reload), now_ms)

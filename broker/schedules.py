"""The work that a broker does at intervals, on its logs and its partitions."""

import asyncio

from ..config.config import Config
from ..replication.partition_set import PartitionSet
from ..replication.schedule import ReplicationSchedule
from ..replication.state_changes import StateChanges
from ..storage.log.log import Log
from ..storage.store.log_mover import threads_of
from ..storage.store.log_store import LogStore
from ..storage.store.store_schedule import StoreSchedule
from ..storage.workers.worker_pool import ClosablePool
from .environment import Environment

__all__ = ["Schedules"]


class Schedules:
    """To be made on the running loop. ``background``: the threads for retention, flushes and checkpoints."""

    def __init__(
        self,
        config: Config,
        environment: Environment,
        logs: LogStore,
        background: ClosablePool,
        partitions: PartitionSet,
        changes: StateChanges,
    ) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._config = config
        self._environment = environment
        self._partitions = partitions
        self.store = StoreSchedule(
            logs,
            loop,
            background,
            self._high_watermark_of,
            self._start_movers,
            environment.start_compaction,
            environment.timers_on(loop),
        )
        self.replication = ReplicationSchedule(
            loop,
            partitions,
            changes,
            checkpoint_interval_ms=config.int("replica.high.watermark.checkpoint.interval.ms"),
            replica_lag_time_max_ms=config.int("replica.lag.time.max.ms"),
        )

    def _start_movers(self) -> ClosablePool:
        return self._environment.start_pool(self._loop, threads_of(self._config), "pybroker-moves")

    def _high_watermark_of(self, log: Log) -> int:
        hosted = self._partitions.get(log.topic_partition)
        return log.log_start_offset if hosted is None else hosted.partition.high_watermark

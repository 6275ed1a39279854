"""The periodic tasks of replication: high watermark checkpoints, removing lagging followers from ISRs, retries after a
full disk."""

import asyncio
from collections.abc import Callable

from .partition_set import PartitionSet
from .state_changes import StateChanges

__all__ = ["ReplicationSchedule"]

_SPACE_RETRY_MS = 2_000


class ReplicationSchedule:
    """Made and used on the event loop.

    ``stop`` writes a last checkpoint if `start` was called. Before that, partitions do not have their roles, and the
    checkpoint of the last run is better. ``checkpoint_interval_ms`` is replica.high.watermark.checkpoint.interval.ms.
    ISRs are checked every half of replica.lag.time.max.ms, so that a follower is out after at most one and a half of
    it.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        partitions: PartitionSet,
        changes: StateChanges,
        *,
        checkpoint_interval_ms: int,
        replica_lag_time_max_ms: int,
    ) -> None:
        self._loop = loop
        self._partitions = partitions
        self._changes = changes
        self._checkpoint_interval_ms = checkpoint_interval_ms
        self._shrink_interval_ms = max(replica_lag_time_max_ms // 2, 1)
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._checkpoint: asyncio.Task[None] | None = None
        self._space_retry: asyncio.Task[None] | None = None
        self._started = False
        self._stopped = False

    def start(self) -> None:
        """Call this when the partitions that are led or followed here have their roles."""
        self._started = True
        self._repeat("checkpoint", self._checkpoint_interval_ms, self._start_checkpoint)
        self._repeat("shrink", self._shrink_interval_ms, self._partitions.shrink_isrs)
        self._repeat("space", _SPACE_RETRY_MS, self._start_space_retry)

    async def stop(self) -> None:
        self._cancel_timers()
        if self._checkpoint is not None:
            await self._checkpoint
        if self._space_retry is not None:
            await self._space_retry
        if self._started:
            await self._changes.checkpoint_high_watermarks()

    def kill(self) -> None:
        """Write nothing more."""
        self._cancel_timers()
        if self._checkpoint is not None:
            self._checkpoint.cancel()
        if self._space_retry is not None:
            self._space_retry.cancel()

    def _cancel_timers(self) -> None:
        self._stopped = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _start_checkpoint(self) -> None:
        if self._checkpoint is None or self._checkpoint.done():  # a slow disk gets one at a time
            self._checkpoint = self._loop.create_task(self._changes.checkpoint_high_watermarks())

    def _start_space_retry(self) -> None:
        if self._space_retry is None or self._space_retry.done():
            self._space_retry = self._loop.create_task(self._changes.retry_for_space())

    def _repeat(self, name: str, interval_ms: int, step: Callable[[], None]) -> None:
        def run() -> None:
            if not self._stopped:
                self._repeat(name, interval_ms, step)
                step()

        self._timers[name] = self._loop.call_later(interval_ms / 1000, run)

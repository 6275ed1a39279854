"""High watermarks are written and ISRs checked periodically, in virtual time."""

from collections.abc import Coroutine
from typing import Any

import pytest
from pybroker.replication.schedule import ReplicationSchedule
from support.time.virtual_timers import VirtualTimers


class DoneTask:
    def done(self) -> bool:
        return True

    def cancel(self) -> None:
        pass


class Loop(VirtualTimers):
    """A pool whose tasks are done as soon as they are created."""

    def create_task(self, work: Coroutine[Any, Any, None]) -> DoneTask:
        with pytest.raises(StopIteration):
            work.send(None)
        return DoneTask()


class Counted:
    """Stands for the partitions and the state changes, and counts the periodic checks."""

    def __init__(self) -> None:
        self.checkpoints = 0
        self.shrinks = 0

    async def checkpoint_high_watermarks(self) -> None:
        self.checkpoints += 1

    async def retry_for_space(self) -> None:
        pass

    def shrink_isrs(self) -> None:
        self.shrinks += 1


def test_high_watermarks_and_isrs_are_checked_at_the_configured_intervals() -> None:
    """High watermarks every replica.high.watermark.checkpoint.interval.ms, ISRs twice in replica.lag.time.max.ms."""
    loop: Any = Loop()
    counted: Any = Counted()
    schedule = ReplicationSchedule(loop, counted, counted, checkpoint_interval_ms=5000, replica_lag_time_max_ms=30_000)
    loop.advance(60_000)
    assert (counted.checkpoints, counted.shrinks) == (0, 0)
    schedule.start()
    counts = []
    for milliseconds in (4999, 1, 5000, 50_000):
        loop.advance(milliseconds)
        counts.append((counted.checkpoints, counted.shrinks))
    assert counts == [(0, 0), (1, 0), (2, 0), (12, 4)]
    schedule.kill()
    loop.advance(100_000)
    assert (counted.checkpoints, counted.shrinks) == (12, 4)

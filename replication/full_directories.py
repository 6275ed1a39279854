"""The full log directories of this broker, and which of their replicas make way for replicas on other brokers.

Why: a leader whose disk is full refuses records, and a follower that cannot write holds back the high watermark.
How: a replica makes way when its directory is full and another live broker is in the ISR. The controller asks for it
with LeaderAndIsr; the error KAFKA_STORAGE_ERROR makes it elect another leader and shrink the ISR, as for a failed
directory. `on_change` makes it ask, also when there is space again; it sends the notification that Kafka uses.
Limits: without another replica in the ISR nothing changes; the leader refuses appends until there is space.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..base.topic_partition import TopicPartition
from ..storage.store.log_store import LogStore
from .partition.hosted_partition import HostedPartition
from .partition_set import PartitionSet

__all__ = ["FullDirectories"]

logger = logging.getLogger(__name__)

_FIRST_WAIT_MS = 2_000
_LONGEST_WAIT_MS = 300_000
_SOON_MS = 60_000
"""A directory that is full again within this time, or its last wait if that is longer, waits twice as long."""
_FIRST_REPEAT_MS = 4_000
_LONGEST_REPEAT_MS = 60_000


@dataclass(slots=True)
class _Fullness:
    """``wait_ms``: how long the directory counts as full at least. ``until_ms`` is when it ended; None: it has not."""

    since_ms: int
    wait_ms: int = _FIRST_WAIT_MS
    until_ms: int | None = None

    def is_recent(self, now_ms: int) -> bool:
        """Whether it lasts, or has ended a short while ago."""
        return self.until_ms is None or now_ms - self.until_ms < max(_SOON_MS, self.wait_ms)


class FullDirectories:
    """Used on the event loop. ``isr_of``: the ISR by the last metadata, for partitions that this broker does not lead.

    ``on_change`` is called when the controller must ask for the roles of this broker's replicas again.
    """

    def __init__(
        self,
        broker_id: int,
        partitions: PartitionSet,
        logs: LogStore,
        *,
        is_alive: Callable[[int], bool],
        isr_of: Callable[[TopicPartition], Iterable[int]],
        run_in_pool: Callable[[Callable[[], Any]], Awaitable[Any]],
    ) -> None:
        self._broker_id = broker_id
        self._partitions = partitions
        self._logs = logs
        self._is_alive = is_alive
        self._isr_of = isr_of
        self._run_in_pool = run_in_pool
        self.on_change: Callable[[], None] = lambda: None
        self._fullness: dict[str, _Fullness] = {}
        self._making_way: set[TopicPartition] = set()
        """The replicas for which the last LeaderAndIsr was answered with KAFKA_STORAGE_ERROR."""
        self._next_change_ms = 0
        self._repeat_ms = _FIRST_REPEAT_MS
        logs.directories.on_full = self.became_full
        for directory in logs.directories.online():
            if directory.is_full:  # since the logs were loaded
                self._begin(directory.path, _FIRST_WAIT_MS)

    # -- answers to the controller

    def makes_way(self, topic_partition: TopicPartition, isr: Iterable[int]) -> bool:
        """Whether the replica here is in a full directory and another live broker is in ``isr``."""
        path = self._logs.directory_of(topic_partition) if self._fullness else None
        return path is not None and self._is_full(path) and self.others_in(isr)

    def others_in(self, isr: Iterable[int]) -> bool:
        """Whether another live broker is in ``isr``."""
        return any(broker_id != self._broker_id and self._is_alive(broker_id) for broker_id in isr)

    def answered(self, topic_partition: TopicPartition, *, makes_way: bool) -> None:
        """Note whether the last LeaderAndIsr was answered with KAFKA_STORAGE_ERROR because the directory is full."""
        if makes_way:
            self._making_way.add(topic_partition)
        else:
            self._making_way.discard(topic_partition)

    def forget(self, topic_partition: TopicPartition) -> None:
        """The replica is deleted, or its directory failed."""
        self._making_way.discard(topic_partition)

    # -- changes

    def became_full(self, path: str) -> None:
        """A write to the log directory found no space."""
        now_ms = self._partitions.monotonic_ms()
        before = self._fullness.get(path)
        wait_ms = _FIRST_WAIT_MS
        if before is not None and before.until_ms is None:
            return
        if before is not None and before.is_recent(now_ms):
            wait_ms = min(before.wait_ms * 2, _LONGEST_WAIT_MS)
        self._begin(path, wait_ms)
        self._changed()

    def _begin(self, path: str, wait_ms: int) -> None:
        self._fullness[path] = _Fullness(self._partitions.monotonic_ms(), wait_ms)
        logger.error(
            "no space left in log directory %s with %d logs: until there is space, partitions with another in-sync "
            "replica are led by it, and the others take no records",
            path,
            self._logs.directories.logs_in(path),
        )

    async def look_for_space(self) -> None:
        """Look which full directories have space again, and whether replicas begin or cease to make way."""
        if not self._fullness and not self._making_way:
            return
        for path, fullness in tuple(self._fullness.items()):
            now_ms = self._partitions.monotonic_ms()
            if not fullness.is_recent(now_ms):
                del self._fullness[path]
            elif fullness.until_ms is None and now_ms - fullness.since_ms >= fullness.wait_ms:
                await self._look_into(path, fullness)
        self._compare()

    async def _look_into(self, path: str, fullness: _Fullness) -> None:
        segment_bytes = self._logs.config.int("log.segment.bytes")
        if await self._run_in_pool(lambda: self._logs.directories.has_space(path, segment_bytes)):
            fullness.until_ms = self._partitions.monotonic_ms()
            self._logs.directories.space_again(path)
            logger.info("log directory %s has space again", path)
            self._next_change_ms = 0

    def _changed(self) -> None:
        self._next_change_ms, self._repeat_ms = 0, _FIRST_REPEAT_MS
        self._compare()

    def _compare(self) -> None:
        """Have the controller ask again if its answers are outdated; not too often, because it may be slow or away."""
        wanted = {hosted.topic_partition for hosted in self._partitions if self._should_make_way(hosted)}
        if any(fullness.until_ms is None for fullness in self._fullness.values()):
            wanted |= {each for each in self._making_way if self._partitions.get(each) is None}
        now_ms = self._partitions.monotonic_ms()
        if wanted == self._making_way:
            self._repeat_ms = _FIRST_REPEAT_MS
        elif now_ms >= self._next_change_ms:
            self._next_change_ms = now_ms + self._repeat_ms
            self._repeat_ms = min(self._repeat_ms * 2, _LONGEST_REPEAT_MS)
            logger.warning(
                "asking the controller for other roles: replicas in full log directories: %d; replicas that can be "
                "written again: %d",
                len(wanted - self._making_way),
                len(self._making_way - wanted),
            )
            self.on_change()

    def _should_make_way(self, hosted: HostedPartition) -> bool:
        leader = hosted.partition.leader
        isr = leader.isr.members if leader is not None else self._isr_of(hosted.topic_partition)
        return self.makes_way(hosted.topic_partition, isr)

    def _is_full(self, path: str) -> bool:
        fullness = self._fullness.get(path)
        return fullness is not None and fullness.until_ms is None

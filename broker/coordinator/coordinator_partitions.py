"""The partitions whose coordinator this broker is: loaded when it is elected, unloaded when another broker is."""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from ...protocol.errors import KafkaError
from .append_bridge import AppendBridge
from .internal_log import InternalLog
from .load_counts import LoadCounts
from .ownership import PartitionOwnership
from .partition_reading import PartitionReading, Replaying

__all__ = ["CoordinatorPartitions", "KeptEntries"]

logger = logging.getLogger(__name__)

Entry = TypeVar("Entry")


class KeptEntries(Protocol[Entry]):
    """The entries of a coordinator, such as groups, by the partition that stores them."""

    @property
    def kind(self) -> str:
        """The entries' name in log lines, such as "groups"."""
        ...

    def new_replay(self, partition: int) -> Replaying[Entry]: ...

    def loaded(self, partition: int, entries: list[Entry]) -> None:
        """The partition was read: keep its entries and own it."""
        ...

    def unloaded(self, partition: int) -> int:
        """The partition was released: forget its entries and answer their waiting requests. Returns their number."""
        ...


class CoordinatorPartitions(Generic[Entry]):
    """``appends``: the running appends of the coordinator. ``now_ms``: the wall clock.

    ``reloads``: a partition is read again in each leader epoch, also when this broker stays its leader, because it is
    unknown whether records that it was appending are in the log.
    """

    def __init__(
        self,
        log: InternalLog,
        ownership: PartitionOwnership,
        kept: KeptEntries[Entry],
        appends: AppendBridge,
        now_ms: Callable[[], int],
        *,
        reloads: bool = False,
    ) -> None:
        self.topic = log.topic
        self._reloads = reloads
        self._ownership = ownership
        self._kept = kept
        self._appends = appends
        self._now_ms = now_ms
        self._reading = PartitionReading(log)
        self._loads = LoadCounts(log.topic, kept.kind, now_ms)

    @property
    def kind(self) -> str:
        return self._kept.kind

    def load(self, partition: int, epoch: int) -> Awaitable[None]:
        """This broker leads the partition now. Awaiting the result reads its entries.

        From this call on, its requests get COORDINATOR_LOAD_IN_PROGRESS. When reading fails, awaiting it raises
        KafkaError and requests get NOT_COORDINATOR: "nothing committed" would send consumers back to the start. After
        an ``unload`` or a newer ``load`` it ends without effect.
        """
        if self._reloads and self._ownership.owns(partition) and epoch > self._ownership.epoch_of(partition):
            self.unload(partition, epoch)
        if self._ownership.begin_loading(partition, epoch):
            return _Loading(partial(self._load, partition, epoch))
        logger.debug("not loading %s-%d in leader epoch %d", self.topic, partition, epoch)
        return _Loading(_nothing_to_load)

    def unload(self, partition: int, epoch: int | None = None) -> int | None:
        """Another broker leads the partition now: forget its entries and answer their waiting requests.

        ``epoch`` None: the topic was deleted. Returns the number of entries, None when this broker was not their
        coordinator.
        """
        was_owned = self._ownership.owns(partition)
        if not self._ownership.release(partition, epoch):
            logger.debug("not unloading %s-%d for old leader epoch %s", self.topic, partition, epoch)
            return None
        count = self._kept.unloaded(partition)
        self._appends.abandon(partition)
        logger.debug("unloaded %d %s of %s-%d", count, self.kind, self.topic, partition)
        return count if was_owned else None

    async def _load(self, partition: int, epoch: int) -> None:
        with self._loads.loading():
            await self._read(partition, epoch)

    async def _read(self, partition: int, epoch: int) -> None:
        replay = self._kept.new_replay(partition)
        started_ms = self._now_ms()
        try:
            entries = await self._reading.entries_of(
                partition, replay, partial(self._ownership.is_loading, partition, epoch)
            )
        except BaseException as error:
            if not self._ownership.is_loading(partition, epoch) and isinstance(error, KafkaError):
                return  # the partition moved to another broker while it was read
            self._ownership.give_up_loading(partition, epoch)
            raise
        if entries is None:
            return
        self._kept.loaded(partition, entries)
        self._loads.add(len(entries), replay.record_count)
        logger.debug(
            "loaded %d %s from %d records of %s-%d in leader epoch %d, %d ms",
            len(entries),
            self.kind,
            replay.record_count,
            self.topic,
            partition,
            epoch,
            self._now_ms() - started_ms,
        )


class _Loading:
    """Awaiting it runs a coroutine. Unlike a coroutine it may be dropped before it begins, as a kill does."""

    def __init__(self, begin: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._begin = begin

    def __await__(self) -> Generator[Any, None, None]:
        return self._begin().__await__()


async def _nothing_to_load() -> None:
    """The partition is loaded or loading already, or its epoch is older than the known one."""

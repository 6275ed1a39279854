"""The part of `Broker` with which tests look into a running broker and wait for events in it."""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ....base.topic_partition import TopicPartition
from ....config.config import Config
from ...apis.broker_parts import BrokerParts
from ...clock.clocks import TestClock
from ...faults.faults import Faults
from ...faults.words import MAX_INT64, partition_word, seconds, shown, text_word, whole_number
from .data_copies import DataCopies, Snapshot, empty
from .overview import group_lines, lag_of_group, topic_lines
from .record_parts import headers_of
from .request_ring import RequestRing
from .stored_record import StoredRecord
from .waiting import wait_assigned, wait_committed, wait_records

__all__ = ["Inspection"]

Awaited = Coroutine[Any, Any, None]
Result = TypeVar("Result")


class Inspection:
    """Await the results on the broker's loop. All methods raise RuntimeError while the broker does not run.

    The methods see the topics and groups of this broker only. A wait ends with a TimeoutError that says what was there,
    and with an ActError when the broker ends meanwhile.
    """

    clock: TestClock
    faults: Faults
    _ring: RequestRing | None = None
    _copies: DataCopies | None = None

    @property
    def _parts(self) -> BrokerParts:
        raise NotImplementedError

    @property
    def _has_own_directory(self) -> bool:
        raise NotImplementedError

    @property
    def config(self) -> Config:
        """The settings of the broker."""
        raise NotImplementedError

    async def start(self) -> None:
        """Start the broker."""
        raise NotImplementedError

    async def stop(self) -> None:
        """Stop the broker."""
        raise NotImplementedError

    def _until_end(self, work: Coroutine[Any, Any, Result]) -> Coroutine[Any, Any, Result]:
        """The result of ``work``. Raises ActError when the broker ends meanwhile."""
        raise NotImplementedError

    # -- topics and records

    def topics(self) -> list[str]:
        """The names of all topics that are not internal."""
        return sorted(name for name in self._parts.cache.topics if not name.startswith("__"))

    def create_topic(
        self, topic: str, partitions: int | None = None, settings: Mapping[str, str | int | float] | None = None
    ) -> Awaited:
        """Create a topic, and return when it has leaders. Raises KafkaError."""
        from .appending import create_topic

        return self._until_end(create_topic(self._parts, topic, partitions, settings or {}))

    def records(
        self, topic: str, partition: int | None = None, *, committed_only: bool = True
    ) -> Coroutine[Any, Any, list[StoredRecord]]:
        """Read all records of a topic from the log, by partition and offset. Raises LookupError without such a topic.

        Without ``committed_only`` also those of open and aborted transactions.
        """
        from .topic_logs import read_topic

        text_word(topic, "topic")
        partition_word(partition)
        return self._until_end(read_topic(self._parts, topic, partition, committed_only=committed_only))

    def append(
        self,
        topic: str,
        *values: bytes | str | None,
        key: bytes | str | None = None,
        partition: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
        timestamp_ms: int | None = None,
    ) -> Coroutine[Any, Any, list[StoredRecord]]:
        """Append records to a topic; return them with their offsets. A missing topic is created if the broker would
        create it for a producer (``auto.create.topics.enable``).

        A text is stored in UTF-8, None is a tombstone. Records with a key go to the partition that Kafka's Java client
        chooses, others to the partitions in turn. Raises KafkaError, and LookupError for a missing topic or partition.
        """
        from .appending import append_values

        text_word(topic, "topic")
        partition_word(partition)
        if timestamp_ms is not None:
            whole_number(timestamp_ms, "timestamp_ms", 0, MAX_INT64)
        now_ms = self.clock.clock_ms() if timestamp_ms is None else timestamp_ms
        return self._until_end(
            append_values(self._parts, topic, values, partition, now_ms, key=key, headers=headers_of(headers))
        )

    def load(self, file: str | Path, topic: str | None = None) -> Coroutine[Any, Any, int]:
        """Append the records of a file as ``pybroker consume -o jsonl`` and ``dump`` write it; return their number.

        Each record goes to its own topic and partition, or to ``topic``. A missing topic is created as by `append`.
        Raises ValueError for a line that is no record, or has a key of another name.
        """
        from .record_files import load_file

        if topic is not None:
            text_word(topic, "topic")
        return self._until_end(load_file(self._parts, Path(file), topic, self.clock.clock_ms()))

    def dump(self, file: str | Path, *topics: str, committed_only: bool = True) -> Coroutine[Any, Any, int]:
        """Write the records of these topics to a file, a line of JSON each; without topics, of all that are not
        internal. Return their number."""
        from .record_files import dump_topics

        return self._until_end(dump_topics(self._parts, Path(file), topics, committed_only=committed_only))

    # -- waiting

    def wait_records(
        self, topic: str, count: int, *, timeout: float = 10.0, committed_only: bool = True
    ) -> Coroutine[Any, Any, list[StoredRecord]]:
        """Return the topic's records as soon as there are ``count`` or more. ``timeout``: seconds."""
        text_word(topic, "topic")
        whole_number(count, "count", 0)
        seconds(timeout, "timeout")
        return self._until_end(wait_records(self._parts, topic, count, committed_only=committed_only, limit_s=timeout))

    def wait_assigned(self, group: str, members: int = 1, *, timeout: float = 10.0) -> Awaited:
        """Wait until the group has so many members or more, and the assignment of its leader is stored."""
        text_word(group, "group", may_be_empty=True)
        whole_number(members, "members", 0)
        seconds(timeout, "timeout")
        return self._until_end(wait_assigned(self._parts, group, members, timeout))

    def wait_committed(self, group: str, topic: str, partition: int, offset: int, *, timeout: float = 10.0) -> Awaited:
        """Wait until the group has committed this offset of a partition, or a later one."""
        text_word(group, "group", may_be_empty=True)
        text_word(topic, "topic")
        whole_number(partition, "partition", 0)
        whole_number(offset, "offset", 0, MAX_INT64)
        seconds(timeout, "timeout")
        return self._until_end(wait_committed(self._parts, group, TopicPartition(topic, partition), offset, timeout))

    def lag(self, group: str, topic: str | None = None) -> int:
        """How many records the group has not read, by its committed offsets; of all its topics or one.

        Raises LookupError when the group has committed nothing.
        """
        text_word(group, "group", may_be_empty=True)
        return lag_of_group(self._parts, group, topic)

    # -- the data as a whole

    async def snapshot(self) -> Snapshot:
        """Stop the broker, copy its data, and start it again. The copy is kept until the broker is closed."""
        directories = self._own_data()
        if self._copies is None:
            self._copies = DataCopies()
        await self.stop()
        try:
            return await asyncio.to_thread(self._copies.take, directories)
        finally:
            await self.start()

    async def restore(self, snapshot: Snapshot) -> None:
        """Stop the broker, put the data of a snapshot in place of its own, and start it again on the same port."""
        if not isinstance(snapshot, Snapshot):
            raise ValueError(f"restore needs what snapshot() returned, not {shown(snapshot)}")
        directories = self._own_data()
        if self._copies is None:
            raise ValueError(f"{snapshot!r} is not a copy of this broker")
        await self.stop()
        try:
            await asyncio.to_thread(self._copies.put_back, snapshot, directories)
        finally:
            await self.start()

    async def reset(self) -> None:
        """Stop the broker, remove its data and faults, and start it as new on the same port. Its clock stays.

        Raises RuntimeError for a broker whose directory the program has named: such data is kept.
        """
        directories = self._own_data()
        if not self._has_own_directory:
            raise RuntimeError("reset() removes all data, so it needs a broker with a temporary directory")
        await self.stop()
        try:
            for directory in directories:
                await asyncio.to_thread(empty, directory)
        finally:
            await self.start()
        self.faults.clear()
        if self._ring is not None:
            self._ring.clear()

    def _own_data(self) -> tuple[str, ...]:
        config = self.config
        if not self._parts.config.uses_embedded_store:
            raise RuntimeError("the broker's metadata is in ZooKeeper, so its directories are not all of its data")
        place = config.metadata_store_path.resolve()
        if not any(place.is_relative_to(Path(directory).resolve()) for directory in config.log_dirs):
            raise RuntimeError(f"metadata.store.path={place} is outside the log directories, so it would not be copied")
        return config.log_dirs

    # -- what a report on a failed test shows

    def topic_lines(self) -> list[str]:
        """A line for each partition with its offsets."""
        return topic_lines(self._parts)

    def group_lines(self) -> list[str]:
        """The groups with members, lag of each partition, and last events."""
        return group_lines(self._parts)

    def request_lines(self, since_ms: int = 0) -> list[str]:
        """The last requests, the oldest first; none unless the broker was made with ``keep_requests``."""
        return [] if self._ring is None else self._ring.lines(since_ms)

"""The helpers of `ClusterInspection` for code without an event loop."""

from collections.abc import Iterable
from pathlib import Path

from ..broker.library.inspection.stored_record import StoredRecord
from ..broker.library.loop_thread import LoopThread
from .aio_helpers import AioHelpers
from .cluster_inspection import ClusterInspection

__all__ = ["ClusterHelpers"]


class ClusterHelpers:
    """Methods block until they are done. They have the meaning of those of a broker."""

    def _inside(self, name: str) -> tuple[ClusterInspection, LoopThread]:
        """``name``: of the helper. Raises RuntimeError when the brokers are not in this process."""
        raise NotImplementedError

    @property
    def aio(self) -> AioHelpers:
        """The helpers as coroutines of asyncio or trio."""
        return AioHelpers(*self._inside("aio"))

    def topics(self) -> list[str]:
        """The names of all topics that are not internal."""
        inside, thread = self._inside("topics")
        return thread.call(inside.topics())

    def records(self, topic: str, partition: int | None = None, *, committed_only: bool = True) -> list[StoredRecord]:
        """All records of a topic, from the leaders, by partition and offset."""
        inside, thread = self._inside("records")
        return thread.call(inside.records(topic, partition, committed_only=committed_only))

    def append(
        self,
        topic: str,
        *values: bytes | str | None,
        key: bytes | str | None = None,
        partition: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
        timestamp_ms: int | None = None,
    ) -> list[StoredRecord]:
        """Append records to a topic; return them with their offsets."""
        inside, thread = self._inside("append")
        appending = inside.append(
            topic, *values, key=key, partition=partition, headers=headers, timestamp_ms=timestamp_ms
        )
        return thread.call(appending)

    def load(self, file: str | Path, topic: str | None = None) -> int:
        """Append the records of a file; return their number."""
        inside, thread = self._inside("load")
        return thread.call(inside.load(file, topic))

    def dump(self, file: str | Path, *topics: str, committed_only: bool = True) -> int:
        """Write the records of topics to a file; return their number."""
        inside, thread = self._inside("dump")
        return thread.call(inside.dump(file, *topics, committed_only=committed_only))

    def wait_records(
        self, topic: str, count: int, *, timeout: float = 10.0, committed_only: bool = True
    ) -> list[StoredRecord]:
        """Return the topic's records as soon as there are so many. Raises TimeoutError."""
        inside, thread = self._inside("wait_records")
        return thread.call(inside.wait_records(topic, count, timeout=timeout, committed_only=committed_only))

    def wait_assigned(self, group: str, members: int = 1, *, timeout: float = 10.0) -> None:
        """Wait until the group has so many members, which have partitions. Raises TimeoutError."""
        inside, thread = self._inside("wait_assigned")
        thread.call(inside.wait_assigned(group, members, timeout=timeout))

    def wait_committed(self, group: str, topic: str, partition: int, offset: int, *, timeout: float = 10.0) -> None:
        """Wait until the group has committed this offset, or a later one. Raises TimeoutError."""
        inside, thread = self._inside("wait_committed")
        thread.call(inside.wait_committed(group, topic, partition, offset, timeout=timeout))

    def lag(self, group: str, topic: str | None = None) -> int:
        """How many records the group has not read, of all its topics or one. Raises LookupError."""
        inside, thread = self._inside("lag")
        return thread.call(inside.lag(group, topic))

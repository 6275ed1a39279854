"""The helpers of a broker on another thread, for coroutines of asyncio or trio."""

from collections.abc import Awaitable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..broker.library.inspection.inspection import Inspection
from ..broker.library.inspection.stored_record import StoredRecord
from ..broker.library.loop_thread import LoopThread
from .awaited_future import result_of

if TYPE_CHECKING:
    from .cluster_inspection import ClusterInspection  # not needed without a cluster

__all__ = ["AioHelpers"]

Result = TypeVar("Result")


class AioHelpers:
    """The helpers of a broker as coroutines. The caller's event loop goes on while they wait."""

    def __init__(self, broker: "Inspection | ClusterInspection", thread: LoopThread) -> None:
        self._broker = broker
        self._thread = thread

    def create_topic(self, topic: str, partitions: int | None = None) -> Awaitable[None]:
        """As `Inspection.create_topic`."""
        return self._there(self._broker.create_topic(topic, partitions))

    def records(self, topic: str, partition: int | None = None) -> Awaitable[list[StoredRecord]]:
        """As `Inspection.records`."""
        return self._there(self._broker.records(topic, partition))

    def append(
        self, topic: str, *values: bytes | str | None, key: bytes | str | None = None, partition: int | None = None
    ) -> Awaitable[list[StoredRecord]]:
        """As `Inspection.append`."""
        return self._there(self._broker.append(topic, *values, key=key, partition=partition))

    def load(self, file: str | Path, topic: str | None = None) -> Awaitable[int]:
        """As `Inspection.load`."""
        return self._there(self._broker.load(file, topic))

    def wait_records(self, topic: str, count: int, *, timeout: float = 10.0) -> Awaitable[list[StoredRecord]]:
        """As `Inspection.wait_records`."""
        return self._there(self._broker.wait_records(topic, count, timeout=timeout))

    def wait_assigned(self, group: str, members: int = 1, *, timeout: float = 10.0) -> Awaitable[None]:
        """As `Inspection.wait_assigned`."""
        return self._there(self._broker.wait_assigned(group, members, timeout=timeout))

    def wait_committed(
        self, group: str, topic: str, partition: int, offset: int, *, timeout: float = 10.0
    ) -> Awaitable[None]:
        """As `Inspection.wait_committed`."""
        return self._there(self._broker.wait_committed(group, topic, partition, offset, timeout=timeout))

    def _there(self, work: Coroutine[Any, Any, Result]) -> Awaitable[Result]:
        return result_of(self._thread.begin(work))

"""The part of `BlockingBroker` with which tests look into a running broker and wait for events in it."""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ..loop_thread import LoopThread
from .data_copies import Snapshot
from .inspection import Inspection
from .stored_record import StoredRecord

__all__ = ["BlockingInspection"]

Result = TypeVar("Result")


class BlockingInspection:
    """The methods of `Inspection`, which may be called from any thread and return when they are done."""

    _broker: Inspection
    _thread: LoopThread

    # -- topics and records

    def topics(self) -> list[str]:
        """The names of all topics that are not internal."""
        return self._on_loop(self._broker.topics)

    def create_topic(
        self, topic: str, partitions: int | None = None, settings: Mapping[str, str | int | float] | None = None
    ) -> None:
        """As `Inspection.create_topic`."""
        self._thread.call(self._broker.create_topic(topic, partitions, settings))

    def records(self, topic: str, partition: int | None = None, *, committed_only: bool = True) -> list[StoredRecord]:
        """As `Inspection.records`."""
        return self._thread.call(self._broker.records(topic, partition, committed_only=committed_only))

    def append(
        self,
        topic: str,
        *values: bytes | str | None,
        key: bytes | str | None = None,
        partition: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
        timestamp_ms: int | None = None,
    ) -> list[StoredRecord]:
        """As `Inspection.append`."""
        return self._thread.call(
            self._broker.append(
                topic, *values, key=key, partition=partition, headers=headers, timestamp_ms=timestamp_ms
            )
        )

    def load(self, file: str | Path, topic: str | None = None) -> int:
        """As `Inspection.load`."""
        return self._thread.call(self._broker.load(file, topic))

    def dump(self, file: str | Path, *topics: str, committed_only: bool = True) -> int:
        """As `Inspection.dump`."""
        return self._thread.call(self._broker.dump(file, *topics, committed_only=committed_only))

    # -- waiting

    def wait_records(
        self, topic: str, count: int, *, timeout: float = 10.0, committed_only: bool = True
    ) -> list[StoredRecord]:
        """As `Inspection.wait_records`."""
        return self._thread.call(
            self._broker.wait_records(topic, count, timeout=timeout, committed_only=committed_only)
        )

    def wait_assigned(self, group: str, members: int = 1, *, timeout: float = 10.0) -> None:
        """As `Inspection.wait_assigned`."""
        self._thread.call(self._broker.wait_assigned(group, members, timeout=timeout))

    def wait_committed(self, group: str, topic: str, partition: int, offset: int, *, timeout: float = 10.0) -> None:
        """As `Inspection.wait_committed`."""
        self._thread.call(self._broker.wait_committed(group, topic, partition, offset, timeout=timeout))

    def lag(self, group: str, topic: str | None = None) -> int:
        """As `Inspection.lag`."""
        return self._on_loop(lambda: self._broker.lag(group, topic))

    # -- the data as a whole

    def snapshot(self) -> Snapshot:
        """As `Inspection.snapshot`."""
        return self._thread.call(self._broker.snapshot())

    def restore(self, snapshot: Snapshot) -> None:
        """As `Inspection.restore`."""
        self._thread.call(self._broker.restore(snapshot))

    def reset(self) -> None:
        """As `Inspection.reset`."""
        self._thread.call(self._broker.reset())

    # -- what a report on a failed test shows

    def topic_lines(self) -> list[str]:
        """A line for each partition with its offsets."""
        return self._on_loop(self._broker.topic_lines)

    def group_lines(self) -> list[str]:
        """The groups with members, lag of each partition, and last events."""
        return self._on_loop(self._broker.group_lines)

    def request_lines(self, since_ms: int = 0) -> list[str]:
        """The last requests, the oldest first; none unless the broker was made with ``keep_requests``."""
        return self._broker.request_lines(since_ms)

    def _on_loop(self, question: Callable[[], Result]) -> Result:
        """Ask on the broker's loop, because only the loop may read its state."""

        async def ask() -> Result:
            return question()

        asked: Coroutine[Any, Any, Result] = ask()
        return self._thread.call(asked)

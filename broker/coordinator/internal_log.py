"""Interfaces that the group coordinator needs from the rest of the broker: timers and ``__consumer_offsets``."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

from ...protocol.errors import KafkaError
from ...storage.producers.verification_guards import VerificationGuard

__all__ = ["AppendDone", "AppendOutcome", "OffsetsLog", "RecordSink"]


class OffsetsLog(Protocol):
    """The partitions of ``__consumer_offsets`` on this broker."""

    @property
    def partition_count(self) -> int:
        """Partitions of the topic; before it is created, ``offsets.topic.num.partitions``."""
        ...

    def append(
        self, partition: int, records: bytes, *, awaits_replicas: bool, guard: VerificationGuard | None = None
    ) -> Awaitable[int]:
        """Write a batch and wait until it is committed (``offsets.commit.required.acks``). Returns its base offset.

        Without ``awaits_replicas`` the batch is written to this broker only, even when too few replicas are in sync.
        Batches of one partition are written in the order of the calls. ``guard``: proof that the coordinator verified
        the batch's transaction. Raises KafkaError when the batch was not written.
        """
        ...

    def read(self, partition: int) -> AsyncIterator[memoryview]:
        """Whole batches from the log start offset to the log end offset, including batches appended meanwhile."""
        ...

    def is_leader(self, partition: int) -> bool:
        """Whether this broker leads the partition now."""
        ...


AppendOutcome = int | KafkaError
"""The base offset, or why nothing was written."""

AppendDone = Callable[[AppendOutcome], None]


class RecordSink(Protocol):
    """The ``append`` of :class:`OffsetsLog` with a callback, which may be called before ``append`` returns."""

    def append(
        self,
        partition: int,
        records: bytes,
        done: AppendDone,
        *,
        awaits_replicas: bool = True,
        guard: VerificationGuard | None = None,
    ) -> None: ...

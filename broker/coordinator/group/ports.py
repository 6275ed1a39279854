"""What the group coordinator needs from the rest of the broker."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol

from ....protocol.errors import KafkaError
from ....storage.producers.transaction_guards import TransactionGuard
from .member import Timer

__all__ = ["AppendDone", "AppendOutcome", "OffsetsLog", "RecordSink", "Scheduler"]


class Scheduler(Protocol):
    """Timers as an asyncio loop has them; ``time()`` is the clock, in seconds, that ``call_later`` goes by."""

    def time(self) -> float: ...

    def call_later(self, delay: float, callback: Callable[..., Any], /, *args: Any) -> Timer: ...


class OffsetsLog(Protocol):
    """The partitions of ``__consumer_offsets`` on this broker."""

    @property
    def partition_count(self) -> int:
        """Partitions of the topic, or as many as it will get (``offsets.topic.num.partitions``)."""
        ...

    def append(
        self, partition: int, records: bytes, *, awaits_replicas: bool, guard: TransactionGuard | None = None
    ) -> Awaitable[int]:
        """Write a batch and wait until it is committed (``offsets.commit.required.acks``): its base offset.

        Without ``awaits_replicas`` it is only written here, also while too few replicas are in sync. Batches of one
        partition are written in the order of the calls. ``guard`` is that of the transaction that the batch belongs
        to. KafkaError when it could not be written.
        """
        ...

    def read(self, partition: int) -> AsyncIterator[memoryview]:
        """Whole batches from the log start offset to the log end offset, also what is appended meanwhile."""
        ...

    def is_leader(self, partition: int) -> bool:
        """Whether this broker leads the partition now."""
        ...


AppendOutcome = int | KafkaError
"""The base offset, or why nothing was written."""

AppendDone = Callable[[AppendOutcome], None]


class RecordSink(Protocol):
    """An :class:`OffsetsLog`'s ``append`` with the outcome as a call; it may come before ``append`` returns."""

    def append(
        self,
        partition: int,
        records: bytes,
        done: AppendDone,
        *,
        awaits_replicas: bool = True,
        guard: TransactionGuard | None = None,
    ) -> None: ...

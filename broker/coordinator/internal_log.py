"""The interface of an internal topic for its coordinator: appends to partitions that this broker leads, and reads."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple, Protocol

from ...protocol.errors import ErrorCode, KafkaError
from ...storage.log.append_chain import UNCHAINED, AppendChain
from ...storage.producers.verification_guards import VerificationGuard

__all__ = ["AppendDone", "AppendOutcome", "InternalAppend", "InternalLog", "RecordSink"]


class InternalAppend(NamedTuple):
    """A batch for a partition of the topic.

    Without ``awaits_replicas`` it is written to this broker only, even when too few replicas are in sync. ``guard``:
    proof that the coordinator verified the batch's transaction. ``chain``: the batches on which it builds.
    """

    partition: int
    records: bytes
    awaits_replicas: bool = True
    guard: VerificationGuard | None = None
    chain: AppendChain = UNCHAINED


class InternalLog(Protocol):
    """The partitions of an internal topic on this broker."""

    @property
    def topic(self) -> str: ...

    @property
    def partition_count(self) -> int:
        """The partitions by which entries are spread; before the topic is created, the configured number.

        It may differ from the topic's number of partitions after the topic grew.
        """
        ...

    def append(self, append: InternalAppend) -> Awaitable[int]:
        """Write a batch and wait until it is committed. Returns its base offset.

        Batches of one partition are written in the order of the calls. Raises KafkaError when the batch was not
        written.
        """
        ...

    def read(self, partition: int) -> AsyncIterator[memoryview]:
        """Whole batches from the log start offset to the log end offset, including batches appended meanwhile."""
        ...

    async def before_load(self) -> None:
        """Wait until the partitions may be read."""
        ...

    async def after_load(self, partition: int) -> None:
        """Wait until the records that were read may be acted on. Raises KafkaError when this broker stops leading."""
        ...

    def max_batch_bytes(self, partition: int) -> int | None:
        """The topic's max.message.bytes now; None when the partition is not on this broker."""
        ...

    def refusal(self, partition: int) -> ErrorCode:
        """Why a batch would be refused now, as with too few replicas in sync. NONE: no reason is known."""
        ...

    def is_load_committed(self, partition: int) -> bool:
        """Whether all that was read of the partition is committed, if appends wait for that. False: another leader may
        never have had it."""
        ...

    def is_leader(self, partition: int) -> bool:
        """Whether this broker leads the partition now."""
        ...


AppendOutcome = int | KafkaError
"""The base offset, or why nothing was written."""

AppendDone = Callable[[AppendOutcome], None]


class RecordSink(Protocol):
    """The ``append`` of :class:`InternalLog` with a callback, which may be called before ``append`` returns."""

    def append(self, append: InternalAppend, done: AppendDone) -> None: ...

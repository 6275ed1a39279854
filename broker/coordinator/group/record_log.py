"""Writes batches of a group's records to ``__consumer_offsets``, and maps append errors to codes for clients."""

from collections.abc import Callable, Iterable

from ....protocol.errors import ErrorCode
from ....protocol.records.compression import Codec
from ....storage.log.append_chain import AppendChain
from ..internal_log import AppendDone, InternalAppend, RecordSink
from .offset_batch import BegunBatch, TransactionalProducer, build_records

__all__ = ["MOVED", "TOO_LARGE", "UNAVAILABLE", "RecordLog"]

UNAVAILABLE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    }
)
"""Errors of an append after which the client tries again: COORDINATOR_NOT_AVAILABLE."""
MOVED = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR})
"""Errors of an append after which the client looks for the new coordinator: NOT_COORDINATOR."""
TOO_LARGE = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_FETCH_SIZE})


class RecordLog:
    """``partition_for``: the partition of a group id. ``now_ms``: the wall clock.

    ``refusal``: why a partition would refuse a batch now; NONE: no reason is known. ``max_batch_bytes``: of a
    partition; None when it is not on this broker. ``is_load_committed``: whether all that was read of a partition is
    committed.
    """

    def __init__(
        self,
        sink: RecordSink,
        partition_for: Callable[[str], int],
        now_ms: Callable[[], int],
        codec: Codec = Codec.NONE,
        refusal: Callable[[int], ErrorCode] = lambda partition: ErrorCode.NONE,
        max_batch_bytes: Callable[[int], int | None] = lambda partition: None,
        is_load_committed: Callable[[int], bool] = lambda partition: True,
    ) -> None:
        self._sink = sink
        self._partition_for = partition_for
        self._now_ms = now_ms
        self._codec = codec
        self._refusal = refusal
        self._max_batch_bytes = max_batch_bytes
        self._is_load_committed = is_load_committed
        self._chains: dict[int, AppendChain] = {}
        """By partition, the batches since it was loaded."""

    def refusal(self, group_id: str) -> ErrorCode:
        """Why a batch that awaits replicas would be refused now, before anything changes in memory."""
        return self._refusal(self._partition_for(group_id))

    def is_load_committed(self, partition: int) -> bool:
        """Whether all that was read of the partition is committed."""
        return self._is_load_committed(partition)

    def chain_of(self, partition: int) -> AppendChain:
        """The batches of the partition since it was loaded. It is another chain after a reload."""
        chain = self._chains.get(partition)
        if chain is None:
            chain = self._chains[partition] = AppendChain()
        return chain

    def begin_anew(self, partition: int) -> None:
        """The groups of the partition are read anew, so that decisions on those in memory are void: refuse the
        batches that wait for the log."""
        chain = self._chains.pop(partition, None)
        if chain is not None:
            chain.break_off()

    def max_batch_bytes(self, group_id: str) -> int | None:
        """The largest batch of the group's partition now; None when the partition is not on this broker."""
        return self._max_batch_bytes(self._partition_for(group_id))

    def begin_batch(self) -> BegunBatch:
        """A batch for `append`. Large ones take long, and are made in steps."""
        return BegunBatch(self._now_ms(), self._codec)

    def append(
        self,
        group_id: str,
        records: Iterable[tuple[bytes, bytes | None]],
        done: AppendDone,
        producer: TransactionalProducer | None = None,
        *,
        awaits_replicas: bool = True,
        is_step: bool = False,
        begun: BegunBatch | None = None,
    ) -> None:
        """Write keys and values as one batch, in the transaction of ``producer`` when given.

        ``begun``: the batch to which they are added; None: a new one.

        ``is_step``: the state of its group builds on it; when it is refused, so are all batches of the partition behind
        it, until `begin_anew`.
        ``done`` is called with the outcome, maybe before this returns.
        """
        partition = self._partition_for(group_id)
        chain = self.chain_of(partition)
        if begun is None:
            batch = build_records(records, self._now_ms(), self._codec, producer)
        else:
            batch = begun.finish(records)
        guard = None if producer is None else producer.guard
        chain = chain if is_step else chain.follower
        self._sink.append(InternalAppend(partition, batch, awaits_replicas, guard, chain), done)

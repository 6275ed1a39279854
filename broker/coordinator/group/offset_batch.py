"""Batches of ``__consumer_offsets`` records."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ....protocol.records.builder import BatchBuilder
from ....protocol.records.compression import Codec
from ....storage.producers.verification_guards import VerificationGuard

__all__ = ["AppliedRecords", "BegunBatch", "Pairs", "TransactionalProducer", "build_records"]


Pairs = Sequence[tuple[bytes, bytes | None]]
"""Keys and values of records."""


class TransactionalProducer(NamedTuple):
    """The producer whose transaction commits offsets. ``guard``: proof that the coordinator verified it."""

    producer_id: int
    producer_epoch: int
    guard: VerificationGuard | None = None


class BegunBatch:
    """One batch, to which (key, value) records with one timestamp are added. The log sets its base offset."""

    def __init__(self, timestamp_ms: int, codec: Codec, producer: TransactionalProducer | None = None) -> None:
        self._timestamp_ms = timestamp_ms
        if producer is None:
            self._builder = BatchBuilder(base_offset=0, codec=codec)
        else:
            self._builder = BatchBuilder(
                base_offset=0,
                codec=codec,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                base_sequence=0,
                is_transactional=True,
            )

    @property
    def size_bytes(self) -> int:
        """The size until now, before compression."""
        return self._builder.size_bytes

    def add(self, key: bytes, value: bytes | None) -> None:
        self._builder.append(self._builder.record_count, self._timestamp_ms, key, value)

    def finish(self, records: Iterable[tuple[bytes, bytes | None]]) -> bytes:
        """The batch with these records behind the others."""
        for key, value in records:
            self.add(key, value)
        return self._builder.build()


class AppliedRecords(NamedTuple):
    """Records by which a new group was made, which is not in the registry yet.

    ``batch``: they are in it, behind the tombstones of the group in whose place the new one comes.
    """

    records: list[Any]
    batch: BegunBatch


def build_records(
    records: Iterable[tuple[bytes, bytes | None]],
    timestamp_ms: int,
    codec: Codec,
    producer: TransactionalProducer | None = None,
) -> bytes:
    """One batch of these records."""
    return BegunBatch(timestamp_ms, codec, producer).finish(records)

"""Batches of ``__consumer_offsets`` records."""

from collections.abc import Iterable
from typing import NamedTuple

from ....protocol.records.builder import build_batch
from ....protocol.records.compression import Codec
from ....protocol.records.walk import Record
from ....storage.producers.verification_guards import VerificationGuard

__all__ = ["TransactionalProducer", "build_records"]


class TransactionalProducer(NamedTuple):
    """The producer whose transaction commits offsets. ``guard``: proof that the coordinator verified it."""

    producer_id: int
    producer_epoch: int
    guard: VerificationGuard | None = None


def build_records(
    records: Iterable[tuple[bytes, bytes | None]],
    timestamp_ms: int,
    codec: Codec,
    producer: TransactionalProducer | None = None,
) -> bytes:
    """One batch of (key, value) records with one timestamp. The log sets its base offset."""
    stamped = [Record(offset, timestamp_ms, key, value) for offset, (key, value) in enumerate(records)]
    if producer is None:
        return build_batch(stamped, base_offset=0, codec=codec)
    return build_batch(
        stamped,
        base_offset=0,
        codec=codec,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=0,
        is_transactional=True,
    )

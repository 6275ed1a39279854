"""Control batches: a single record whose key has the type of the marker (KIP-98).

    key: version int16 | type int16 (0 abort, 1 commit, 2 leader change, …)
    value of an end transaction marker: version int16 | coordinator epoch int32

Later versions only add fields, so bytes after the known fields are ignored.
"""

import struct
from enum import IntEnum

from ...base.frozen import frozen
from ..errors import InvalidRecordError
from .batch import RecordBatch
from .builder import build_batch
from .record import read_records
from .walk import Record

_KEY = struct.Struct(">hh")
_MARKER = struct.Struct(">hi")


class ControlType(IntEnum):
    """Kafka's ControlRecordType."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@frozen
class EndTransactionMarker:
    """The end of one producer's transaction in one partition."""

    is_commit: bool
    coordinator_epoch: int


def control_type(key: bytes | None) -> ControlType:
    """Return the type in a control record's key, UNKNOWN for one of a later Kafka. Raises InvalidRecordError."""
    if key is None or len(key) < _KEY.size:
        raise InvalidRecordError(f"Control record with a key of {0 if key is None else len(key)} bytes")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise InvalidRecordError(f"Control record with a key of version {version}")
    return ControlType(number) if 0 <= number <= ControlType.KRAFT_VOTERS else ControlType.UNKNOWN


def decode_marker(record: Record) -> EndTransactionMarker | None:
    """Return the end transaction marker in a control record, None for another type."""
    kind = control_type(record.key)
    if kind is not ControlType.ABORT and kind is not ControlType.COMMIT:
        return None
    if record.value is None or len(record.value) < _MARKER.size:
        raise InvalidRecordError("End transaction marker with too short a value")
    version, coordinator_epoch = _MARKER.unpack_from(record.value)
    if version < 0:
        raise InvalidRecordError(f"End transaction marker of version {version}")
    return EndTransactionMarker(kind is ControlType.COMMIT, coordinator_epoch)


def read_marker(batch: RecordBatch) -> EndTransactionMarker | None:
    """Return the end transaction marker of a control batch, None when it is empty (compacted) or of another type."""
    for record in read_records(batch, max_bytes=1 << 20):
        return decode_marker(record)
    return None


def encode_marker(marker: EndTransactionMarker) -> tuple[bytes, bytes]:
    """Return (key, value) of the control record."""
    kind = ControlType.COMMIT if marker.is_commit else ControlType.ABORT
    return _KEY.pack(0, kind), _MARKER.pack(0, marker.coordinator_epoch)


def build_marker_batch(
    marker: EndTransactionMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp_ms: int,
    base_offset: int = 0,
    partition_leader_epoch: int = -1,
) -> bytes:
    """Build the control batch that ends a producer's transaction in a partition (WriteTxnMarkers)."""
    key, value = encode_marker(marker)
    return build_batch(
        [Record(base_offset, timestamp_ms, key, value)],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
        partition_leader_epoch=partition_leader_epoch,
    )

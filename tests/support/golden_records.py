"""Checks of pybroker's record sets against lines that Apache Kafka's own classes wrote.

Each function takes a decoded line of a golden file and returns complaints, none when all is well.
"""

from base64 import b64decode
from collections.abc import Iterable
from typing import Any

from pybroker.protocol.records.batch import RecordBatch, TimestampType, iter_batches
from pybroker.protocol.records.compression import Codec, decompress
from pybroker.protocol.records.control import control_type
from pybroker.protocol.records.conversion import down_convert
from pybroker.protocol.records.message_set import build_message_set, encode_message
from pybroker.protocol.records.record import Record, build_batch, read_records
from pybroker.protocol.records.walk import walk_records
from support.record_bytes import first_offset, valid_bytes

Line = dict[str, Any]

TIMESTAMP_TYPES = {
    "NoTimestampType": TimestampType.NO_TIMESTAMP,
    "CreateTime": TimestampType.CREATE_TIME,
    "LogAppendTime": TimestampType.LOG_APPEND_TIME,
}
MAX_BYTES = 1 << 24


def check_record_batches(line: Line) -> list[str]:
    """A line of record-batches.jsonl.gz: headers, derived fields, records, whole bytes, and all written again."""
    data = bytes.fromhex(line["hex"])
    complaints = _compare(line["name"], {"validBytes": line["validBytes"]}, {"validBytes": valid_bytes(data)})
    batches = list(iter_batches(data))
    if len(batches) != len(line["batches"]):
        return [*complaints, f"{line['name']}: {len(batches)} batches, expected {len(line['batches'])}"]
    for number, (batch, expected) in enumerate(zip(batches, line["batches"], strict=True)):
        complaints += check_batch(f"{line['name']} batch {number}", batch, expected)
        if expected["isValid"]:
            complaints += check_rewriting(f"{line['name']} batch {number}", batch)
    return complaints


def check_down_conversion(line: Line) -> list[str]:
    """A line of down-conversion.jsonl.gz: `fromHex` becomes the batches of `hex`; without a codec, the same bytes."""
    name = line["name"]
    converted = down_convert(bytes.fromhex(line["fromHex"]), line["toMagic"], line["firstOffset"])
    expected = bytes.fromhex(line["hex"])
    complaints = check_record_batches(line)
    ours = list(iter_batches(converted))
    theirs = list(iter_batches(expected))
    if len(ours) != len(theirs) or valid_bytes(converted) != len(converted):
        return [*complaints, f"{name}: converted to {len(ours)} batches, expected {len(theirs)}"]
    for number, (our, their, fields) in enumerate(zip(ours, theirs, line["batches"], strict=True)):
        where = f"{name} converted batch {number}"
        if not their.is_compressed:
            complaints += _compare(where, {"bytes": bytes(their.view())}, {"bytes": bytes(our.view())})
            continue
        # The compressed size depends on the compressor; everything else must agree.
        sizes = {
            "position": our.position,
            "sizeInBytes": our.size_bytes,
            "messageSize": our.batch_length,
            "crc": our.crc,
        }
        complaints += check_batch(where, our, {**fields, **sizes})
        complaints += _compare(where, {"inside": _plain(their)}, {"inside": _plain(our)})
    return complaints


def check_batch(where: str, batch: RecordBatch, expected: Line) -> list[str]:
    """Compare one batch with the fields of its dump by Kafka."""
    actual = batch_fields(batch)
    if batch.is_valid_crc() != expected["isValid"]:
        return [f"{where}: checksum {'is' if batch.is_valid_crc() else 'is not'} valid"]
    if expected["isValid"]:
        actual |= derived_fields(batch)
    actual["isValid"] = expected["isValid"]
    return _compare(where, {name: value for name, value in expected.items() if name != "file"}, actual)


def batch_fields(batch: RecordBatch) -> Line:
    """The raw header under the golden files' names."""
    fields: Line = {
        "position": batch.position,
        "sizeInBytes": batch.size_bytes,
        "magic": batch.magic,
        "crc": batch.crc,
        "attributes": batch.attributes,
    }
    if batch.magic < 2:
        fields |= {"offset": batch.base_offset, "messageSize": batch.batch_length}
        if batch.magic == 1:
            fields["timestamp"] = batch.max_timestamp
        return fields
    return fields | {
        "baseOffset": batch.base_offset,
        "batchLength": batch.batch_length,
        "partitionLeaderEpoch": batch.partition_leader_epoch,
        "lastOffsetDelta": batch.last_offset_delta,
        "baseTimestamp": batch.base_timestamp,
        "maxTimestamp": batch.max_timestamp,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "baseSequence": batch.base_sequence,
        "recordCount": batch.record_count,
    }


def derived_fields(batch: RecordBatch) -> Line:
    """Values derived from the header, and the records, under the golden files' names."""
    kinds = {kind: name for name, kind in TIMESTAMP_TYPES.items()}
    fields: Line = {
        "firstOffset": first_offset(batch, MAX_BYTES),
        "lastOffset": batch.last_offset,
        "nextOffset": batch.next_offset,
        "compressionType": batch.compression.name.lower(),
        "timestampType": kinds[batch.timestamp_type],
        "records": [_record_fields(record, batch) for record in read_records(batch, MAX_BYTES)],
    }
    if batch.magic >= 2:
        fields |= {
            "lastSequence": batch.last_sequence,
            "isTransactional": batch.is_transactional,
            "isControlBatch": batch.is_control,
            "deleteHorizonMs": batch.delete_horizon_ms,
        }
    return fields


def _record_fields(record: Record, batch: RecordBatch) -> Line:
    fields: Line = {
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "key": record.key,
        "value": record.value,
    }
    if batch.magic >= 2:
        fields["sequence"] = record.sequence
        fields["headers"] = list(record.headers)
    if batch.is_control:
        fields["controlType"] = control_type(record.key).name
    return fields


def _plain_records(records: Iterable[Line]) -> list[Line]:
    """Golden records with base64 decoded."""
    plain: list[Line] = []
    for record in records:
        decoded = dict(record)
        decoded["key"] = _bytes_or_none(record["key"])
        decoded["value"] = _bytes_or_none(record["value"])
        if "headers" in record:
            decoded["headers"] = [(header["key"], _bytes_or_none(header["value"])) for header in record["headers"]]
        plain.append(decoded)
    return plain


def _bytes_or_none(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


def _compare(where: str, expected: Line, actual: Line) -> list[str]:
    complaints = []
    for name in expected.keys() | actual.keys():
        wanted = expected.get(name, "absent")
        if name == "records" and wanted != "absent" and "records" in actual:
            wanted = _plain_records(wanted)
        if name == "records" and wanted == [] and "records" not in actual:
            continue
        found = actual.get(name, "absent")
        if wanted != found:
            complaints.append(f"{where}: {name} is {found!r}, expected {wanted!r}")
    return sorted(complaints)


def check_rewriting(where: str, batch: RecordBatch) -> list[str]:
    """Build the batch again from its records: equal bytes without a codec, an equal payload with one."""
    rebuilt = _rebuild_v2(batch) if batch.magic >= 2 else _rebuild_legacy(batch)
    if not batch.is_compressed:
        return _compare(where, {"rebuilt": bytes(batch.view())}, {"rebuilt": rebuilt})
    again = next(iter_batches(rebuilt))
    complaints = _compare(where, {"inside": _plain(batch)}, {"inside": _plain(again)})
    if not again.is_valid_crc():
        complaints.append(f"{where}: rebuilt with a wrong checksum")
    ours = batch_fields(again)
    for own in ("position", "sizeInBytes", "batchLength", "messageSize", "crc"):
        if own in ours:
            ours[own] = batch_fields(batch)[own]
    return complaints + _compare(where + " rebuilt", batch_fields(batch), ours)


def _plain(batch: RecordBatch) -> bytes:
    """The decompressed records of the batch."""
    if batch.magic >= 2:
        return bytes(decompress(batch.compression, batch.payload(), MAX_BYTES)) if batch.record_count else b""
    header = 18 if batch.magic == 0 else 26
    # A wrapper has no key: -1 for its size, then the size of its value.
    return bytes(decompress(batch.compression, batch.view()[header + 8 :], MAX_BYTES, batch.magic))


def _rebuild_v2(batch: RecordBatch) -> bytes:
    codec = Codec(batch.attributes & 7)
    records = walk_records(
        _plain(batch),
        batch.record_count,
        batch.base_offset,
        batch.last_offset_delta,
        batch.base_timestamp,
        batch.base_sequence,
        None,
    )
    is_log_append_time = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    return build_batch(
        records,
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        codec=codec,
        log_append_time_ms=batch.max_timestamp if is_log_append_time else None,
        max_timestamp_ms=batch.max_timestamp,
        delete_horizon_ms=batch.delete_horizon_ms,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        is_transactional=batch.is_transactional,
        is_control=batch.is_control,
        partition_leader_epoch=batch.partition_leader_epoch,
    )


def _rebuild_legacy(batch: RecordBatch) -> bytes:
    records = list(read_records(batch, MAX_BYTES))
    if not batch.is_compressed:
        record = records[0]
        return encode_message(
            batch.magic, record.offset, record.timestamp_ms, record.key, record.value, batch.attributes
        )
    is_log_append_time = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    return build_message_set(
        records,
        batch.magic,
        batch.compression,
        log_append_time_ms=batch.max_timestamp if is_log_append_time else None,
    )

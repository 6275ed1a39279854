"""Control batches: end transaction markers and other types, compared with Kafka's."""

import gzip
import json
import struct
from pathlib import Path

import pytest
from pybroker.protocol.errors import InvalidRecordError
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.control import (
    ControlType,
    EndTransactionMarker,
    build_marker_batch,
    control_type,
    decode_marker,
    read_marker,
)
from pybroker.protocol.records.record import Record, build_batch
from support.record_bytes import batch_at

GOLDEN = Path(__file__).parents[2] / "reference" / "golden"


@pytest.mark.parametrize("is_commit", [True, False])
def test_marker_round_trips(is_commit: bool) -> None:
    marker = EndTransactionMarker(is_commit, 17)
    data = build_marker_batch(marker, producer_id=5, producer_epoch=3, timestamp_ms=99, partition_leader_epoch=2)
    batch = batch_at(data)
    assert batch.is_control
    assert batch.is_transactional
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (5, 3, -1)
    assert read_marker(batch) == marker


def test_markers_equal_kafkas_byte_for_byte() -> None:
    markers = 0
    with gzip.open(GOLDEN / "record-batches.jsonl.gz", "rt") as file:
        for line in map(json.loads, file):
            if not line["name"].startswith(("v2-control-commit", "v2-control-abort")):
                continue
            data = bytes.fromhex(line["hex"])
            (batch,) = iter_batches(data)
            marker = read_marker(batch)
            assert marker is not None
            assert marker.is_commit == (line["batches"][0]["records"][0]["controlType"] == "COMMIT")
            rebuilt = build_marker_batch(
                marker,
                producer_id=batch.producer_id,
                producer_epoch=batch.producer_epoch,
                timestamp_ms=batch.max_timestamp,
                base_offset=batch.base_offset,
                partition_leader_epoch=batch.partition_leader_epoch,
            )
            assert rebuilt == data
            markers += 1
    assert markers == 6


def test_key_of_each_kafka_control_type_is_known() -> None:
    assert [control_type(struct.pack(">hh", 0, number)) for number in range(7)] == [
        ControlType.ABORT,
        ControlType.COMMIT,
        ControlType.LEADER_CHANGE,
        ControlType.SNAPSHOT_HEADER,
        ControlType.SNAPSHOT_FOOTER,
        ControlType.KRAFT_VERSION,
        ControlType.KRAFT_VOTERS,
    ]


def test_later_control_types_are_unknown_and_later_versions_are_read() -> None:
    assert control_type(struct.pack(">hh", 0, 99)) is ControlType.UNKNOWN
    assert control_type(struct.pack(">hh", 0, -7)) is ControlType.UNKNOWN
    assert control_type(struct.pack(">hh", 9, 1) + b"more") is ControlType.COMMIT
    later = Record(0, 0, struct.pack(">hh", 9, 1), struct.pack(">hi", 9, 4) + b"more")
    assert decode_marker(later) == EndTransactionMarker(is_commit=True, coordinator_epoch=4)


def test_control_record_of_another_type_is_no_marker() -> None:
    assert decode_marker(Record(0, 0, struct.pack(">hh", 0, 2), b"")) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"\0" * 6),
        (b"\0\0\0", b"\0" * 6),
        (b"\xff\xff\0\1", b"\0" * 6),
        (b"\0\0\0\1", None),
        (b"\0\0\0\1", b"\0" * 5),
        (b"\0\0\0\1", b"\xff\xff\0\0\0\0"),
    ],
)
def test_broken_marker_is_invalid(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(InvalidRecordError):
        decode_marker(Record(0, 0, key, value))


def test_control_batch_that_the_cleaner_emptied_has_no_marker() -> None:
    assert read_marker(next(iter_batches(build_batch([], is_control=True, base_offset=3)))) is None

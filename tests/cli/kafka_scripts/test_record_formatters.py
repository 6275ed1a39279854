"""Formatters of ``kafka-console-consumer`` print records of internal topics as Kafka 3.9.1 printed them."""

import struct

import pytest
from pybroker.cli.kafka_scripts.record_formatters import formatter_of
from pybroker.cli.kafka_scripts.script_parser import UsageError
from pybroker.protocol.codec import encode
from pybroker.protocol.messages.consumer_offsets import OffsetCommitKey, OffsetCommitValue
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.record import Record

PACKAGE = "org.apache.kafka.tools.consumer."
KEY = struct.pack(">h", 1) + bytes(encode(OffsetCommitKey(group="included", topic="demo", partition=0), 1))
VALUE = struct.pack(">h", 3) + bytes(
    encode(OffsetCommitValue(offset=3, leader_epoch=0, metadata="", commit_timestamp=1795803025182), 3)
)
PRINTED = (
    '{"key":{"version":1,"data":{"group":"included","topic":"demo","partition":0}},"value":{"version":3,"data":'
    '{"offset":3,"leaderEpoch":0,"metadata":"","commitTimestamp":1795803025182}}}'
)


def printed(formatter: str, key: bytes | None, value: bytes | None) -> str:
    record = Record(0, 0, key, value, ())
    (batch,) = iter_batches(build_batch([record]))
    return formatter_of(PACKAGE + formatter, {}).line(0, batch, record).decode()


def test_offset_commit_is_printed_as_kafka_printed_it() -> None:
    assert printed("OffsetsMessageFormatter", KEY, VALUE) == PRINTED
    assert printed("OffsetsMessageFormatter", KEY, None) == PRINTED.partition(',"value"')[0] + ',"value":null}'


def test_formatter_passes_over_records_of_another_kind() -> None:
    assert printed("GroupMetadataMessageFormatter", KEY, VALUE) == ""
    assert printed("OffsetsMessageFormatter", struct.pack(">h", 2), None) == ""


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\1", b"\0\1\0\xff", b"\x7f\xff"])
def test_record_that_is_no_offset_commit_ends_no_command(data: bytes) -> None:
    for formatter in ("OffsetsMessageFormatter", "GroupMetadataMessageFormatter", "TransactionLogMessageFormatter"):
        printed(formatter, data, data)
        printed(formatter, None, data)


def test_class_that_is_not_kafkas_is_refused() -> None:
    with pytest.raises(UsageError, match="not available without a JVM"):
        formatter_of("a.b.C", {})

"""A leader refuses uncompressed batches with records that no Java consumer can read, such as a null header name."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.protocol.errors import InvalidRecordError
from pybroker.protocol.records.batch import RecordBatch
from pybroker.protocol.records.builder import encode_record
from pybroker.protocol.records.compression import Codec, compress
from pybroker.protocol.records.record import Record, build_batch
from pybroker.protocol.records.summary_walk import IS_COMPILED, may_have_headers
from pybroker.storage.log_config import LogConfig
from support.logs.storage_logs import NOW_MS, append_as_leader, open_log
from support.record_bytes import write_varint

HEADER_BYTES = 61
NULL_NAME = b"\2\1\2v"
WELL_NAMED = b"\2\2h\2v"
NO_HEADERS = b"\0"


def record(number: int, headers: bytes = NO_HEADERS) -> bytes:
    body = b"\0\0" + write_varint(number) + b"\2k\2v" + headers
    return write_varint(len(body)) + body


def batch_of_payload(payload: bytes, count: int, codec: Codec = Codec.NONE) -> bytearray:
    """A batch with a correct checksum and this payload."""
    header = build_batch([Record(number, NOW_MS, b"k", b"v") for number in range(count)], codec=codec)[:HEADER_BYTES]
    batch = bytearray(header + (payload if codec is Codec.NONE else compress(codec, payload)))
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    batch[17:21] = RecordBatch(batch, 0).compute_crc().to_bytes(4, "big")
    return batch


def refused(batch: bytearray, directory: Path, config: LogConfig | None = None) -> bool:
    log = open_log(directory, config or LogConfig())
    try:
        append_as_leader(log, batch, 0, NOW_MS)
    except InvalidRecordError:
        assert log.log_end_offset == 0
        return True
    return False


NOT_READABLE = {
    "null header name": NULL_NAME,
    "null header name and value": b"\2\1\1",
    "null header name and empty value": b"\2\1\0",
    "second header with null name": b"\4\2h\2v\1\2v",
    "header name beyond the record": b"\2\x14h\2v",
    "negative number of headers": b"\1",
    "bytes after the headers": b"\0rest",
}


@pytest.mark.parametrize("count", [1, 2, 32])
@pytest.mark.parametrize("headers", NOT_READABLE.values(), ids=NOT_READABLE.keys())
def test_record_that_java_consumers_cannot_read_is_refused(headers: bytes, count: int, tmp_path: Path) -> None:
    payload = b"".join(record(number) for number in range(count - 1)) + record(count - 1, headers)
    assert refused(batch_of_payload(payload, count), tmp_path)


@pytest.mark.parametrize(
    "config",
    [
        LogConfig(message_timestamp_type="LogAppendTime"),
        LogConfig(cleanup_policy=("compact",)),
        LogConfig(compression_type="gzip"),
    ],
    ids=["append time", "compacted", "another codec"],
)
def test_null_header_name_is_refused_with_any_topic_setting(config: LogConfig, tmp_path: Path) -> None:
    assert refused(batch_of_payload(record(0, NULL_NAME), 1), tmp_path, config)


@pytest.mark.parametrize(
    ("config", "is_opened"),
    [
        (LogConfig(), False),
        (LogConfig(validate_every_record=True), True),
        (LogConfig(cleanup_policy=("compact",)), True),
        (LogConfig(compression_type="zstd"), True),
    ],
    ids=["by header", "full", "compacted", "another codec"],
)
def test_compressed_batch_with_a_null_header_name_is_refused_where_it_is_opened(
    config: LogConfig, is_opened: bool, tmp_path: Path
) -> None:
    assert refused(batch_of_payload(record(0, NULL_NAME), 1, Codec.GZIP), tmp_path, config) == is_opened


def test_records_with_well_named_headers_are_stored(tmp_path: Path) -> None:
    payload = b"".join(record(number, WELL_NAMED) for number in range(100))
    assert not refused(batch_of_payload(payload, 100), tmp_path)


def test_null_header_name_beyond_the_first_records_is_refused_by_the_compiled_build(tmp_path: Path) -> None:
    """Without compilation a look at every record would double the cost of an append."""
    payload = b"".join(record(number, NULL_NAME if number == 50 else NO_HEADERS) for number in range(100))
    assert refused(batch_of_payload(payload, 100), tmp_path) == IS_COMPILED


@pytest.mark.parametrize("count", [0, 2])
def test_payload_with_another_number_of_records_is_refused(count: int, tmp_path: Path) -> None:
    payload = b"".join(record(number) for number in range(count))
    assert refused(batch_of_payload(payload, 1), tmp_path)


# -- the search for headers

KEYS = st.sampled_from([None, b"", b"a", b"k" * 200])
VALUES = st.sampled_from([b"", b"v" * 70, b"v" * 9000, b"\0"])
HEADERS = st.sampled_from([(("h", b"1"),), (("h", None),), (("h", b""),), (("", b"\0"), ("i", b"x" * 100))])


@given(st.lists(st.tuples(KEYS, VALUES, st.one_of(st.just(()), HEADERS)), min_size=1, max_size=8))
def test_headers_are_found_in_any_record(
    drawn: list[tuple[bytes | None, bytes, tuple[tuple[str, bytes], ...]]],
) -> None:
    data = b"".join(encode_record(number, 0, *parts) for number, parts in enumerate(drawn))
    have_headers = [bool(headers) and headers != (("h", b""),) for _, _, headers in drawn]
    if any(have_headers):
        assert may_have_headers(data, len(drawn))
    elif not any(headers for _, _, headers in drawn):
        assert not may_have_headers(data, len(drawn))


@given(st.binary(max_size=60), st.integers(0, 5))
def test_search_for_headers_takes_any_bytes(data: bytes, count: int) -> None:
    assert may_have_headers(data, count) in (True, False)

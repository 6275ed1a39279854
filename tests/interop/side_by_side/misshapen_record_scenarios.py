"""Scenarios of Produce with records that have one wrong part each."""

from struct import pack
from typing import Any

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.requests import LONG_AGO, a_topic, patched, produce
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.records.compression import Codec, compress
from pybroker.protocol.records.record import Record, build_batch
from support.record_bytes import write_varint

__all__ = ["SCENARIOS"]


def encoded(
    *,
    size: bytes | None = None,
    attributes: bytes = b"\0",
    timestamp: bytes = b"\0",
    offset: bytes = b"\0",
    key: bytes = write_varint(1) + b"k",
    value: bytes = write_varint(1) + b"v",
    headers: bytes = b"\0",
    rest: bytes = b"",
) -> bytes:
    """A record from its encoded parts. `size`: default the right one."""
    body = attributes + timestamp + offset + key + value + headers + rest
    return (write_varint(len(body)) if size is None else size) + body


TOO_LONG = b"\xff" * 10 + b"\1"
MISSHAPEN_RECORDS = {
    "nothing is wrong": encoded(),
    "a header": encoded(headers=b"\2\2h\2v"),
    "a header without value": encoded(headers=b"\2\2h\1"),
    "a header with empty name": encoded(headers=b"\2\0\2v"),
    "null header name": encoded(headers=b"\2\1\2v"),
    "null header name and value": encoded(headers=b"\2\1\1"),
    "null header name, empty value": encoded(headers=b"\2\1\0"),
    "null second header name": encoded(headers=b"\4\2h\2v\1\2v"),
    "header name of size -2": encoded(headers=b"\2\3\2v"),
    "header name beyond the record": encoded(headers=b"\2\x14h\2v"),
    "header name that is no UTF-8": encoded(headers=b"\2\2\xff\2v"),
    "header value of size -2": encoded(headers=b"\2\2h\3"),
    "header value beyond the record": encoded(headers=b"\2\2h\x14v"),
    "-1 headers": encoded(headers=b"\1"),
    "more headers than bytes": encoded(headers=b"\x14\2h\2v"),
    "fewer headers than bytes": encoded(headers=b"\2\2h\2v\2h\2v"),
    "key of size -1": encoded(key=b"\1"),
    "key of size -2": encoded(key=b"\3"),
    "key beyond the record": encoded(key=b"\x14k"),
    "value of size -1": encoded(value=b"\1"),
    "value of size -2": encoded(value=b"\3"),
    "value beyond the record": encoded(value=b"\x14v"),
    "attributes in use": encoded(attributes=b"\x7f"),
    "bytes after the headers": encoded(rest=b"rest"),
    "size 0": encoded(size=b"\0"),
    "size -1": encoded(size=b"\1"),
    "size too small": encoded(size=write_varint(6)),
    "size too large": encoded(size=write_varint(200)),
    "size of too many bytes": encoded(size=TOO_LONG),
    "timestamp of too many bytes": encoded(timestamp=TOO_LONG),
    "offset of too many bytes": encoded(offset=b"\xff" * 5 + b"\1"),
    "key size of too many bytes": encoded(key=b"\xff" * 5 + b"\1"),
    "header count of too many bytes": encoded(headers=b"\xff" * 5 + b"\1"),
    "header name size of too many bytes": encoded(headers=b"\2" + b"\xff" * 5 + b"\1"),
    "two records": encoded() + encoded(offset=b"\2"),
    "no record": b"",
}


def misshapen(payload: bytes, codec: Codec) -> bytes:
    """A batch whose header says that it has one record, with this payload."""
    header = build_batch([Record(0, LONG_AGO, b"k", b"v")], codec=codec)[:61]
    packed = payload if codec is Codec.NONE else compress(codec, payload)
    whole = patched(header + packed, 8, pack(">i", 61 + len(packed) - 12))
    return patched(whole, 0, b"", fix_crc=True)


def code_of(answer: Any) -> str:
    return ErrorCode(answer["responses"][0]["partitionResponses"][0]["errorCode"]).name


def produce_misshapen_records(talk: Conversation) -> None:
    topic = a_topic(talk)
    for name, payload in MISSHAPEN_RECORDS.items():
        talk.ask(produce(topic, misshapen(payload, Codec.NONE)), 9, note=name, see=code_of)


def produce_misshapen_records_in_compressed_batches(talk: Conversation) -> None:
    topic = a_topic(talk)
    for name, payload in MISSHAPEN_RECORDS.items():
        talk.ask(produce(topic, misshapen(payload, Codec.GZIP)), 9, note=name, see=code_of)


def produce_misshapen_records_to_a_compacted_topic(talk: Conversation) -> None:
    for codec in (Codec.NONE, Codec.GZIP):
        topic = a_topic(talk, codec.name, cleanup_policy="compact")
        for name, payload in MISSHAPEN_RECORDS.items():
            talk.ask(produce(topic, misshapen(payload, codec)), 9, note=f"{codec.name}: {name}", see=code_of)


SCENARIOS = [
    produce_misshapen_records,
    produce_misshapen_records_in_compressed_batches,
    produce_misshapen_records_to_a_compacted_topic,
]

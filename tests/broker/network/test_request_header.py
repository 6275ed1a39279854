"""Tests of the request header parser with headers that Kafka wrote and with garbage."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.network.request_header import (
    BadRequestHeaderError,
    RequestHeaderParser,
    api_header_version,
)
from pybroker.protocol.apis import ApiKey
from support.golden import read_lines

GOLDEN = Path(__file__).parents[2] / "reference" / "golden" / "headers.jsonl.gz"
LINES = [line for line in read_lines(GOLDEN) if line["api"] == "RequestHeader"]


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"v{line['version']}-{line['variant']}")
def test_headers_written_by_kafka_are_parsed(line: dict[str, object]) -> None:
    value = line["value"]
    assert isinstance(value, dict)
    header = bytes.fromhex(str(line["hex"]))
    parser = RequestHeaderParser(lambda api_key, api_version: int(str(line["version"])))
    api_key, api_version, correlation_id, client_id, size = parser.parse(bytearray(header + b"the body"))
    assert api_key == value["requestApiKey"]
    assert api_version == value["requestApiVersion"]
    assert correlation_id == value["correlationId"]
    assert (None if client_id is None else client_id.decode()) == value.get("clientId")
    assert size == len(header)


@pytest.mark.parametrize(
    ("api_key", "api_version", "header_version"),
    [
        (ApiKey.PRODUCE, 8, 1),
        (ApiKey.PRODUCE, 9, 2),
        (ApiKey.CONTROLLED_SHUTDOWN, 0, 0),
        (ApiKey.CONTROLLED_SHUTDOWN, 1, 1),
        (ApiKey.API_VERSIONS, 99, 2),  # KIP-511: asked with the client's newest, answered UNSUPPORTED_VERSION
        (ApiKey.API_VERSIONS, -1, 1),
        (9_999, 0, None),
        (-1, 0, None),
    ],
)
def test_header_version_follows_from_api_and_version(
    api_key: int, api_version: int, header_version: int | None
) -> None:
    assert api_header_version(api_key, api_version) == header_version


def parse(header_version: int | None, frame: bytes) -> object:
    return RequestHeaderParser(lambda api_key, api_version: header_version).parse(bytearray(frame))


FIXED = b"\x00\x03\x00\x01\x00\x00\x00\x07"


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (FIXED, "too few"),
        (b"", "too few"),
        (FIXED + b"\x00\x05abcd", "client id"),
        (FIXED + b"\x7f\xff", "client id"),
        (FIXED + b"\x00\x01a", "past the end"),  # no tagged fields at all
        (FIXED + b"\x00\x01a\x01\x05\x03ab", "tagged field"),
        (FIXED + b"\x00\x01a\x01\x05\xff\xff\xff\xff\x0f", "tagged field"),
        (FIXED + b"\x00\x01a\x05\x00\x00", "past the end"),
        (FIXED + b"\x00\x01a\xe9\x07" + b"\x01\x00" * 1001, "1001 tagged fields"),
        (FIXED + b"\x00\x01a\x80\x80\x80\x80\x80\x00", "varint"),
    ],
)
def test_malformed_header_is_refused_with_a_reason(frame: bytes, reason: str) -> None:
    with pytest.raises(BadRequestHeaderError, match=reason):
        parse(2, frame)


@pytest.mark.parametrize("length", [-1, -2, -32768])
def test_client_id_of_negative_length_is_null(length: int) -> None:
    frame = FIXED + length.to_bytes(2, "big", signed=True) + b"\0body"
    assert parse(2, frame) == (3, 1, 7, None, len(frame) - 4)


def test_unknown_api_is_refused_with_an_error_that_names_its_key() -> None:
    with pytest.raises(BadRequestHeaderError, match="key 3"):
        parse(None, FIXED + b"\xff\xff")


def test_tagged_fields_of_a_header_are_skipped() -> None:
    frame = FIXED + b"\x00\x01a" + b"\x02\x05\x03abc\x06\x00" + b"body"
    assert parse(2, frame) == (3, 1, 7, bytearray(b"a"), len(frame) - 4)


@given(st.integers(0, 2), st.binary(max_size=80))
def test_random_bytes_are_parsed_as_a_header_or_refused(header_version: int, frame: bytes) -> None:
    try:
        *_, size = RequestHeaderParser(lambda api_key, api_version: header_version).parse(bytearray(frame))
    except BadRequestHeaderError:
        return
    assert 8 <= size <= len(frame)

"""A decoder returns a message or raises DecodeError for any bytes, in bounded time and memory.

Golden frames are damaged with a fixed seed, and random bytes are tried on every message. The compiled decoder and the
interpreter must agree, and what was decoded can be encoded again.
"""

import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from pybroker.protocol.codec import DecodeError, Message, decode, decode_prefix, encode, interpreter
from pybroker.protocol.codec.schema import Array, Nested
from pybroker.protocol.messages.create_topics import CreateTopicsRequest
from pybroker.protocol.messages.fetch import FetchRequest, FetchResponse
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataResponse
from pybroker.protocol.messages.produce import ProduceRequest
from support.fuzzing.damage import damaged
from support.golden import all_message_types, find_message_type, golden_files, read_lines

GOLDEN = Path(__file__).parent.parent / "reference" / "golden"
FRAME_FILES = [path for path in golden_files(GOLDEN) if not path.name.startswith(("record-batches", "down-conversion"))]
DAMAGES_PER_FRAME = 8
DAMAGES_WHEN_LONG = 20
LONGEST_FRAME = 4000


class Frame(NamedTuple):
    message_type: type[Message]
    version: int
    data: bytes


def frames(path: Path) -> Iterator[Frame]:
    for line in read_lines(path):
        found = find_message_type(line["api"], line["kind"])
        assert found is not None
        message_type, has_version = found
        data = bytes.fromhex(line["hex"])[2 if has_version else 0 :]
        if len(data) <= LONGEST_FRAME:
            yield Frame(message_type, line["version"], data)


def decode_counting(message_type: type[Message], data: bytes, version: int) -> Message:
    """Decode with the counting decoder, as for a message with more bytes than the element limit."""
    message, end = decode_prefix(message_type, data, version, max_elements=len(data) - 1)
    if end != len(data):
        raise DecodeError("bytes are left over")
    return message


def outcome(message_type: type[Message], version: int, data: bytes) -> Message | None:
    """Return the decoded message, None when it was refused; check what must hold in both cases."""
    try:
        message = decode(message_type, data, version)
    except DecodeError:
        with pytest.raises(DecodeError):
            interpreter.decode(message_type, data, version)
        with pytest.raises(DecodeError):
            decode_counting(message_type, data, version)
        return None
    oracle = interpreter.decode(message_type, data, version)
    encoded = encode(message, version)
    # Not by ==, since a NaN differs from itself.
    assert encoded == interpreter.encode(oracle, version)
    assert encoded == encode(decode_counting(message_type, data, version), version)
    assert encode(decode(message_type, encoded, version), version) == encoded
    return message


@pytest.mark.parametrize("path", FRAME_FILES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
@pytest.mark.parametrize("damages", [DAMAGES_PER_FRAME, pytest.param(DAMAGES_WHEN_LONG, marks=pytest.mark.long)])
def test_damaged_frames_are_decoded_the_same_by_both_decoders_or_refused(path: Path, damages: int) -> None:
    chance = random.Random(path.name)
    refused = 0
    for frame in frames(path):
        for _ in range(damages):
            refused += outcome(frame.message_type, frame.version, damaged(frame.data, chance)) is None
    assert refused > 0


@pytest.mark.parametrize("message_type", all_message_types(), ids=lambda message_type: message_type.__name__)
def test_random_bytes_are_decoded_the_same_by_both_decoders_or_refused(message_type: type[Message]) -> None:
    chance = random.Random(message_type.__name__)
    for version in message_type.MESSAGE.versions:
        for length in (0, 1, 2, 5, 20, 60):
            # Small numbers make counts and lengths that fit, so that decoding gets further.
            few = bytes(chance.choice((0, 0, 1, 1, 2, 3, 5, 127, 128, 255)) for _ in range(length))
            outcome(message_type, version, few)
            outcome(message_type, version, chance.randbytes(length))


BYTES_PER_BYTE = 80
"""Bytes of memory allowed per byte of input: the smallest struct has three bytes and becomes an object with a list."""


def peak_bytes(message_type: type[Message], version: int, data: bytes) -> int:
    """Return the peak of memory allocated while decoding."""
    decode(message_type, encode(message_type(), version), version)  # so that compiling is not counted
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        try:
            message = decode(message_type, data, version)
        except DecodeError:
            message = None
        peak = tracemalloc.get_traced_memory()[1] - before
        del message
        return peak
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("message_type", "version"),
    [
        (ProduceRequest, 2),
        (ProduceRequest, 11),
        (FetchRequest, 11),
        (FetchRequest, 17),
        (FetchResponse, 16),
        (MetadataRequest, 12),
        (MetadataResponse, 12),
        (CreateTopicsRequest, 7),
    ],
)
def test_memory_of_decoding_grows_with_the_frame_and_not_with_its_claims(
    message_type: type[Message], version: int
) -> None:
    chance = random.Random(f"{message_type.__name__} {version}")
    path = next(path for path in FRAME_FILES if path.name.startswith(f"api-{message_type.MESSAGE.api_key:02d}-"))
    worst = 0.0
    for frame in frames(path):
        if (frame.message_type, frame.version) == (message_type, version):
            for _ in range(20):
                data = damaged(frame.data, chance)
                worst = max(worst, (peak_bytes(message_type, version, data) - 20_000) / (len(data) + 1))
    assert worst < BYTES_PER_BYTE


@pytest.mark.parametrize("message_type", all_message_types(), ids=lambda message_type: message_type.__name__)
def test_decoding_many_of_the_smallest_elements_stays_within_the_memory_bound(message_type: type[Message]) -> None:
    version = message_type.MESSAGE.versions.last
    for field in message_type.SCHEMA.fields:
        if version in field.versions and isinstance(field.type, Array) and isinstance(field.type.element, Nested):
            smallest = field.type.element.struct()
            for inner in smallest.SCHEMA.fields:
                if version in inner.nullable:
                    setattr(smallest, inner.name, None)
            message = message_type()
            setattr(message, field.name, [smallest] * 1000)
            data = encode(message, version)
            assert peak_bytes(message_type, version, data) < BYTES_PER_BYTE * len(data)


def test_impossible_array_count_allocates_nothing() -> None:
    zeros = bytes(100_000)
    for count in (b"\xff\xff\xff\xff\x07", b"\xa1\x8d\x06"):  # 2^31 - 2, and one that would fit bytes but not topics
        with pytest.raises(DecodeError, match="topics claims length"):
            decode(MetadataRequest, count + zeros, 12)
        assert peak_bytes(MetadataRequest, 12, count + zeros) < 20_000
    with pytest.raises(DecodeError, match="topics claims length 100001"):
        decode(MetadataRequest, b"\0\x01\x86\xa1" + zeros, 8)

"""Tests that FrameReader finds the frames in received bytes, however the bytes are split into reads."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.network.frame_pool import FramePool
from pybroker.broker.network.frame_reader import (
    FIRST_ALLOCATION,
    FIRST_READ,
    LONG_READ,
    MOST_FRAMES,
    FrameReader,
    new_shared_buffer,
)

MAX = 10 * 1024 * 1024


def new_reader(max_size: int = MAX) -> FrameReader:
    return FrameReader(new_shared_buffer(), max_size, FramePool())


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def feed(reader: FrameReader, data: bytes, step: int) -> list[bytes]:
    """Receive ``data`` as an event loop would, at most ``step`` bytes a read; return the frames before a bad one."""
    frames = []
    position = 0
    while position < len(data) and reader.bad_frame is None:
        buffer = reader.get_buffer()
        chunk = data[position : position + min(step, len(buffer))]
        memoryview(buffer)[: len(chunk)] = chunk
        if isinstance(buffer, memoryview):
            buffer.release()
        frames += [bytes(frame) for frame in reader.received(len(chunk))]
        while reader.has_more:
            frames += [bytes(frame) for frame in reader.more()]
        position += len(chunk)
    return frames


BODIES = [b"a", b"bc" * 50, b"d" * 5000, b"e" * 100_000, b"f" * 300_000, b"g", b"h" * 70_000, b"i" * 3]


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000, 4096, 65_535, 65_536, 1 << 20])
def test_frames_are_the_same_for_any_read_size(step: int) -> None:
    assert feed(new_reader(), b"".join(map(framed, BODIES)), step) == BODIES


def test_partial_frame_waits_for_its_rest() -> None:
    reader = new_reader()
    assert feed(reader, framed(b"first") + framed(b"second")[:-1], 1 << 20) == [b"first"]
    assert feed(reader, b"d" + framed(b"third"), 1 << 20) == [b"second", b"third"]


def test_partial_size_field_waits_for_its_rest() -> None:
    reader = new_reader()
    assert feed(reader, framed(b"first") + b"\x00\x00", 1 << 20) == [b"first"]
    assert reader.held_bytes == 0
    assert feed(reader, b"\x00\x06second", 1 << 20) == [b"second"]


def test_read_of_very_many_frames_is_split_into_frames_in_parts() -> None:
    reader = new_reader()
    bodies = [bytes([number % 250 + 1]) * (number % 20 + 1) for number in range(3000)]
    data = b"".join(map(framed, bodies)) + framed(b"half")[:-1]
    memoryview(reader.get_buffer())[: len(data)] = data
    parts = [reader.received(len(data))]
    while reader.has_more:
        assert reader.held_bytes == 0
        parts.append(reader.more())
    assert [frame for part in parts for frame in part] == bodies
    assert max(map(len, parts)) == MOST_FRAMES
    assert feed(reader, b"f", 1) == [b"half"]


def test_bad_size_behind_very_many_frames_is_found() -> None:
    reader = new_reader()
    data = framed(b"a") * (MOST_FRAMES + 3) + struct.pack(">i", -1) + framed(b"b") * 100
    memoryview(reader.get_buffer())[: len(data)] = data
    assert len(reader.received(len(data))) == MOST_FRAMES
    assert (reader.bad_frame, reader.more()) == (None, [bytearray(b"a")] * 3)
    assert reader.bad_frame is not None
    assert reader.bad_frame.size == -1
    assert not reader.has_more


def test_abandon_drops_received_bytes_that_were_not_split_into_frames() -> None:
    reader = new_reader()
    data = framed(b"a") * (MOST_FRAMES + 3)
    memoryview(reader.get_buffer())[: len(data)] = data
    reader.received(len(data))
    reader.abandon()
    assert not reader.has_more
    assert feed(reader, framed(b"b"), 100) == [b"b"]


@given(st.lists(st.binary(min_size=1, max_size=200), max_size=300), st.lists(st.integers(1, 300), min_size=1))
def test_frames_are_the_same_for_any_sequence_of_read_sizes(bodies: list[bytes], steps: list[int]) -> None:
    data = b"".join(map(framed, bodies))
    reader = new_reader()
    frames: list[bytes] = []
    position = turn = 0
    while position < len(data):
        step = steps[turn % len(steps)]
        frames += feed(reader, data[position : position + step], step)
        position += step
        turn += 1
    assert frames == bodies


def test_readers_that_share_a_buffer_do_not_see_each_others_bytes() -> None:
    shared = new_shared_buffer()
    spent = FramePool()
    one, other = FrameReader(shared, MAX, spent), FrameReader(shared, MAX, spent)
    assert feed(one, framed(b"one" * 10)[:-3], 5) == []
    assert feed(other, framed(b"other")[:2], 5) == []
    assert feed(one, b"one", 5) == [b"one" * 10]
    assert feed(other, framed(b"other")[2:], 5) == [b"other"]


def test_frame_does_not_change_when_the_shared_buffer_does() -> None:
    shared = new_shared_buffer()
    reader = FrameReader(shared, MAX, FramePool())
    data = framed(b"body")
    shared[: len(data)] = data
    (frame,) = reader.received(len(data))
    shared[:] = bytes(len(shared))
    assert type(frame) is bytearray
    assert frame == b"body"


def test_big_frame_is_received_into_its_own_buffer() -> None:
    reader = new_reader()
    feed(reader, framed(b"x" * 100_000)[:4096], 4096)
    buffer = reader.get_buffer()
    assert len(buffer) == 100_000 + 4 - 4096


@pytest.mark.parametrize(
    ("size", "next_read"), [(5, FIRST_READ), (50_000, LONG_READ), (250_000, LONG_READ), (300_000, 4096)]
)
def test_size_of_the_next_read_depends_on_the_previous_frame(size: int, next_read: int) -> None:
    """After medium frames a read is long, to bring many at once; after big ones it is short, because it is copied."""
    reader = new_reader()
    assert len(reader.get_buffer()) == FIRST_READ
    for before in (50_000, 300_000, 5):
        feed(reader, framed(b"y" * before), 1 << 20)
        feed(reader, framed(b"x" * size), 1 << 20)
        assert len(reader.get_buffer()) == next_read


@pytest.mark.parametrize("size", [-1, 0, MAX + 1, 2**31 - 1, -(2**31)])
def test_frames_before_an_impossible_size_are_complete(size: int) -> None:
    reader = new_reader()
    data = struct.pack(">i", size) + b"what follows it"
    assert feed(reader, framed(b"good") + data, 1 << 20) == [b"good"]
    assert reader.bad_frame == (size, data[:16])


def test_frame_of_the_maximum_size_is_accepted_and_a_larger_one_is_refused() -> None:
    reader = new_reader(max_size=100)
    assert feed(reader, framed(b"x" * 100), 1 << 20) == [b"x" * 100]
    assert reader.bad_frame is None
    assert feed(reader, framed(b"x" * 101), 1 << 20) == []
    assert reader.bad_frame is not None


def test_announced_size_takes_only_the_first_allocation_before_its_bytes_arrive() -> None:
    reader = new_reader(max_size=1 << 30)
    assert feed(reader, struct.pack(">i", 1 << 30) + b"x", 1 << 20) == []
    assert reader.held_bytes == FIRST_ALLOCATION
    assert len(reader.get_buffer()) == FIRST_ALLOCATION - 1
    assert reader.held_bytes == FIRST_ALLOCATION


def test_memory_of_a_large_frame_grows_with_the_bytes_that_arrived() -> None:
    reader = new_reader(max_size=1 << 30)
    feed(reader, struct.pack(">i", 1 << 30), 4)
    received = 0
    while received < 8 << 20:
        space = len(reader.get_buffer())
        assert reader.received(space) == []
        received += space
        assert reader.held_bytes <= max(FIRST_ALLOCATION, min(2 * received, received + (1 << 20)))


def test_abandon_frees_a_partial_frame() -> None:
    reader = new_reader()
    feed(reader, framed(b"x" * 100_000)[:50_000], 1 << 20)
    reader.abandon()
    assert reader.held_bytes == 0

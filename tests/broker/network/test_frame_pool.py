"""Tests that frame buffers are reused, but never while a view of them exists."""

import struct

from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.network.frame_pool import FramePool
from pybroker.broker.network.frame_reader import FrameReader, new_shared_buffer

KIB = 1024


def new_reader(spent: FramePool) -> FrameReader:
    return FrameReader(new_shared_buffer(), 10 * KIB * KIB, spent)


def receive(reader: FrameReader, body: bytes) -> bytearray:
    """Receive one frame in pieces of 64 KiB."""
    data = struct.pack(">i", len(body)) + body
    position = 0
    while True:
        buffer = reader.get_buffer()
        chunk = data[position : position + min(64 * KIB, len(buffer))]
        memoryview(buffer)[: len(chunk)] = chunk
        if isinstance(buffer, memoryview):
            buffer.release()
        position += len(chunk)
        frames = reader.received(len(chunk))
        if frames:
            return frames[0]


def test_buffer_of_a_frame_without_references_is_reused_for_the_next_frame() -> None:
    reader = new_reader(FramePool())
    first = id(receive(reader, b"a" * 100 * KIB))
    assert id(receive(reader, b"b" * 90 * KIB)) == first


def test_frames_of_one_read_are_copied_into_pooled_buffers() -> None:
    spent = FramePool()
    reader = new_reader(spent)
    receive(reader, b"a" * 50 * KIB)  # after a frame of this size one read can bring much
    data = b"".join(struct.pack(">i", 40 * KIB) + letter * 40 * KIB for letter in (b"b", b"c"))
    for _ in range(3):
        memoryview(reader.get_buffer())[: len(data)] = data
        assert reader.received(len(data)) == [b"b" * 40 * KIB, b"c" * 40 * KIB]
        assert spent.held_bytes == 2 * 40 * KIB


def test_frame_with_a_view_is_not_overwritten() -> None:
    reader = new_reader(FramePool())
    records = memoryview(receive(reader, b"a" * 100 * KIB))[500:600]
    for _ in range(3):
        receive(reader, b"b" * 100 * KIB)
    assert records == b"a" * 100


@given(st.lists(st.tuples(st.integers(1, 300 * KIB), st.booleans()), max_size=12))
def test_frames_equal_the_bytes_sent_whichever_earlier_frames_are_held(frames: list[tuple[int, bool]]) -> None:
    reader = new_reader(FramePool(512 * KIB))
    held: list[tuple[memoryview, bytes]] = []
    for number, (size, is_held) in enumerate(frames):
        body = bytes([number]) * size
        frame = receive(reader, body)
        assert frame == body
        if is_held:
            held.append((memoryview(frame), body))
    assert all(view == body for view, body in held)


def test_full_pool_drops_its_oldest_frames_first() -> None:
    spent = FramePool(max_bytes=250)
    for letter in b"abc":
        spent.keep(bytearray([letter]) * 100)
    assert spent.held_bytes == 200
    assert [spent.take(100), spent.take(100), spent.take(100)] == [b"c" * 100, b"b" * 100, None]
    assert spent.held_bytes == 0


def test_pool_finds_a_free_frame_behind_a_frame_still_in_use() -> None:
    spent = FramePool()
    spent.keep(bytearray(b"a" * 100))
    held = bytearray(b"b" * 100)
    spent.keep(held)
    found = spent.take(100)
    assert found is not None
    assert found == b"a" * 100


def test_pool_does_not_keep_a_huge_frame() -> None:
    spent = FramePool()
    spent.keep(bytearray(2 * KIB * KIB + 1))
    assert spent.held_bytes == 0

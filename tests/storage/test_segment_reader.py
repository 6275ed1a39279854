"""Read-only access to a `.log`: every batch, in pieces of any size, and the bytes after the last one."""

import fcntl
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pybroker.protocol.records.batch import iter_batches
from pybroker.storage.files.files import Files
from pybroker.storage.segment import segment_reader
from pybroker.storage.segment.segment_reader import SegmentReader
from support.examples import examples
from support.logs.log_tool import fill_log
from support.logs.storage_logs import open_log
from support.record_bytes import valid_bytes


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the bytes of a segment with batches of many sizes."""
    log = open_log(tmp_path_factory.mktemp("data"))
    fill_log(log, 40)
    log.close()
    return Path(log.segments[0].log_ref.path).read_bytes()


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_segment_reader_yields_all_whole_batches_and_the_rest_as_tail(
    data: st.DataObject, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    piece = st.integers(61, 4000)
    monkeypatch.setattr(segment_reader, "_CHUNK_BYTES", data.draw(piece, "chunk"))
    monkeypatch.setattr(segment_reader, "_HEADER_PAGES_BYTES", data.draw(piece, "pages"))
    monkeypatch.setattr(segment_reader, "_HEADER_PAGE_BYTES", data.draw(piece, "page"))
    size = data.draw(st.integers(0, len(whole)), "size")
    tail = data.draw(st.sampled_from([b"", b"\xff" * 80, bytes(900)]), "tail")
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(whole[:size] + tail)
    end = valid_bytes(whole[:size])
    expected = [(batch.position, batch.base_offset, batch.size_bytes) for batch in iter_batches(whole[:end])]
    with SegmentReader(Files(), str(path)) as reader:
        batches = [(stored.position, bytes(stored.batch.view())) for stored in reader.batches()]
        told = reader.tail
        headers = [(at, header.base_offset, header.size_bytes) for at, header in reader.headers()]
        assert reader.tail == told
    if end == size or not tail:  # otherwise the tail continues a batch that was cut off
        assert batches == [(at, whole[at : at + length]) for at, _, length in expected]
        assert headers == expected
        left = size - end + len(tail)
        assert (told.position, told.size_bytes) == (end, left) if left and told is not None else told is None
    assert headers == [(at, int.from_bytes(batch[:8], "big"), len(batch)) for at, batch in batches]


@pytest.mark.parametrize(
    ("tail", "is_unfinished"),
    [(b"\0", True), (bytes(5000), True), (b"\xff" * 20, False), (bytes(8) + b"\0\0\0\x0d", False)],
)
def test_tail_left_by_a_crash_is_distinguished_from_garbage(
    tail: bytes, is_unfinished: bool, whole: bytes, tmp_path: Path
) -> None:
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(whole + tail)
    with SegmentReader(Files(), str(path)) as reader:
        assert len(list(reader.batches())) > 20
        assert reader.tail is not None
        assert reader.tail.is_unfinished is is_unfinished


def test_records_appended_during_the_read_are_left_out(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(whole)
    with SegmentReader(Files(), str(path)) as reader:
        path.write_bytes(whole + whole[:100])
        assert sum(batch.size_bytes for _, batch in reader.batches()) == len(whole)
        assert reader.tail is None


def test_read_only_file_can_be_read(whole: bytes, tmp_path: Path) -> None:
    """Root can write any file, so the test checks the flags with which the file is opened."""
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(whole)
    file = Files().open_to_read(str(path))
    assert fcntl.fcntl(file.fileno(), fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY

"""Producer snapshots that are read while a broker writes them."""

from pathlib import Path

import pytest
from pybroker.storage.files.files import Files
from pybroker.storage.producers.producer_snapshots import CorruptSnapshotError, encode_snapshot
from pybroker.storage.producers.snapshot_reader import read_snapshot

WHOLE = encode_snapshot([])


def test_snapshot_that_is_being_written_is_read_again_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000005.snapshot"
    path.write_bytes(b"")
    pieces = iter((WHOLE[:3], WHOLE))

    def meanwhile(_seconds: float) -> None:
        path.write_bytes(next(pieces))

    assert read_snapshot(Files(), str(path), meanwhile) == []
    assert not list(pieces)


@pytest.mark.parametrize("data", [b"", WHOLE[:-1], b"x" * 30])
def test_unreadable_snapshot_that_does_not_change_is_corrupt(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "00000000000000000005.snapshot"
    path.write_bytes(data)
    with pytest.raises(CorruptSnapshotError):
        read_snapshot(Files(), str(path), lambda _seconds: None)


def test_snapshot_deleted_meanwhile_raises_file_not_found(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000005.snapshot"
    path.write_bytes(b"")
    with pytest.raises(FileNotFoundError):
        read_snapshot(Files(), str(path), lambda _seconds: path.unlink())

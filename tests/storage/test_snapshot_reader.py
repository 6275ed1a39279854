"""Producer snapshots that are read while a broker writes them."""

from pathlib import Path

import pytest
from pybroker.storage.files.files import Files
from pybroker.storage.producers.producer_snapshots import CorruptSnapshotError, encode_snapshot
from pybroker.storage.producers.snapshot_reader import read_snapshot

WHOLE = encode_snapshot([])


def test_one_that_is_being_written_is_read_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000005.snapshot"
    path.write_bytes(b"")
    pieces = iter((WHOLE[:3], WHOLE))

    def meanwhile(_seconds: float) -> None:
        path.write_bytes(next(pieces))

    assert read_snapshot(Files(), str(path), meanwhile) == []
    assert not list(pieces)


@pytest.mark.parametrize("data", [b"", WHOLE[:-1], b"x" * 30])
def test_one_that_stays_as_it_is_is_corrupt(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "00000000000000000005.snapshot"
    path.write_bytes(data)
    with pytest.raises(CorruptSnapshotError):
        read_snapshot(Files(), str(path), lambda _seconds: None)


def test_one_that_is_deleted_meanwhile_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000005.snapshot"
    path.write_bytes(b"")
    with pytest.raises(FileNotFoundError):
        read_snapshot(Files(), str(path), lambda _seconds: path.unlink())

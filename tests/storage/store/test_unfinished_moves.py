"""The right log is served when a disk fails while a moved copy replaces its log."""

import errno
import os
from pathlib import Path

import pytest
from pybroker.protocol.errors import KafkaStorageError
from pybroker.storage.files.directory_listing import Entry
from pybroker.storage.files.files import Files
from pybroker.storage.log.log_files import MARK_FILE
from support.logs.moving_disks import ALL_AT_A, ALL_AT_B, TP, Disks
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, records_from

EXPECTED = [*((number, str(number).encode()) for number in range(5)), (5, b"after the failure")]


class LosingFiles(Files):
    """Files whose log directory `b` fails when a copy in it has got its log's name."""

    has_failed = False

    def rename(self, old_path: str, new_path: str) -> None:
        super().rename(old_path, new_path)
        self.has_failed = self.has_failed or old_path.endswith("-future")

    def sync_directory(self, path: str) -> None:
        if self.has_failed and path.endswith("/b"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        super().sync_directory(path)


class WithoutAFiles(Files):
    """Files whose log directory `a` cannot be read."""

    def list_directory(self, path: str) -> list[Entry]:
        if path.endswith("/a"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return super().list_directory(path)


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """Make a partition that is in two log directories and has grown in the first since."""
    disks = Disks(tmp_path, LosingFiles())
    log = disks.make(5)
    disks.store.moves.begin(TP, disks.paths[1])
    disks.runner.run()
    assert disks.store.directories.offline_paths() == [disks.paths[1]]
    append_as_leader(log, batch_of("after the failure"), 0, NOW_MS)
    disks.kill()
    assert disks.directories() == {"a": ["0"], "b": ["0"], "c": []}
    return tmp_path


def check_log_is_right(root: Path) -> None:
    disks = Disks(root)
    assert records_from(disks.log()) == EXPECTED
    disks.store.deletion.delete_leftovers()
    assert disks.directories() == ALL_AT_A
    disks.kill()


def test_copy_is_deleted_when_its_disk_is_back_and_the_log_is_elsewhere(both: Path) -> None:
    check_log_is_right(both)


def test_copy_is_not_opened_while_an_offline_disk_may_have_the_log(both: Path) -> None:
    disks = Disks(both, WithoutAFiles())
    assert disks.store.get(TP) is None
    with pytest.raises(KafkaStorageError, match="offline"):
        disks.store.get_or_create(TP, is_new=False)
    disks.kill()
    check_log_is_right(both)


class CrashError(BaseException):
    """The process has died."""


class CrashingFiles(Files):
    """Files of a process that dies before a mark is deleted."""

    def delete(self, path: str) -> bool:
        if path.endswith(MARK_FILE):
            raise CrashError
        return super().delete(path)


def test_marked_copy_becomes_the_log_when_no_other_directory_has_it(tmp_path: Path) -> None:
    disks = Disks(tmp_path, CrashingFiles())
    disks.make(5)
    disks.store.moves.begin(TP, disks.paths[1])
    with pytest.raises(CrashError):
        disks.runner.run()
    disks.kill()
    assert disks.directories() == {"a": ["delete"], "b": ["0"], "c": []}
    again = Disks(tmp_path)
    assert records_from(again.log()) == EXPECTED[:5]
    again.store.deletion.delete_leftovers()
    assert again.directories() == ALL_AT_B
    assert not (tmp_path / "b" / "topic-0" / MARK_FILE).exists()
    again.kill()


def test_finished_move_leaves_no_mark(tmp_path: Path) -> None:
    disks = Disks(tmp_path)
    disks.make(5)
    disks.store.moves.begin(TP, disks.paths[1])
    disks.runner.run()
    assert disks.directories() == ALL_AT_B
    assert not (tmp_path / "b" / "topic-0" / MARK_FILE).exists()
    disks.kill()

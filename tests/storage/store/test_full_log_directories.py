"""Full log directories: the reports of them, and their end when there is space again."""

import errno
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.config.load import load_config
from pybroker.protocol.errors import KafkaStorageError
from pybroker.storage.files.files import DiskSpace
from pybroker.storage.store.log_store import LogStore
from support.logs.storage_faults import FaultyFiles
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of
from support.logs.storage_pools import InlinePool

SEGMENT_BYTES = 1 << 20


class SmallDisk(FaultyFiles):
    usable_bytes = 100 << 20
    total_bytes = 1 << 30

    def disk_space(self, path: str) -> DiskSpace:
        return DiskSpace(self.total_bytes, self.usable_bytes)


def open_store(files: FaultyFiles, *paths: Path) -> LogStore:
    config = load_config("", {"log.dirs": ",".join(map(str, paths))})
    return LogStore.open(config, files, InlinePool(), lambda: NOW_MS)


def test_each_fullness_of_a_directory_is_reported_once(tmp_path: Path) -> None:
    files = SmallDisk()
    store = open_store(files, tmp_path)
    reported: list[str] = []
    store.directories.on_full = reported.append
    log = store.get_or_create(TopicPartition("t", 0), True)
    for _ in range(2):
        files.fault, files.operations = errno.ENOSPC, ("write",)
        for _ in range(2):
            with pytest.raises(KafkaStorageError):
                append_as_leader(log, batch_of("x"), 0, NOW_MS)
        files.fault = None
        append_as_leader(log, batch_of("x"), 0, NOW_MS)
        store.directories.space_again(str(tmp_path))
    assert reported == [str(tmp_path)] * 2
    assert store.directories.offline_paths() == []
    store.close()


def test_lack_of_descriptors_is_no_full_directory(tmp_path: Path) -> None:
    files = SmallDisk()
    store = open_store(files, tmp_path)
    log = store.get_or_create(TopicPartition("t", 0), True)
    files.fault, files.operations = errno.EMFILE, ("write",)
    with pytest.raises(KafkaStorageError):
        append_as_leader(log, batch_of("x"), 0, NOW_MS)
    assert not store.directories.all[0].is_full
    files.fault = None
    store.close()


def test_new_logs_avoid_a_full_directory(tmp_path: Path) -> None:
    files = SmallDisk()
    store = open_store(files, tmp_path / "a", tmp_path / "b")
    store.directories.full(store.directories.all[0])
    for partition in range(3):
        store.get_or_create(TopicPartition("t", partition), True)
    assert [directory.partition_count for directory in store.directories.all] == [0, 3]
    store.close()


@pytest.mark.parametrize(
    ("usable_bytes", "total_bytes", "has_space"),
    [
        (SEGMENT_BYTES, 1 << 40, True),
        (SEGMENT_BYTES - 1, 1 << 40, False),
        (500_000, 10_000_000, True),
        (499_999, 10_000_000, False),
    ],
    ids=["a segment", "less", "a twentieth of a small disk", "less than that"],
)
def test_full_directory_has_space_again_when_a_segment_or_a_twentieth_of_the_disk_is_free(
    tmp_path: Path, usable_bytes: int, total_bytes: int, has_space: bool
) -> None:
    files = SmallDisk()
    store = open_store(files, tmp_path)
    files.usable_bytes, files.total_bytes = usable_bytes, total_bytes
    assert store.directories.has_space(str(tmp_path), SEGMENT_BYTES) is has_space
    assert not store.directories.has_space(str(tmp_path / "elsewhere"), SEGMENT_BYTES)
    store.close()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_full_directory_in_which_no_file_can_be_written_has_no_space(tmp_path: Path, number: int) -> None:
    """A quota is spent, or no inode is left: free bytes do not tell."""
    files = SmallDisk()
    store = open_store(files, tmp_path)
    files.fault, files.operations = number, ("write",)
    assert not store.directories.has_space(str(tmp_path), SEGMENT_BYTES)
    files.fault = None
    assert store.directories.has_space(str(tmp_path), SEGMENT_BYTES)
    assert not list(tmp_path.glob(".pybroker*"))
    store.close()

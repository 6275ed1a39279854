"""A new log directory without room, a file with the name of a partition's directory, and indexes that do not fit."""

import errno
import logging
import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.config.load import load_config
from pybroker.protocol.errors import KafkaStorageError
from pybroker.storage.files.files import DiskSpace, Files
from pybroker.storage.store.log_directories import LogDirectoriesError
from pybroker.storage.store.log_store import LogStore
from support.logs.storage_faults import FaultyFiles
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of
from support.logs.storage_pools import InlinePool

TP = TopicPartition("topic", 0)


class FullDisks(Files):
    """Little space is left on the disks of these directories."""

    def __init__(self, *full: Path) -> None:
        super().__init__()
        self._full = tuple(map(str, full))

    def disk_space(self, path: str) -> DiskSpace:
        found = super().disk_space(path)
        return found._replace(usable_bytes=50_000) if path.startswith(self._full) else found


def open_store(*directories: Path, files: Files | None = None) -> LogStore:
    config = load_config(f"log.dirs={','.join(map(str, directories))}\n")
    return LogStore.open(config, files or Files(), InlinePool(), lambda: NOW_MS, broker_id=1, cluster_id="cluster")


def test_new_log_directory_without_room_refuses_the_start(tmp_path: Path) -> None:
    with pytest.raises(LogDirectoriesError) as raised:
        open_store(tmp_path, files=FullDisks(tmp_path))
    assert str(raised.value) == (
        f"no log directory can be used: {tmp_path} (no space left: 48 KiB are free, a new directory needs 1024 KiB)"
    )


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_new_log_directory_in_which_no_file_can_be_written_refuses_the_start(tmp_path: Path, number: int) -> None:
    """A quota is spent, or no inodes are left: free bytes do not tell."""
    files = FaultyFiles()
    files.fault, files.operations = number, ("write",)
    with pytest.raises(LogDirectoriesError, match="no space left for 16 files: no inodes are left, or a quota"):
        open_store(tmp_path, files=files)
    assert {path.name for path in tmp_path.iterdir()} == {".lock"}


def test_log_directory_in_use_waits_for_room(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    append_as_leader(store.get_or_create(TP, is_new=True), batch_of("x"), 0, NOW_MS)
    store.close()
    again = open_store(tmp_path, files=FullDisks(tmp_path))
    log = again.get(TP)
    assert log is not None
    assert log.log_end_offset == 1
    again.release()


def test_new_log_directory_without_room_does_not_affect_the_others(tmp_path: Path) -> None:
    store = open_store(tmp_path / "new", tmp_path / "old", files=FullDisks(tmp_path / "new"))
    assert store.directories.offline_paths() == [str(tmp_path / "new")]
    assert store.get_or_create(TP, is_new=True).directory == str(tmp_path / "old" / "topic-0")
    store.release()


def test_file_named_like_a_partition_refuses_only_that_partition(tmp_path: Path) -> None:
    (tmp_path / "topic-0").write_text("no directory")
    store = open_store(tmp_path)
    with pytest.raises(KafkaStorageError, match=rf"topic-0: its log cannot be created: {tmp_path}/topic-0 is a file"):
        store.get_or_create(TP, is_new=True)
    assert store.directories.offline_paths() == []
    assert store.get_or_create(TopicPartition("topic", 1), is_new=True).directory == str(tmp_path / "topic-1")
    (tmp_path / "topic-0").unlink()
    assert store.get_or_create(TP, is_new=True).directory == str(tmp_path / "topic-0")
    store.release()


def link_without_a_target(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere" / "else")


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def folder_for_the_file(name: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        (path / name).mkdir(parents=True)

    make.__name__ = f"folder_{name}"
    return make


def link_for_the_records(path: Path) -> None:
    path.mkdir()
    link_without_a_target(path / f"{0:020}.log")


LINK = "is a symbolic link without a target; bring the target back, or remove the link"
OBSTACLES = [
    (link_without_a_target, f"topic-0 {LINK}"),
    (link_to_itself, f"topic-0 {LINK}"),
    (
        link_for_the_records,
        f"topic-0/{0:020}.log {LINK}",
    ),
    *(
        (folder_for_the_file(name), f"topic-0/{name} is a directory; remove it")
        for name in (
            f"{0:020}.log",
            f"{0:020}.index",
            f"{0:020}.timeindex",
            "leader-epoch-checkpoint",
            "partition.metadata",
        )
    ),
]


@pytest.mark.parametrize(("make", "words"), OBSTACLES)
def test_obstacle_at_a_partitions_path_refuses_only_that_partition(
    make: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    store = open_store(first, second)
    make(first / "topic-0")
    store.creation.prefer_directory(TP, str(first))
    for _ in range(2):
        with pytest.raises(KafkaStorageError) as raised:
            store.get_or_create(TP, is_new=True, topic_id=uuid.UUID(int=5))
        assert str(raised.value) == f"topic-0: its log cannot be created: {first}/{words}"
    assert store.directories.offline_paths() == []
    assert not (second / "topic-0").exists(), "the path may lead to the partition's records"
    other = TopicPartition("topic", 1)
    store.creation.prefer_directory(other, str(first))
    assert store.get_or_create(other, is_new=True).directory == str(first / "topic-1")
    if (first / "topic-0").is_symlink():
        (first / "topic-0").unlink()
    else:
        shutil.rmtree(first / "topic-0")
    store.creation.prefer_directory(TP, str(first))
    assert store.get_or_create(TP, is_new=True).directory == str(first / "topic-0")
    store.close()


@pytest.mark.parametrize("make", [link_without_a_target, link_to_itself])
def test_start_ignores_a_link_without_a_target(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "topic-0")
    store = open_store(tmp_path)
    assert store.directories.offline_paths() == []
    assert store.get(TP) is None
    store.close()


@pytest.mark.parametrize("make", [make for make, _ in OBSTACLES if make.__name__.startswith("folder_")])
def test_start_refuses_only_the_log_with_an_obstacle_and_names_its_path(
    make: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make(tmp_path / "topic-0")
    store = open_store(tmp_path)
    name = make.__name__.removeprefix("folder_")
    text = f"the others are served; the first: {tmp_path}/topic-0/{name} is a directory; remove it, and start again"
    assert f"log directory {tmp_path}: 1 logs cannot be opened, {text}" in caplog.text
    assert store.directories.offline_paths() == []
    assert store.get(TP) is None
    assert store.get_or_create(TopicPartition("topic", 1), is_new=True).log_end_offset == 0
    with pytest.raises(
        KafkaStorageError, match=rf"topic-0: its log cannot be opened: .*/{name} is a directory; remove"
    ):
        store.get_or_create(TP, is_new=False)
    shutil.rmtree(tmp_path / "topic-0" / name)
    assert store.get_or_create(TP, is_new=False).directory == str(tmp_path / "topic-0")
    store.close()


def test_log_goes_to_another_directory_when_a_file_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "topic-0").write_text("no directory")
    store = open_store(tmp_path / "a", tmp_path / "b")
    assert store.get_or_create(TP, is_new=True).directory == str(tmp_path / "b" / "topic-0")
    store.release()


def test_log_directory_that_became_a_file_fails_as_a_whole(tmp_path: Path) -> None:
    store = open_store(tmp_path / "a", tmp_path / "b")
    store.get_or_create(TopicPartition("b", 0), is_new=True)
    (tmp_path / "a").rename(tmp_path / "away")
    (tmp_path / "a").write_text("no directory")
    store.creation.prefer_directory(TP, str(tmp_path / "a"))
    with pytest.raises(KafkaStorageError):
        store.get_or_create(TP, is_new=True)
    assert store.directories.offline_paths() == [str(tmp_path / "a")]
    store.release()


def test_rebuilt_indexes_of_many_logs_share_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = open_store(tmp_path)
    partitions = [TopicPartition("topic", number) for number in range(4)]
    for partition in partitions:
        append_as_leader(store.get_or_create(partition, is_new=True), batch_of("x"), 0, NOW_MS)
    store.close()
    for partition in partitions:
        (tmp_path / str(partition) / f"{0:020}.timeindex").unlink()
    caplog.clear()
    open_store(tmp_path).close()
    (line,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert line.startswith("rebuilt the indexes of 4 segments, as Kafka before 0.10.1 wrote them or damaged; the ")
    assert line.endswith(": rebuilding the indexes of segment 0: no .timeindex file")


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.EISDIR])
def test_error_without_an_obstacle_at_the_partitions_path_fails_the_directory(tmp_path: Path, number: int) -> None:
    """A disk that is lost may answer in this way, too."""

    class Lost(Files):
        def create_empty(self, path: str) -> None:
            raise OSError(number, os.strerror(number), path)

    store = open_store(tmp_path, files=Lost())
    with pytest.raises(KafkaStorageError):
        store.get_or_create(TP, is_new=True)
    assert store.directories.offline_paths() == [str(tmp_path)]
    store.release()


def test_only_errors_about_the_partitions_own_name_are_its_own(tmp_path: Path) -> None:
    class Broken(Files):
        def make_directory(self, path: str) -> None:
            if path.endswith("topic-0"):
                raise NotADirectoryError(errno.ENOTDIR, "Not a directory", str(tmp_path))
            super().make_directory(path)

    store = open_store(tmp_path, files=Broken())
    with pytest.raises(KafkaStorageError):
        store.get_or_create(TP, is_new=True)
    assert store.directories.offline_paths() == [str(tmp_path)]
    store.release()

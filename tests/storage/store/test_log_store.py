"""The log store: ownership of log directories, start and stop, deletion, checkpoints, settings."""

import asyncio
import errno
import os
import subprocess
import sys
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from pybroker.base.topic_partition import TopicPartition, deleted_directory_name, parse_directory_name
from pybroker.config.config import Config
from pybroker.config.load import load_config, unchecked_config
from pybroker.protocol.errors import KafkaStorageError
from pybroker.storage.files.files import DirectoryLockedError, Files
from pybroker.storage.files.meta_properties import MetaPropertiesError
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_append import LeaderAppend, LogAppendInfo
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.store.checkpoints import Checkpoints
from pybroker.storage.store.log_directories import LogDirectoriesError, peek_meta_properties
from pybroker.storage.store.log_directory import LogDirectory
from pybroker.storage.store.log_store import LogStore
from pybroker.storage.store.store_schedule import StoreSchedule
from pybroker.storage.workers.worker_pool import WorkerPool
from support.logs.storage_faults import FaultyFiles
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, records_from
from support.logs.storage_pools import InlinePool, ManualPool
from support.time.virtual_timers import VirtualTimers

TP = TopicPartition("topic", 0)


def config(*directories: Path, **settings: object) -> Config:
    overrides = {name.replace("_", "."): str(value) for name, value in settings.items()}
    return load_config(f"log.dirs={','.join(map(str, directories))}\n", overrides)


def open_store(*directories: Path, files: Files | None = None, **settings: object) -> LogStore:
    return LogStore.open(
        config(*directories, **settings),
        files or Files(),
        InlinePool(),
        lambda: NOW_MS,
        broker_id=1,
        cluster_id="cluster",
    )


def append(log: Log, value: str = "x") -> LogAppendInfo:
    return append_as_leader(log, batch_of(value), 0, NOW_MS)


class TestStart:
    def test_store_has_all_records_after_a_clean_stop(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)
        log = store.get_or_create(TP, is_new=True, topic_id=uuid.UUID(int=5))
        append(log)
        log.increment_log_start_offset(1)
        append(log, "y")
        store.close()
        assert (tmp_path / ".kafka_cleanshutdown").read_text() == '{"version":0,"brokerEpoch":-1}'
        assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n1\ntopic 0 2\n"
        assert (tmp_path / "log-start-offset-checkpoint").read_text() == "0\n1\ntopic 0 1\n"
        again = open_store(tmp_path)
        assert not (tmp_path / ".kafka_cleanshutdown").exists()
        log_again = again.get(TP)
        assert log_again is not None
        assert log_again.topic_id == uuid.UUID(int=5)
        assert (log_again.log_start_offset, records_from(log_again)) == (1, [(1, b"y")])
        assert log_again.recovery_point == 2
        again.release()

    def test_steps_still_queued_at_the_stop_change_nothing(self, tmp_path: Path) -> None:
        pool = ManualPool()
        store = LogStore.open(config(tmp_path), Files(), pool, lambda: NOW_MS)
        append(store.get_or_create(TP, is_new=True))
        strand = store.strand(TP)
        assert strand is not None
        results: list[Any] = []
        strand.submit(lambda log: None)
        strand.append(LeaderAppend(batch_of("late"), 0, NOW_MS), results.append)
        store.close()
        pool.run()
        assert isinstance(results[0], KafkaStorageError)
        again = open_store(tmp_path)
        log = again.get(TP)
        assert log is not None
        assert records_from(log) == [(0, b"x")]
        again.release()

    def test_store_has_all_records_after_a_kill(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)
        log = store.get_or_create(TP, is_new=True)
        for number in range(10):
            append(log, str(number))
        store.release()
        again = open_store(tmp_path).get(TP)
        assert again is not None
        assert len(records_from(again)) == 10
        assert again.recovery_point == 0

    def test_log_directory_in_use_by_another_broker_is_refused(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)
        with pytest.raises(DirectoryLockedError, match=r"\.lock"):
            open_store(tmp_path)
        code = "import fcntl,sys; fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        command = [sys.executable, "-c", code, str(tmp_path / ".lock")]
        assert subprocess.run(command, capture_output=True, check=False).returncode != 0
        store.close()
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0
        open_store(tmp_path).release()

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("broker.id=2\nversion=0\ncluster.id=cluster\n", "broker 2"),
            ("broker.id=1\nversion=0\ncluster.id=other\n", "cluster other"),
            ("broker.id=1\ncluster.id=cluster\n", "corrupt"),
            ("broker.id=x\nversion=0\n", "corrupt"),
            ("broker.id=2147483648\nversion=0\n", "corrupt: broker.id=2147483648"),
            ("broker.id=-1\nversion=0\n", "corrupt: broker.id=-1"),
            ("node.id=1\nversion=1\ncluster.id=cluster\n", "KRaft"),
        ],
    )
    def test_log_directory_of_another_broker_or_cluster_is_refused_in_one_line(
        self, text: str, says: str, tmp_path: Path
    ) -> None:
        (tmp_path / "meta.properties").write_text(text)
        with pytest.raises(MetaPropertiesError, match=says) as caught:
            open_store(tmp_path)
        assert "\n" not in str(caught.value)
        open_store_lock = Files().lock_directory(str(tmp_path))
        open_store_lock.release()

    def test_meta_properties_is_written_once_and_can_be_read_before_the_start(self, tmp_path: Path) -> None:
        assert peek_meta_properties(Files(), config(tmp_path)) is None
        open_store(tmp_path / "a").release()
        before = (tmp_path / "a" / "meta.properties").stat().st_mtime_ns
        open_store(tmp_path / "a", tmp_path / "b").release()
        assert (tmp_path / "a" / "meta.properties").stat().st_mtime_ns == before
        meta = peek_meta_properties(Files(), config(tmp_path / "a", tmp_path / "b"))
        assert meta is not None
        assert (meta.broker_id, meta.cluster_id) == (1, "cluster")
        (tmp_path / "b" / "meta.properties").write_text("version=0\nbroker.id=7\ncluster.id=cluster\n")
        with pytest.raises(MetaPropertiesError):
            peek_meta_properties(Files(), config(tmp_path / "a", tmp_path / "b"))

    def test_start_ignores_other_files_and_directories(self, tmp_path: Path) -> None:
        (tmp_path / "lost+found").mkdir()
        (tmp_path / "__pybroker_metadata.db").write_bytes(b"sqlite")
        (tmp_path / f"gone-0.{'a' * 32}-stray").mkdir()
        store = open_store(tmp_path)
        assert store.all_logs() == []
        store.close()
        assert (tmp_path / "lost+found").is_dir()
        assert (tmp_path / f"gone-0.{'a' * 32}-stray").is_dir()

    def test_unreadable_recovery_checkpoint_means_recovery_from_the_log_start(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)
        append(store.get_or_create(TP, is_new=True))
        store.close()
        (tmp_path / ".kafka_cleanshutdown").unlink()
        (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n9\nnonsense")
        log = open_store(tmp_path).get(TP)
        assert log is not None
        assert log.log_end_offset == 1


class TestSeveralDirectories:
    def test_new_log_is_created_in_the_directory_with_the_fewest_partitions(self, tmp_path: Path) -> None:
        store = open_store(tmp_path / "a", tmp_path / "b", tmp_path / "c")
        for partition in range(7):
            store.get_or_create(TopicPartition("t", partition), is_new=True)
        assert sorted(directory.partition_count for directory in store.directories.all) == [2, 2, 3]
        store.close()
        again = open_store(tmp_path / "a", tmp_path / "b", tmp_path / "c")
        assert len(again.all_logs()) == 7
        again.release()

    def test_partition_in_two_log_directories_stops_the_start(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            (tmp_path / name / "topic-0").mkdir(parents=True)
        with pytest.raises(LogDirectoriesError, match="topic-0 is in two"):
            open_store(tmp_path / "a", tmp_path / "b")

    def test_log_directory_named_twice_stops_the_start(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "b").symlink_to(tmp_path / "a")
        settings = unchecked_config(f"log.dirs={tmp_path / 'a'},{tmp_path / 'b'}\n")
        with pytest.raises(LogDirectoriesError, match="twice"):
            LogStore.open(settings, Files(), InlinePool(), lambda: NOW_MS)

    def test_unusable_log_directory_does_not_affect_the_others_at_start(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("no directory")
        store = open_store(tmp_path / "file", tmp_path / "b")
        assert store.directories.offline_paths() == [str(tmp_path / "file")]
        with pytest.raises(KafkaStorageError):
            store.get_or_create(TP, is_new=False)
        assert store.get_or_create(TP, is_new=True).directory == str(tmp_path / "b" / "topic-0")
        store.release()
        with pytest.raises(LogDirectoriesError):
            open_store(tmp_path / "file")

    def test_directory_failure_takes_only_its_own_logs_offline(self, tmp_path: Path) -> None:
        files = FaultyFiles()
        store = open_store(tmp_path / "a", tmp_path / "b", files=files)
        told: list[Any] = []
        store.directories.on_failure = lambda path, partitions: told.append((path, partitions))
        first = store.get_or_create(TopicPartition("t", 0), is_new=True)
        second = store.get_or_create(TopicPartition("t", 1), is_new=True)
        files.fault, files.operations = errno.EIO, ("write",)
        with pytest.raises(KafkaStorageError):
            append(first)
        files.fault = None
        path = os.path.dirname(first.directory)
        assert told == [(path, [first.topic_partition])]
        assert store.directories.offline_paths() == [path]
        assert not store.is_online(first.topic_partition)
        append(second)
        store.close()
        assert not os.path.exists(os.path.join(path, ".kafka_cleanshutdown"))
        assert os.path.exists(os.path.join(os.path.dirname(second.directory), ".kafka_cleanshutdown"))

    def test_log_is_created_in_another_directory_when_one_is_full(self, tmp_path: Path) -> None:
        class OneFull(Files):
            def make_directory(self, path: str) -> None:
                super().make_directory(path)
                if path.startswith(str(tmp_path / "a" / "topic")):
                    raise OSError(errno.ENOSPC, "full", path)

        store = open_store(tmp_path / "a", tmp_path / "b", files=OneFull())
        log = store.get_or_create(TP, is_new=True)
        assert log.directory == str(tmp_path / "b" / "topic-0")
        assert store.directories.offline_paths() == []
        assert not (tmp_path / "a" / "topic-0").exists(), "the next start would find the log twice"
        store.close()


class TestDeletion:
    def test_deleted_log_is_renamed_and_its_files_are_deleted_later(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)
        later: list[Any] = []
        store.deletion.run_later = lambda delay_ms, step: later.append((delay_ms, step))
        log = store.get_or_create(TP, is_new=True)
        append(log)
        store.deletion.delete_log(TP)
        assert store.get(TP) is None
        [name] = [name for name in os.listdir(tmp_path) if name.startswith("topic-0")]
        parsed = parse_directory_name(name)
        assert parsed is not None
        assert (parsed.topic_partition, parsed.suffix) == (TP, "-delete")
        assert later[0][0] == 60_000
        fresh = store.get_or_create(TP, is_new=True)
        assert fresh.log_end_offset == 0
        later[0][1]()
        assert sorted(name for name in os.listdir(tmp_path) if name.startswith("topic-0")) == ["topic-0"]
        store.release()

    def test_deletion_of_many_logs_writes_the_checkpoints_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pool = ManualPool()
        store = LogStore.open(config(tmp_path), Files(), pool, lambda: NOW_MS)
        partitions = [TopicPartition("topic", number) for number in range(20)]
        for each in partitions:
            append(store.get_or_create(each, is_new=True))
        store.checkpoints.write_recovery_points()
        written: list[Any] = []
        write = Checkpoints.write_offsets_of

        def count(checkpoints: Checkpoints, directory: LogDirectory) -> bool:
            written.append(directory.path)
            return write(checkpoints, directory)

        monkeypatch.setattr(Checkpoints, "write_offsets_of", count)
        for each in partitions[:10]:
            store.deletion.delete_log(each)
        pool.run()
        assert len(written) == 1
        store.deletion.delete_log(partitions[10])
        pool.run()
        assert len(written) == 2
        left = tmp_path.joinpath("recovery-point-offset-checkpoint").read_text().splitlines()[2:]
        assert left == [f"topic {number} 0" for number in range(11, 20)]
        store.release()

    def test_checkpoint_without_a_deleted_log_is_not_overwritten_by_an_older_one(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The timer and a worker may write at the same time.

        A later log of the partition would find the old offsets.
        """
        store = open_store(tmp_path)
        partitions = [TopicPartition("topic", number) for number in range(3)]
        for each in partitions:
            append(store.get_or_create(each, is_new=True))
        gather = Checkpoints._logs_and_copies
        deletions: list[threading.Thread] = []

        def delete() -> None:
            for each in partitions[:2]:
                store.deletion.delete_log(each)

        def gather_and_be_slow(checkpoints: Checkpoints, directory: LogDirectory) -> list[Log]:
            found = gather(checkpoints, directory)
            if not deletions:
                deletions.append(threading.Thread(target=delete))
                deletions[0].start()
                deletions[0].join(0.3)  # it waits for this to be written; if it does not, it is over by then
            return found

        monkeypatch.setattr(Checkpoints, "_logs_and_copies", gather_and_be_slow)
        store.checkpoints.write_recovery_points()
        deletions[0].join()
        left = tmp_path.joinpath("recovery-point-offset-checkpoint").read_text().splitlines()[2:]
        assert left == ["topic 2 0"]
        store.release()

    def test_deletions_left_by_a_stop_are_done_at_the_next_start(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)
        store.deletion.run_later = lambda delay_ms, step: None
        append(store.get_or_create(TP, is_new=True))
        store.deletion.delete_log(TP)
        store.close()
        again = open_store(tmp_path)
        assert again.all_logs() == []
        again.deletion.delete_leftovers()
        assert not [name for name in os.listdir(tmp_path) if name.endswith("-delete")]
        again.release()

    def test_log_created_before_the_rename_of_a_deleted_one_is_a_new_log(self, tmp_path: Path) -> None:
        pool = ManualPool()
        store = LogStore.open(config(tmp_path), Files(), pool, lambda: NOW_MS)
        old = store.get_or_create(TP, is_new=True)
        append(old)
        strand = store.strand(TP)
        assert strand is not None
        results: list[Any] = []
        strand.submit(lambda log: None)
        store.deletion.delete_log(TP)
        strand.append(LeaderAppend(batch_of("late"), 0, NOW_MS), results.append)
        new = store.get_or_create(TP, is_new=True)
        assert new is not old
        append(new, "new")
        pool.run()
        assert isinstance(results[0], KafkaStorageError)
        assert records_from(new) == [(0, b"new")]
        store.release()

    def test_new_log_does_not_inherit_checkpoints_of_a_deleted_one(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)
        log = store.get_or_create(TP, is_new=True)
        for _ in range(5):
            append(log)
        log.increment_log_start_offset(4)
        log.flush(NOW_MS)
        store.checkpoints.write_recovery_points()
        store.checkpoints.write_log_starts()
        store.deletion.delete_log(TP)
        append(store.get_or_create(TP, is_new=True), "new")
        store.release()
        again = open_store(tmp_path).get(TP)
        assert again is not None
        assert records_from(again) == [(0, b"new")]

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("topic-0", (("topic", 0), None)),
            ("a-b.c_d-12", (("a-b.c_d", 12), None)),
            ("x-delete-0", (("x-delete", 0), None)),
            (f"topic-3.{'0' * 32}-delete", (("topic", 3), "-delete")),
            (f"topic-3.{'0' * 32}-future", (("topic", 3), "-future")),
            ("topic", None),
            ("topic-", None),
            ("-1", None),
            ("topic-x", None),
            ("topic-1x", None),
            ("topic-delete", None),
        ],
    )
    def test_partition_directory_names_are_parsed_as_kafka_does(self, name: str, expected: Any) -> None:
        parsed = parse_directory_name(name)
        assert (None if parsed is None else tuple(parsed[:2])) == expected

    def test_long_directory_name_is_cut_to_what_a_file_system_takes(self) -> None:
        tp = TopicPartition("t" * 249, 12)
        name = deleted_directory_name(tp, uuid.UUID(int=1))
        assert len(name) == 255
        assert parse_directory_name(name) is not None


class TestCheckpoints:
    def test_each_checkpoint_is_written_at_the_interval_of_its_setting(self, tmp_path: Path) -> None:
        """Only the timers write them, first after log.initial.task.delay.ms."""
        settings: dict[str, Any] = {
            "log_initial_task_delay_ms": 1000,
            "log_flush_offset_checkpoint_interval_ms": 5000,
            "log_flush_start_offset_checkpoint_interval_ms": 20_000,
            "log_cleaner_enable": "false",
        }
        store = open_store(tmp_path, **settings)
        written: list[str] = []
        store.checkpoints.write_recovery_points = lambda: written.append("recovery")  # type: ignore[method-assign]
        store.checkpoints.write_log_starts = lambda: written.append("start")  # type: ignore[method-assign]
        loop: Any = VirtualTimers()
        schedule = StoreSchedule(store, loop, InlinePool(), lambda log: log.log_end_offset, lambda: None)  # type: ignore[arg-type,return-value]
        schedule.start()
        counts = []
        for milliseconds in (999, 1, 20_000):
            loop.advance(milliseconds)
            counts.append((written.count("recovery"), written.count("start")))
        assert counts == [(0, 0), (1, 1), (5, 2)]
        schedule.stop()
        loop.advance(100_000)
        assert len(written) == 7
        store.release()

    def test_high_watermarks_are_written_to_the_directory_of_their_log(self, tmp_path: Path) -> None:
        store = open_store(tmp_path / "a", tmp_path / "b")
        tps = [TopicPartition("t", partition) for partition in range(3)]
        for tp in tps:
            store.get_or_create(tp, is_new=True)
        written = {tp: number * 10 for number, tp in enumerate(tps)}
        store.checkpoints.write_high_watermarks(written)
        assert store.read_high_watermarks() == written
        assert (tmp_path / "a" / "replication-offset-checkpoint").read_text().count("t ") in (1, 2)
        store.release()

    def test_full_disk_keeps_the_old_checkpoint(self, tmp_path: Path) -> None:
        files = FaultyFiles()
        store = open_store(tmp_path, files=files)
        log = store.get_or_create(TP, is_new=True)
        append(log)
        log.flush(NOW_MS)
        store.checkpoints.write_recovery_points()
        append(log)
        log.flush(NOW_MS)
        files.fault, files.operations = errno.ENOSPC, ("write",)
        store.checkpoints.write_recovery_points()
        files.fault = None
        assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n1\ntopic 0 1\n"
        assert store.directories.offline_paths() == []
        store.checkpoints.write_recovery_points()
        assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n1\ntopic 0 2\n"
        store.release()

    def test_truncation_lowers_the_checkpointed_recovery_point(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)
        log = store.get_or_create(TP, is_new=True)
        for _ in range(5):
            append(log)
        log.flush(NOW_MS)
        store.checkpoints.write_recovery_points()
        truncate_to(log, 2, NOW_MS)
        assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n1\ntopic 0 2\n"
        store.release()


def test_changed_topic_settings_reach_the_open_logs(tmp_path: Path) -> None:
    overrides = {"topic": {"max.message.bytes": "500"}}
    store = LogStore.open(
        config(tmp_path), Files(), InlinePool(), lambda: NOW_MS, topic_overrides=lambda topic: overrides.get(topic, {})
    )
    log = store.get_or_create(TP, is_new=True)
    assert log.config.max_message_bytes == 500
    overrides["topic"] = {"max.message.bytes": "900", "retention.ms": "5"}
    store.update_topic_config("topic")
    assert (log.config.max_message_bytes, log.config.retention_ms) == (900, 5)
    store.update_config(config(tmp_path, producer_id_expiration_ms=77))
    assert log.config.producer_id_expiration_ms == 77
    store.release()


async def test_schedule_flushes_rolled_segments_and_deletes_expired_ones(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    pool, background = WorkerPool(loop, 2), WorkerPool(loop, 1, "background")
    settings = config(
        tmp_path, log_initial_task_delay_ms=0, log_retention_check_interval_ms=1, log_segment_delete_delay_ms=1
    )
    store = LogStore.open(settings, Files(), pool, lambda: NOW_MS + 30 * 24 * 3600 * 1000)
    schedule = StoreSchedule(store, loop, background, lambda log: log.log_end_offset, lambda: WorkerPool(loop, 1))
    log = store.get_or_create(TP, is_new=True)
    strand = store.strand(TP)
    assert strand is not None
    schedule.start()
    done = loop.create_future()
    strand.submit(lambda log: (append(log), log.roll(NOW_MS), append(log)), done.set_result)
    await done
    deleted: list[str] = [""]
    while log.log_start_offset < 2 or log.recovery_point < 1 or deleted:
        await asyncio.sleep(0)
        deleted = [name for name in os.listdir(log.directory) if name.endswith(".deleted")]
    schedule.stop()
    background.close()
    await asyncio.sleep(0)  # posted callbacks may need the strands
    pool.close()
    store.close()
    left = sorted(name for name in os.listdir(log.directory) if name.endswith((".log", ".index")))
    assert left == [f"{2:020d}.index", f"{2:020d}.log"]

"""Recovery by child processes: the same result as inline, their log lines, and no loss when a child dies."""

import logging
import os
import pickle
import random
import shutil
import sys
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.config.dynamic_layers import DynamicLayers
from pybroker.config.load import load_config, with_dynamic
from pybroker.storage.files.files import Files
from pybroker.storage.log_config import LogConfig
from pybroker.storage.recovery import log_loader
from pybroker.storage.recovery.log_recovery import StartingPoint
from pybroker.storage.recovery.recovery_children import shares
from pybroker.storage.recovery.recovery_job import RecoveryJob
from pybroker.storage.recovery.recovery_progress import RecoveryProgress
from pybroker.storage.store import recovery_plan
from pybroker.storage.store.log_directories import LogDirectoriesError
from pybroker.storage.store.log_store import LogStore
from pybroker.storage.workers import child_process
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, records_from
from support.logs.storage_pools import HeldRunner, InlinePool

PARTITIONS = [TopicPartition("topic", number) for number in range(5)]


def open_store(directory: Path, files: Files | None = None) -> LogStore:
    settings = {
        "log.segment.bytes": "3000",
        "log.index.interval.bytes": "200",
        "num.recovery.threads.per.data.dir": "2",
        "log.cleanup.policy": "delete",
    }
    config = load_config(f"log.dirs={directory}\n", settings)
    return LogStore.open(config, files or Files(), InlinePool(), lambda: NOW_MS)


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """Make logs that were not stopped, one of them damaged in its middle."""
    store = open_store(tmp_path / "crashed")
    for tp in PARTITIONS:
        log = store.get_or_create(tp, is_new=True)
        for number in range(100):
            batch = batch_of(f"{tp} {number}" * 3, producer_id=5, producer_epoch=0, base_sequence=number)
            append_as_leader(log, batch, number // 30, NOW_MS)
    torn = store.get(PARTITIONS[3])
    assert torn is not None
    path = torn.segments[1].log_ref.path
    store.release()
    os.truncate(path, 700)
    return tmp_path / "crashed"


def known(store: LogStore) -> dict[TopicPartition, object]:
    return {
        log.topic_partition: (
            records_from(log),
            log.recovery_point,
            log.leader_epochs.entries,
            {number: list(entry.batches) for number, entry in log.producer_state.producers.items()},
            [len(segment.offset_index) for segment in log.segments],
        )
        for log in store.all_logs()
    }


def recovered_inline(crashed: Path, directory: Path) -> dict[TopicPartition, object]:
    """Recovers a copy without child processes; returns its contents."""
    shutil.copytree(crashed, directory / "inline")
    store = open_store(directory / "inline")
    contents = known(store)
    store.release()
    return contents


def test_child_processes_recover_the_same_as_inline_and_their_lines_are_logged(
    crashed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = recovered_inline(crashed, tmp_path)
    monkeypatch.setattr(recovery_plan, "_WORTH_PROCESSES", 1)
    caplog.clear()
    with caplog.at_level(logging.INFO):
        store = open_store(crashed)
    assert known(store) == expected
    assert "recovering in 2 processes" in caplog.text
    assert caplog.text.count("topic-3: truncating") == 1
    assert "recovered 5 logs" in caplog.text
    for tp in PARTITIONS:
        log = store.get(tp)
        assert log is not None
        end = log.log_end_offset
        assert append_as_leader(log, batch_of("next"), 9, NOW_MS).first_offset == end
    store.close()


def test_logs_that_a_dead_child_process_left_are_recovered_inline(
    crashed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = recovered_inline(crashed, tmp_path)
    monkeypatch.setattr(recovery_plan, "_WORTH_PROCESSES", 1)
    ends_early = [sys.executable, "-c", "import sys; sys.stdin.readline()"]
    monkeypatch.setattr(child_process, "command_of", lambda module: ends_early)
    store = open_store(crashed)
    assert known(store) == expected
    store.release()


def crash_while_moving(directory: Path, other: Path) -> None:
    """Make a crash with the first log half copied to the other directory."""
    config = load_config(f"log.dirs={directory},{other}\n", {"log.segment.bytes": "3000"})
    slow = with_dynamic(config, DynamicLayers({"replica.alter.log.dirs.io.max.bytes.per.second": "2000"}))
    store = LogStore.open(slow, Files(), InlinePool(), lambda: NOW_MS)
    store.moves.update_config(slow)
    runner = HeldRunner(NOW_MS, 1000)
    store.moves.start(runner)
    store.moves.begin(PARTITIONS[0], str(other))
    runner.run_one()
    (move,) = store.moves_to(store.directories.all[1])
    assert 0 < move.future.log_end_offset < move.log.log_end_offset
    store.release()


def test_copies_of_unfinished_moves_are_recovered_by_child_processes_too(
    crashed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_while_moving(crashed, tmp_path / "other")
    monkeypatch.setattr(recovery_plan, "_WORTH_PROCESSES", 1)

    def recover_here(*arguments: object) -> None:
        raise AssertionError("read in this process")

    monkeypatch.setattr(log_loader, "recover_segments", recover_here)
    config = load_config(f"log.dirs={crashed},{tmp_path / 'other'}\n", {"log.segment.bytes": "3000"})
    store = LogStore.open(config, Files(), InlinePool(), lambda: NOW_MS)
    (move,) = store.moves_to(store.directories.all[1])
    assert 0 < move.future.log_end_offset < move.log.log_end_offset
    runner = HeldRunner(NOW_MS, 1000)
    store.moves.start(runner)
    runner.run()
    log = store.get(PARTITIONS[0])
    assert log is not None
    assert log.directory == str(tmp_path / "other" / str(PARTITIONS[0]))
    assert len(records_from(log)) == 100
    store.close()


class OtherFiles(Files):
    """Files like a simulation's, which a child process would not have."""


def test_cancelled_loading_leaves_all_logs_to_the_next_start(
    crashed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inline = open_store(Path(shutil.copytree(crashed, tmp_path / "inline")))
    monkeypatch.setattr(recovery_plan, "_WORTH_PROCESSES", 1)
    config = load_config(f"log.dirs={crashed}\n", {"num.recovery.threads.per.data.dir": "2"})
    store = LogStore(config, Files(), InlinePool(), lambda: NOW_MS, lambda topic: {}, random.Random(1))
    store.lock_directories()
    store.give_up_loading()
    with pytest.raises(LogDirectoriesError, match="cancelled"):
        store.load()
    assert store.all_logs() == []
    store.release()
    again = open_store(crashed)
    assert known(again) == known(inline)
    again.release()
    inline.release()


def test_no_child_process_is_started_for_little_work_or_other_file_systems(
    crashed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(crashed, tmp_path / "other")
    with caplog.at_level(logging.INFO):
        open_store(crashed).release()
        monkeypatch.setattr(recovery_plan, "_WORTH_PROCESSES", 1)
        open_store(tmp_path / "other", OtherFiles()).release()
    assert "processes" not in caplog.text


def test_recovery_progress_is_logged_every_few_seconds(caplog: pytest.LogCaptureFixture) -> None:
    now = [0]
    with caplog.at_level(logging.INFO):
        progress = RecoveryProgress(3, 300 << 20, lambda: now[0])
        for second in range(12):
            now[0] = second * 1000
            progress.read(10 << 20)
        progress.log_is_done()
        progress.finish()
    assert [record.getMessage() for record in caplog.records] == [
        "recovering: 0 of 3 logs, 60 of 300 MiB",
        "recovering: 0 of 3 logs, 110 of 300 MiB",
        "recovered 1 logs, read 120.0 MiB in 11000 ms",
    ]


def test_child_processes_get_about_equal_shares_of_bytes() -> None:
    jobs = [
        RecoveryJob(str(size), TopicPartition("t", size), LogConfig(), StartingPoint(), size, 0)
        for size in (1, 7, 3, 5, 4)
    ]
    parts = [[job.unflushed_bytes for job in part] for part in shares(jobs, 2)]
    assert [sum(part) for part in parts] == [10, 10]
    assert shares(jobs[:1], 4) == [jobs[:1]]
    assert pickle.loads(pickle.dumps(jobs)) == jobs

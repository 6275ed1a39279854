"""``pybroker log verify`` accepts sound files, in any state of a broker, and refuses other directories."""

import re
import shutil
import threading
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.config.load import load_config
from pybroker.storage.files.files import Files
from pybroker.storage.log.log_retention import apply_retention
from pybroker.storage.log_config import LogConfig
from pybroker.storage.store.log_store import LogStore
from pybroker.storage.verify.fault import Fault, Findings
from support.logs.compaction import compact_log
from support.logs.log_tool import REFERENCE, TRANSACTIONS, LogTool, fill_log, logs, write_broker_directory
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, close_cleanly, open_log
from support.logs.storage_pools import InlinePool

FAR_MS = 1_900_000_000_000


class TestSound:
    def test_verify_finds_no_fault_after_a_clean_stop(self, sound: Path, log_tool: LogTool) -> None:
        assert len(logs(sound)) > 4
        ran = log_tool("verify", sound)
        assert (ran.exit_code, ran.errors) == (0, [])
        assert re.fullmatch(r"3 partitions with 0\.\d MiB: no fault found", ran.lines[0])
        assert len(ran.lines) == 1

    @pytest.mark.parametrize(
        "directory", [REFERENCE / "kafka-3.9", REFERENCE / "ibp-2.8", TRANSACTIONS], ids=lambda path: path.name
    )
    @pytest.mark.parametrize("option", [[], ["--shallow"]], ids=["deep", "shallow"])
    def test_verify_finds_no_fault_in_logs_of_kafka(
        self, directory: Path, option: list[str], log_tool: LogTool
    ) -> None:
        ran = log_tool("verify", *option, directory / "data")
        assert ran.exit_code == 0, ran.lines

    def test_verify_accepts_single_partition_directories(self, sound: Path, log_tool: LogTool) -> None:
        assert log_tool("verify", sound / "topic-0", sound / "plain-1").lines[0].startswith("2 partitions ")

    @pytest.mark.parametrize("state", ["running", "killed", "recovered"])
    def test_verify_finds_no_fault_in_any_state_of_a_broker(self, state: str, data: Path, log_tool: LogTool) -> None:
        config = load_config(f"log.dirs={data}\n", {"log.segment.bytes": "15000", "log.index.interval.bytes": "500"})

        def open_store() -> LogStore:
            return LogStore.open(config, Files(), InlinePool(), lambda: NOW_MS, broker_id=1, cluster_id="cluster")

        store = open_store()
        for log in store.all_logs():
            append_as_leader(log, batch_of("more" * 200), 9, NOW_MS + 3000)
        if state != "running":
            store.release()
            path = logs(data)[-1]
            path.write_bytes(path.read_bytes() + path.read_bytes()[:70])
        if state == "recovered":
            store = open_store()
        ran = log_tool("verify", data)
        assert ran.exit_code == 0, ran.lines
        store.release()

    @pytest.mark.parametrize("round_count", [1, 2])
    @pytest.mark.parametrize("name", ["ours", *(path.name for path in REFERENCE.glob("*/data/golden1-*"))])
    def test_verify_finds_no_fault_in_a_compacted_log(
        self, name: str, round_count: int, tmp_path: Path, log_tool: LogTool
    ) -> None:
        """The second round finds the delete horizons of the first one over: markers and empty batches go."""
        config = LogConfig(segment_bytes=15_000, index_interval_bytes=500, retention_ms=-1, delete_retention_ms=0)
        topic_partition = TopicPartition("topic", 0)
        if name != "ours":
            (found,) = REFERENCE.glob(f"*/data/{name}")
            shutil.copytree(found, tmp_path / name)
            topic_partition = TopicPartition(name.removesuffix("-0"), 0)
        log = open_log(tmp_path, config, topic_partition=topic_partition, now_ms=FAR_MS)
        if name == "ours":
            fill_log(log)
        for number in range(round_count):
            append_as_leader(log, batch_of("x" * 14_000, key=b"k%d" % number, timestamp_ms=FAR_MS), 99, FAR_MS)
            compact_log(log, now_ms=FAR_MS + number * 1000)
        close_cleanly(log, FAR_MS)
        (tmp_path / ".kafka_cleanshutdown").touch()
        ran = log_tool("verify", log.directory)
        assert ran.exit_code == 0, "\n".join(ran.lines)

    def test_log_tools_find_no_fault_while_a_broker_appends_rolls_and_deletes(
        self, tmp_path: Path, log_tool: LogTool
    ) -> None:
        """None of the three tools finds a fault at any moment."""
        write_broker_directory(tmp_path)
        overrides = {"log.segment.bytes": "15000", "log.index.interval.bytes": "500", "log.retention.bytes": "60000"}
        config = load_config(f"log.dirs={tmp_path}\n", overrides)
        store = LogStore.open(config, Files(), InlinePool(), lambda: NOW_MS, broker_id=1, cluster_id="cluster")
        log = store.get(TopicPartition("topic", 0))
        assert log is not None
        appends = 0
        is_over = threading.Event()

        def write() -> None:
            nonlocal appends
            while not is_over.is_set():
                appends += 1
                batch = batch_of(*"abcdefgh", timestamp_ms=NOW_MS + 5000 + appends)
                append_as_leader(log, batch, 3 + appends // 500, NOW_MS + 5000 + appends)
                if appends % 50 == 0:
                    apply_retention(log, NOW_MS, log.log_end_offset)
                    store.checkpoints.write_recovery_points()
                    store.checkpoints.write_log_starts()

        writer = threading.Thread(target=write)
        writer.start()
        try:
            before = 0
            for _ in range(12):
                for tool in ("verify", "stat", "dump"):
                    ran = log_tool(tool, tmp_path)
                    assert (ran.exit_code, ran.errors) == (0, []), ran.lines
                while appends == before:
                    assert writer.is_alive()
                before = appends
        finally:
            is_over.set()
            writer.join()
        assert log.log_start_offset > 100
        store.release()

    def test_verify_accepts_a_log_start_newer_than_its_checkpoint(self, tmp_path: Path, log_tool: LogTool) -> None:
        log = open_log(tmp_path)
        for number in range(9):
            append_as_leader(log, batch_of("x"), 2 + number // 3, NOW_MS)
        log.increment_log_start_offset(4)
        log.flush(NOW_MS)
        ran = log_tool("verify", log.directory)
        assert ran.exit_code == 0, ran.lines

    def test_verify_finds_no_fault_after_retention(self, tmp_path: Path, log_tool: LogTool) -> None:
        log = open_log(tmp_path, LogConfig(segment_bytes=15_000, index_interval_bytes=500, retention_bytes=30_000))
        fill_log(log)
        assert apply_retention(log, NOW_MS, log.log_end_offset)
        close_cleanly(log)
        ran = log_tool("verify", log.directory)
        assert ran.exit_code == 0, ran.lines


def test_verify_prints_the_first_faults_of_a_file_and_counts_the_rest() -> None:
    told: list[Fault] = []
    found = Findings(told.append)
    for position in range(25):
        found.add("a", "x", position)
    found.add("b", "y")
    found.close()
    assert [str(fault) for fault in told[:2]] == ["a: byte 0: x", "a: byte 1: x"]
    assert [str(fault) for fault in told[10:]] == ["b: y", "a: and 15 more faults"]
    assert found.count == 26


def test_verify_refuses_a_path_that_is_no_log_directory(tmp_path: Path, log_tool: LogTool) -> None:
    ran = log_tool("verify", tmp_path)
    assert (ran.exit_code, ran.lines) == (2, [])
    assert "neither a log directory nor one of a partition" in ran.errors[0]
    assert log_tool("verify", tmp_path / "missing").exit_code == 2
    assert log_tool("verify").exit_code == 2


def test_verify_skips_directories_being_deleted(data: Path, log_tool: LogTool) -> None:
    shutil.copytree(data / "plain-0", data / "plain-7.0123456789abcdef0123456789abcdef-delete")
    (data / "plain-7.0123456789abcdef0123456789abcdef-delete" / f"{0:020}.index").unlink()
    assert log_tool("verify", data).exit_code == 0

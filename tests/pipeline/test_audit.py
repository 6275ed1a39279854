"""Tests of the findings of an audit in log directories of replicas, and of audits without findings.

Tasks run here one after another; test_spark_audit runs them on Spark. Faults of single files are tested in more detail
in test_log_verify_damage.
"""

import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.pipeline.audit.audit import Audit, gathered, plan_audit
from pybroker.pipeline.audit.partition_audit import audit_partition
from pybroker.pipeline.audit.report import report_json, report_page
from pybroker.protocol.records.batch import RecordBatch
from pybroker.storage.log_config import LogConfig
from pybroker.storage.segment.partition_files import NoLogError
from support.logs.compaction import compact_log
from support.logs.kafka_directories import LOGDIRS
from support.logs.log_tool import fill_log, patch, positions_in, write_broker_directory
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, close_cleanly, open_log

CLUSTER_FILES = ("recovery-point-offset-checkpoint", "replication-offset-checkpoint")
T = TopicPartition("topic", 0)


def audited(*directories: Path) -> Audit:
    paths = [str(path) for path in directories]
    tasks, faults = plan_audit(paths)
    return gathered(paths, [audit_partition(task) for task in tasks], faults)


def said(*directories: Path) -> list[str]:
    return [str(fault) for fault in audited(*directories).faults]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "data"
    write_broker_directory(path)
    return path


@pytest.fixture
def replicas(sound: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Makes the log directories of two brokers with replicas of the same partitions."""
    one, other = (Path(shutil.copytree(sound, tmp_path / name)) for name in ("one", "other"))
    return one, other


def logs(data: Path) -> list[Path]:
    return sorted((data / "topic-0").glob("*.log"))


def checkpoint(path: Path, **offsets: int) -> None:
    lines = [f"{name} 0 {offset}\n" for name, offset in offsets.items()]
    path.write_text(f"0\n{len(lines)}\n" + "".join(lines))


# --- no faults --------------------------------------------------------------------------------------------------------


def test_audit_of_equal_replicas_finds_nothing(replicas: tuple[Path, Path]) -> None:
    found = audited(*replicas)
    assert found.faults == ()
    assert {str(each.topic_partition): len(each.replicas) for each in found.partitions} == {
        "plain-0": 2,
        "plain-1": 2,
        "topic-0": 2,
    }
    assert found.size_bytes == sum(path.stat().st_size for data in replicas for path in data.rglob("*.log"))


@pytest.mark.parametrize("name", ["kafka-3.9", "ibp-2.8"])
def test_audit_of_kafka_log_directories_finds_nothing(name: str, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(LOGDIRS / name / "data", tmp_path / "data"))
    found = audited(LOGDIRS / name / "data", copy)
    assert found.faults == ()
    assert all(len(each.replicas) == 2 for each in found.partitions)


def test_replicas_with_other_start_and_end_agree(replicas: tuple[Path, Path]) -> None:
    """One replica lacks a segment by retention, and uncommitted records."""
    one, other = replicas
    (other / ".kafka_cleanshutdown").unlink()
    last = logs(other)[-1]
    committed = positions_in(last)[0][1]
    last.write_bytes(last.read_bytes()[: committed.size_bytes])
    for path in (*last.parent.glob("*.snapshot"), *last.parent.glob(f"{logs(other)[0].stem}.*")):
        path.unlink()
    for path in last.parent.glob(f"{last.stem}.*index"):
        path.write_bytes(b"")
    for data in replicas:
        checkpoint(data / CLUSTER_FILES[1], topic=committed.next_offset)
    checkpoint(other / CLUSTER_FILES[0], topic=0)
    assert said(*replicas) == []
    assert said(other, one) == []


def test_replicas_compacted_at_other_times_agree(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=15_000, index_interval_bytes=500, retention_ms=-1, delete_retention_ms=0)
    for name in ("one", "other"):
        data = tmp_path / name
        log = open_log(data, config, topic_partition=T, now_ms=NOW_MS)
        fill_log(log)
        append_as_leader(log, batch_of("x" * 14_000, key=b"last", timestamp_ms=NOW_MS), 99, NOW_MS)
        end = log.log_end_offset
        if name == "other":
            checkpoint(data / "cleaner-offset-checkpoint", topic=compact_log(log, now_ms=NOW_MS + 60_000))
        close_cleanly(log, NOW_MS)
        (data / ".kafka_cleanshutdown").touch()
        shutil.copy(LOGDIRS / "kafka-3.9" / "data" / "meta.properties", data)
        checkpoint(data / CLUSTER_FILES[1], topic=end)
    sizes = [sum(path.stat().st_size for path in logs(tmp_path / name)) for name in ("one", "other")]
    assert sizes[1] < sizes[0]
    assert said(tmp_path / "one", tmp_path / "other") == []
    assert said(tmp_path / "other", tmp_path / "one") == []


# --- faults -----------------------------------------------------------------------------------------------------------

Damage = Callable[[Path], Path]
"""Damages a log directory; returns the file or directory that the audit must name."""
DAMAGES: list[tuple[Damage, str]] = []


def damage(says: str) -> Callable[[Damage], Damage]:
    def register(function: Damage) -> Damage:
        DAMAGES.append((function, says))
        return function

    return register


def with_right_crc(data: bytes) -> bytes:
    return data[:17] + struct.pack(">I", RecordBatch(data, 0).compute_crc()) + data[21:]


@damage(r"has the checksum \d+, its bytes have")
def flipped_byte(data: Path) -> Path:
    path = logs(data)[1]
    position, batch = positions_in(path)[3]
    patch(path, position + batch.size_bytes - 3, bytes([batch.view()[-3] ^ 0x10]))
    return path


@damage(r"a segment is missing in between")
def missing_segment(data: Path) -> Path:
    gone, behind = logs(data)[1:3]
    for path in gone.parent.glob(f"{gone.stem}.*"):
        path.unlink()
    return behind


@damage(r"offset \d+ is missing, but exists in .*one/topic-0")
def missing_segment_of_one_replica(data: Path) -> Path:
    checkpoint(data / "cleaner-offset-checkpoint", topic=1)  # so that the gap alone is no fault
    return missing_segment(data).parent


@damage(r"an entry points offset \d+ at byte \d+, where no batch begins")
def wrong_index_entry(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".index")
    _, position = struct.unpack(">ii", path.read_bytes()[8:16])
    patch(path, 12, struct.pack(">i", position + 1))
    return path


@damage(r"offset \d+ has another record than in .*one/topic-0")
def diverged_replica(data: Path) -> Path:
    path = logs(data)[1]
    position, batch = next(
        (position, batch)
        for position, batch in positions_in(path)
        if not batch.is_compressed and not batch.is_transactional and batch.size_bytes > 100
    )
    other = bytearray(batch.view())
    other[-3] ^= 1
    patch(path, position, with_right_crc(bytes(other)))
    return path


@damage(r"offset \d+ has leader epoch 9, not 0 as in .*one/topic-0")
def diverged_leader_epoch(data: Path) -> Path:
    path = logs(data)[0]
    position, _ = positions_in(path)[-1]
    patch(path, position + 12, struct.pack(">i", 9))
    return path


@damage(r"leader epoch 0 begins at offset \d+, but is listed after leader epoch 1")
def swapped_epochs(data: Path) -> Path:
    path = data / "topic-0" / "leader-epoch-checkpoint"
    lines = path.read_text().splitlines()
    lines[2], lines[3] = lines[3], lines[2]
    path.write_text("\n".join(lines) + "\n")
    return path


@damage(r"the high watermark of topic-0 is \d+, but its log ends at \d+")
def truncated_tail(data: Path) -> Path:
    path = logs(data)[-1]
    path.write_bytes(path.read_bytes()[: positions_in(path)[-1][0]])
    return data / CLUSTER_FILES[1]


@damage(r"a batch of \d+ bytes is cut off after \d+")
def tail_cut_within_a_batch(data: Path) -> Path:
    path = logs(data)[-1]
    path.write_bytes(path.read_bytes()[:-7])
    return path


@damage(r"the topic id is .*, but another partition of the topic has")
def partition_of_another_topic(data: Path) -> Path:
    path = data / "plain-1" / "partition.metadata"
    shutil.copy(data / "topic-0" / "partition.metadata", path)
    return path


@pytest.mark.parametrize(("harm", "says"), DAMAGES, ids=[harm.__name__ for harm, _ in DAMAGES])
def test_audit_finds_damage(harm: Damage, says: str, replicas: tuple[Path, Path]) -> None:
    path = harm(replicas[1])
    lines = said(*replicas)
    assert any(line.startswith(str(path)) and re.search(says, line) for line in lines), lines
    assert not any(line.startswith(f"{replicas[0]}/") for line in lines), "the sound replica is blamed"


def test_replica_without_committed_records_is_found_in_either_order(replicas: tuple[Path, Path]) -> None:
    truncated_tail(replicas[1])
    for order in (replicas, tuple(reversed(replicas))):
        assert any(re.search(r"offset \d+ (is missing|exists here)", line) for line in said(*order))


def test_replica_without_high_watermark_is_named_and_the_others_are_compared(
    replicas: tuple[Path, Path], sound: Path, tmp_path: Path
) -> None:
    unknown = Path(shutil.copytree(sound, tmp_path / "another"))
    (unknown / CLUSTER_FILES[1]).unlink()
    truncated_tail(replicas[1])
    found = audited(unknown, *replicas)
    assert any(re.search(r"offset \d+ is missing", str(fault)) for fault in found.faults)
    assert found.not_compared == [f"{unknown}/{name}" for name in ("plain-0", "plain-1", "topic-0")]
    told = [partition["notCompared"] for partition in report_json(found)["partitions"]]
    assert told == [[directory] for directory in found.not_compared]
    assert "no checkpoint has its high watermark: 3 replicas" in report_page(found)


def test_single_replica_needs_no_high_watermark(sound: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copytree(sound, tmp_path / "alone"))
    (alone / CLUSTER_FILES[1]).unlink()
    found = audited(alone)
    assert found.not_compared == []
    assert "high watermark:" not in report_page(found)


def test_fault_seen_by_several_partitions_is_reported_once(sound: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(sound, tmp_path / "data"))
    (data / CLUSTER_FILES[1]).write_text("nonsense\n")
    assert len(said(data)) == 1


def test_path_without_log_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoLogError):
        audited(tmp_path)


# --- reports ----------------------------------------------------------------------------------------------------------


def test_audit_reports_groups_with_their_lag() -> None:
    report = report_json(audited(LOGDIRS / "kafka-3.9" / "data"))
    assert report["sound"] is True
    assert report["groups"], "Kafka's directory has groups"
    offsets = [entry for group in report["groups"] for entry in group["offsets"]]
    assert offsets
    assert all(entry["offset"] >= 0 and (entry["lag"] is None or entry["lag"] >= 0) for entry in offsets)


def test_audit_page_is_self_contained_and_escapes_names(replicas: tuple[Path, Path], tmp_path: Path) -> None:
    flipped_byte(replicas[1])
    strange = replicas[1].rename(tmp_path / "<script>&")
    page = report_page(audited(replicas[0], strange))
    assert "1 fault found" in page
    assert "&lt;script&gt;&amp;/topic-0/" in page
    assert "<script" not in page
    assert not re.search(r"(src|href)=|url\(", page)

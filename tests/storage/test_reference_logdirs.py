"""Data directories written by Apache Kafka: every batch reads as Kafka's dump says, and Kafka can read them again."""

import gzip
import json
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.config.load import load_config
from pybroker.protocol.records.batch import RecordBatch, iter_batches
from pybroker.protocol.records.record import read_records
from pybroker.storage.files.files import Files
from pybroker.storage.leader_epochs import EpochEntry
from pybroker.storage.log.log import Log
from pybroker.storage.segment.transaction_index import AbortedTransaction
from pybroker.storage.store.log_directories import peek_meta_properties
from pybroker.storage.store.log_store import LogStore
from support.golden_records import check_batch
from support.logs.storage_logs import NOW_MS
from support.logs.storage_pools import InlinePool

REFERENCE = Path(__file__).resolve().parents[1] / "reference" / "logdirs"
DIRECTORIES = ("kafka-3.9", "ibp-2.8")


def dumped_batches(name: str) -> dict[str, list[dict[str, Any]]]:
    """Return the dumped batches by partition directory, in order."""
    batches = defaultdict(list)
    with gzip.open(REFERENCE / name / "batches.jsonl.gz", "rt") as lines:
        for line in lines:
            batch = json.loads(line)
            batches[batch["file"].partition("/")[0]].append(batch)
    return batches


def open_copy(name: str, target: Path, *, after_crash: bool = False) -> LogStore:
    shutil.copytree(REFERENCE / name / "data", target, dirs_exist_ok=True)
    if after_crash:
        (target / ".kafka_cleanshutdown").unlink()
        (target / "recovery-point-offset-checkpoint").unlink()
    return open_store(target)


def open_store(target: Path) -> LogStore:
    config = load_config(f"log.dirs={target}\n")
    return LogStore.open(config, Files(), InlinePool(), lambda: NOW_MS)


def read_all(log: Log) -> list[tuple[str, int, RecordBatch]]:
    """Read every batch by successive fetches; return each with its file and position."""
    found = []
    offset = log.segments[0].base_offset
    log.view = log.view._replace(log_start_offset=offset)  # including records hidden by DeleteRecords
    while offset < log.log_end_offset:
        result = log.read(offset, 700, log.log_end_offset, min_one_batch=True)
        if result.region is None:
            break
        batches = list(iter_batches(result.region.read()))
        segment = log.segments[log.view.slot_of(batches[0].base_offset)]
        file = f"{log.topic_partition}/{segment.base_offset:020d}.log"
        for batch in batches:
            if batch.last_offset >= offset:
                found.append((file, result.region.position + batch.position, batch))
                offset = batch.next_offset
    return found


@pytest.mark.parametrize("after_crash", [False, True], ids=["clean", "crashed"])
@pytest.mark.parametrize("name", DIRECTORIES)
def test_every_batch_reads_as_in_kafkas_dump(name: str, after_crash: bool, tmp_path: Path) -> None:
    expected = dumped_batches(name)
    store = open_copy(name, tmp_path, after_crash=after_crash)
    assert {str(log.topic_partition) for log in store.all_logs()} == {
        path.name for path in (REFERENCE / name / "data").iterdir() if path.is_dir()
    }
    complaints: list[str] = []
    for log in store.all_logs():
        batches = expected[str(log.topic_partition)]
        found = read_all(log)
        where = [(file, position) for file, position, _ in found]
        assert where == [(batch["file"], batch["position"]) for batch in batches], str(log)
        for (file, position, batch), dumped in zip(found, batches, strict=True):
            complaints += check_batch(f"{file}@{position}", batch, dumped | {"position": batch.position})
    assert complaints == []
    store.release()


def is_stray_snapshot(path: Path) -> bool:
    """Whether a producer snapshot is not at a segment's base and not the last one."""
    last = max(path.parent.glob("*.snapshot"), default=path)
    return path.suffix == ".snapshot" and path != last and not path.with_suffix(".log").exists()


@pytest.mark.parametrize("name", DIRECTORIES)
def test_clean_open_and_close_changes_no_file_of_kafka(name: str, tmp_path: Path) -> None:
    store = open_copy(name, tmp_path)
    store.close()
    before, after = REFERENCE / name / "data", tmp_path
    for path in before.rglob("*"):
        if is_stray_snapshot(path):  # Kafka deletes those too when it opens a log
            assert not (after / path.relative_to(before)).exists()
        elif path.is_file() and not path.name.endswith("-checkpoint"):
            assert (after / path.relative_to(before)).read_bytes() == path.read_bytes(), path.name
    new = {path.relative_to(after) for path in after.rglob("*")} - {
        path.relative_to(before) for path in before.rglob("*")
    }
    assert new == {Path(".lock")}
    for checkpoint in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
        assert sorted((after / checkpoint).read_text().split()) == sorted((before / checkpoint).read_text().split())


@pytest.mark.parametrize("name", DIRECTORIES)
def test_indexes_rebuilt_from_the_log_equal_kafkas(name: str, tmp_path: Path) -> None:
    """Only for segments filled by single appends: a follower's indexes have other entries."""
    store = open_copy(name, tmp_path, after_crash=True)
    store.close()
    compared = 0
    for path in (REFERENCE / name / "data").rglob("*.txnindex"):
        assert (tmp_path / path.relative_to(REFERENCE / name / "data")).read_bytes() == path.read_bytes()
        compared += 1
    assert compared or name == "ibp-2.8"


def test_log_opens_when_all_indexes_are_missing(tmp_path: Path) -> None:
    shutil.copytree(REFERENCE / "kafka-3.9" / "data", tmp_path, dirs_exist_ok=True)
    for path in [*tmp_path.rglob("*.index"), *tmp_path.rglob("*.timeindex"), *tmp_path.rglob("*.snapshot")]:
        path.unlink()
    store = open_store(tmp_path)
    log = store.get(TopicPartition("golden1-plain", 0))
    assert log is not None
    assert (log.log_start_offset, log.log_end_offset) == (0, 605)
    assert all(len(segment.offset_index) for segment in log.segments if segment.size_bytes > 8192)
    store.release()


class TestTransactions:
    """The directory `golden1-txn` has commits, aborts and one open transaction."""

    @pytest.fixture(params=[False, True], ids=["clean", "crashed"])
    def log(self, request: pytest.FixtureRequest, tmp_path: Path) -> Log:
        store = open_copy("kafka-3.9", tmp_path, after_crash=request.param)
        log = store.get(TopicPartition("golden1-txn", 0))
        assert log is not None
        return log

    def transactions(self) -> tuple[list[tuple[int, int, int]], int]:
        """Return the dump's aborted transactions (producer, first offset, marker) and the open one's first offset."""
        started: dict[int, int] = {}
        aborted = []
        for batch in dumped_batches("kafka-3.9")["golden1-txn-0"]:
            producer = batch["producerId"]
            if batch["isControlBatch"]:
                first = started.pop(producer, None)
                key = batch["records"][0]["key"]
                if first is not None and key == "AAAAAA==":
                    aborted.append((producer, first, batch["baseOffset"]))
            elif batch["isTransactional"]:
                started.setdefault(producer, batch["baseOffset"])
        return aborted, min(started.values())

    def test_aborted_transactions_equal_those_in_kafkas_dump(self, log: Log) -> None:
        aborted, _ = self.transactions()
        found = log.aborted_transactions(0, log.log_end_offset)
        assert [(entry.producer_id, entry.first_offset, entry.last_offset) for entry in found] == aborted

    def test_last_stable_offset_is_the_first_offset_of_the_open_transaction(self, log: Log) -> None:
        _, first_open = self.transactions()
        assert log.last_stable_offset(log.log_end_offset) == first_open
        assert log.last_stable_offset(first_open - 1) <= first_open - 1

    def test_fetch_returns_the_aborted_transactions_of_its_range(self, log: Log) -> None:
        aborted, _ = self.transactions()
        for start in range(0, log.log_end_offset, 7):
            stable = log.last_stable_offset(log.log_end_offset)
            if start >= stable:
                break
            result = log.read(start, 2000, stable, min_one_batch=True, with_aborted_transactions=True)
            assert result.region is not None
            assert result.aborted_transactions is not None
            last = max(batch.last_offset for batch in iter_batches(result.region.read()))
            needed = {entry for entry in aborted if entry[1] <= last and entry[2] >= start}
            brought = {
                (entry.producer_id, entry.first_offset, entry.last_offset) for entry in result.aborted_transactions
            }
            assert needed <= brought, f"from {start}"
            assert all(isinstance(entry, AbortedTransaction) for entry in result.aborted_transactions)


def test_leader_epochs_equal_kafkas(tmp_path: Path) -> None:
    store = open_copy("kafka-3.9", tmp_path, after_crash=True)
    log = store.get(TopicPartition("golden1-epochs", 0))
    assert log is not None
    lines = (REFERENCE / "kafka-3.9/data/golden1-epochs-0/leader-epoch-checkpoint").read_text().splitlines()[2:]
    written = [EpochEntry(*map(int, line.split())) for line in lines]
    # An epoch without records is dropped when a log is opened, in Kafka too.
    expected = tuple(entry for entry in written if entry.start_offset < log.log_end_offset)
    assert len(expected) == len(written) - 1
    assert log.leader_epochs.entries == expected
    ends = [entry.start_offset for entry in expected[1:]] + [log.log_end_offset]
    for entry, end in zip(expected, ends, strict=True):
        assert log.end_offset_for_epoch(entry.epoch) == EpochEntry(entry.epoch, end)
    assert log.end_offset_for_epoch(expected[-1].epoch + 1) is None
    store.release()


def test_producers_rebuilt_from_the_log_equal_kafkas_snapshot(tmp_path: Path) -> None:
    clean = open_copy("kafka-3.9", tmp_path / "clean")
    shutil.copytree(REFERENCE / "kafka-3.9" / "data", tmp_path / "crashed")
    for path in (tmp_path / "crashed").rglob("*.snapshot"):
        path.unlink()
    (tmp_path / "crashed" / ".kafka_cleanshutdown").unlink()
    crashed = open_store(tmp_path / "crashed")
    compared = 0
    for log in clean.all_logs():
        if log.topic_partition.topic == "golden1-compacted":
            continue  # the cleaner has removed the batches of some producers
        other = crashed.get(log.topic_partition)
        assert other is not None
        for producer_id, entry in log.producer_state.producers.items():
            rebuilt = other.producer_state.producers[producer_id]
            # A snapshot has the time of the producer's last activity, which may be a marker.
            last, rebuilt_last = ([batch[:3] for batch in known.batches][-1:] for known in (entry, rebuilt))
            assert last == rebuilt_last, f"{log} producer {producer_id}"
            assert entry.last_timestamp == rebuilt.last_timestamp
            assert entry.producer_epoch == rebuilt.producer_epoch
            assert entry.current_txn_first_offset == rebuilt.current_txn_first_offset
            assert entry.coordinator_epoch == rebuilt.coordinator_epoch
            compared += 1
    assert compared >= 5
    clean.release()
    crashed.release()


@pytest.mark.parametrize("name", DIRECTORIES)
def test_offset_for_a_timestamp_is_that_of_the_first_record_at_or_above_it(name: str, tmp_path: Path) -> None:
    store = open_copy(name, tmp_path)
    for log in store.all_logs():
        records = [
            (record.timestamp_ms, record.offset)
            for _, _, batch in read_all(log)
            for record in read_records(batch)
            if batch.magic > 0
        ]
        if not records:
            continue
        for wanted in sorted({timestamp for timestamp, _ in records})[::5]:
            expected = next((found for found in records if found[0] >= wanted), None)
            found = log.offset_for_timestamp(wanted)
            assert found is not None
            assert expected == (found.timestamp, found.offset), f"{log} {wanted}"
        highest = max(timestamp for timestamp, _ in records)
        largest = log.offset_of_max_timestamp()
        assert largest is not None
        assert largest.timestamp == highest
        assert log.offset_for_timestamp(highest + 1) is None
    store.release()


def test_meta_properties_and_topic_ids_of_kafka_are_read(tmp_path: Path) -> None:
    store = open_copy("kafka-3.9", tmp_path)
    meta = peek_meta_properties(store.files, store.config)
    assert meta is not None
    assert (meta.broker_id, meta.cluster_id) == (0, "mKLtw8DoTnKzXqnryi_vkg")
    log = store.get(TopicPartition("golden1-txn", 0))
    assert log is not None
    assert log.topic_id is not None
    append_time = store.get(TopicPartition("golden1-append-time", 0))
    assert append_time is not None
    assert append_time.log_start_offset == 9
    store.release()

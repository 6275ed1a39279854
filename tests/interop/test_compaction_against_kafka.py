"""Compares pybroker's compaction of a log with that of Apache Kafka's cleaner on a copy, batch by batch.

There are two rounds: the second one compacts Kafka's result of the first with new records behind it, after the delete
horizons have passed. Kafka's directories with old formats and transactions are among the logs.
"""

import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.cimpl import NewTopic
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.records.batch import DELETE_HORIZON_FLAG, TimestampType, set_max_timestamp
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.protocol.records.record import Record, build_batch
from pybroker.storage.files import checkpoint_file
from pybroker.storage.files.files import Files
from pybroker.storage.log.log import Log
from pybroker.storage.log_config import LogConfig
from pybroker.storage.producers.producer_state import AppendOrigin
from support.clients.topics import admin_client
from support.logs.compaction import StoredBatch, compact_log, stored_batches
from support.logs.storage_logs import append_as_leader, batches_in, close_cleanly, open_log
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.time.patience import await_that

LOGDIRS = Path(__file__).resolve().parents[1] / "reference" / "logdirs"
FROM_KAFKA = {
    "plain": LOGDIRS / "kafka-3.9/data/golden1-plain-0",
    "txn": LOGDIRS / "kafka-3.9/data/golden1-txn-0",
    "epochs": LOGDIRS / "kafka-3.9/data/golden1-epochs-0",
    "append-time": LOGDIRS / "kafka-3.9/data/golden1-append-time-0",
    "compacted": LOGDIRS / "kafka-3.9/data/golden1-compacted-0",
    "v0": LOGDIRS / "ibp-2.8/data/golden1-v0-0",
    "v1": LOGDIRS / "ibp-2.8/data/golden1-v1-0",
    "v1-append-time": LOGDIRS / "ibp-2.8/data/golden1-v1-append-time-0",
}
OURS = ("codecs", "producers", "transactions")
NOW_MS = time.time_ns() // 1_000_000
"""Current timestamps, because Kafka keeps no state of producers that wrote long ago."""
CONFIG = LogConfig(
    segment_bytes=16 << 10,
    index_interval_bytes=500,
    retention_ms=-1,
    delete_retention_ms=0,
)
KAFKA = {
    "log.cleanup.policy": "compact",
    "log.segment.bytes": str(CONFIG.segment_bytes),
    "log.index.interval.bytes": str(CONFIG.index_interval_bytes),
    "log.cleaner.delete.retention.ms": "0",
    "log.cleaner.min.cleanable.ratio": "0.0001",
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.dedupe.buffer.size": "2097152",
    "log.retention.ms": "-1",
    "log.segment.delete.delay.ms": "60000",
}


Round = dict[str, tuple[list[StoredBatch], list[StoredBatch]]]
"""By topic: the batches left by Kafka and by pybroker."""


class Writer:
    """Writes random records with few keys for one kind of log; each call continues after the last."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._chance = random.Random(kind)
        self._sequences: dict[int, int] = {}
        self._number = 0

    def fill(self, log: Log, batches: int) -> None:
        for _ in range(batches):
            self._number += 1
            now_ms = NOW_MS + self._number
            if self._kind == "codecs":
                self._append(log, self._records(now_ms), now_ms, codec=Codec(self._number % 5))
            else:
                self._append_of_producer(log, now_ms)

    def _records(self, now_ms: int) -> list[Record]:
        chance = self._chance
        return [
            Record(
                number,
                now_ms + chance.randrange(-500, 500),
                chance.choice([None, b"", *(b"key %d" % each for each in range(12)), b"long" * 20]),
                chance.choice([None, b"", b"value %d" % self._number, b"v" * chance.randrange(300)]),
                chance.choice([(), (), (("header", b"1"), ("none", None))]),
            )
            for number in range(chance.randrange(1, 9))
        ]

    def _append(self, log: Log, records: list[Record], now_ms: int, codec: Codec = Codec.NONE) -> None:
        data = bytearray(build_batch(records, codec=codec))
        if self._number % 7 == 0:
            set_max_timestamp(data, 0, TimestampType.LOG_APPEND_TIME, now_ms)
            log.append_as_follower(_placed(log, data), now_ms)
        else:
            append_as_leader(log, data, self._number // 100, now_ms)

    def _append_of_producer(self, log: Log, now_ms: int) -> None:
        is_transactional = self._kind == "transactions"
        producer = self._chance.randrange(100, 106)
        records = self._records(now_ms)
        data = build_batch(
            records,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=self._sequences.get(producer, 0),
            is_transactional=is_transactional,
            codec=self._chance.choice([Codec.NONE, Codec.GZIP]),
        )
        self._sequences[producer] = self._sequences.get(producer, 0) + len(records)
        append_as_leader(log, bytearray(data), self._number // 100, now_ms)
        if is_transactional and self._chance.random() < 0.4:
            marker = EndTransactionMarker(self._chance.random() < 0.5, 0)
            control = build_marker_batch(marker, producer_id=producer, producer_epoch=0, timestamp_ms=now_ms)
            append_as_leader(log, bytearray(control), self._number // 100, now_ms, AppendOrigin.COORDINATOR)


def end_transactions(log: Log) -> None:
    """Aborts open transactions and rolls the segment, so that the whole log can be compacted."""
    for entry in list(log.producer_state.producers.values()):
        if entry.current_txn_first_offset >= 0:
            control = build_marker_batch(
                EndTransactionMarker(False, entry.coordinator_epoch),
                producer_id=entry.producer_id,
                producer_epoch=entry.producer_epoch,
                timestamp_ms=NOW_MS,
            )
            append_as_leader(
                log, bytearray(control), max(log.leader_epochs.latest_epoch, 0), NOW_MS, AppendOrigin.COORDINATOR
            )
    log.roll(NOW_MS)


def _placed(log: Log, data: bytearray) -> bytearray:
    """Returns the batch with its offset, as a leader sends it."""
    data[0:8] = log.log_end_offset.to_bytes(8, "big")
    data[12:16] = log.leader_epochs.latest_epoch.to_bytes(4, "big", signed=True)
    assert [batch.is_valid_crc() for batch in batches_in(bytes(data))] == [True]
    return data


class Cluster:
    """Runs one Kafka on copies of the partitions' directories until its cleaner is done."""

    def __init__(self, directory: Path) -> None:
        self._zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
        self.kafka = KafkaProcess(directory / "kafka", self._zookeeper, KAFKA)
        self.kafka.log_directory.mkdir(parents=True)
        self._has_topics = False

    def compact(self, expected: dict[TopicPartition, int]) -> None:
        """Lets Kafka compact each partition at least up to the expected offset."""
        self.kafka.start()
        if not self._has_topics:
            admin = admin_client(self.kafka.bootstrap_servers)
            for future in admin.create_topics([NewTopic(tp.topic, 1, 1) for tp in expected]).values():
                future.result()
            self._has_topics = True
        await_that(lambda: self._has_compacted(expected), "Kafka's cleaner to get to the ends of the logs")
        self.kafka.stop()

    def _has_compacted(self, expected: dict[TopicPartition, int]) -> bool:
        done = checkpoint_file.read_offsets(Files(), str(self.kafka.log_directory / "cleaner-offset-checkpoint"))
        return all(done.get(tp, -1) >= offset for tp, offset in expected.items())

    def end(self) -> None:
        self.kafka.kill()
        self._zookeeper.kill()


@pytest.fixture(scope="module")
def rounds(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[list[Round]]:
    directory = tmp_path_factory.mktemp("cleaners")
    cluster = Cluster(directory)
    try:
        yield two_rounds(cluster, directory / "ours")
    finally:
        cluster.end()


def two_rounds(cluster: Cluster, ours: Path) -> list[Round]:
    theirs = cluster.kafka.log_directory
    names = (*FROM_KAFKA, *OURS)
    writers = {name: Writer(name) for name in names}
    for name in FROM_KAFKA:
        shutil.copytree(FROM_KAFKA[name], theirs / f"{name}-0")
        (theirs / f"{name}-0" / "partition.metadata").unlink()
    found = []
    checkpoints: dict[str, int] = {}
    for number in range(2):
        for name in names:
            log = open_log(theirs, CONFIG, topic_partition=TopicPartition(name, 0), now_ms=NOW_MS)
            if number or name not in FROM_KAFKA:
                writers[name].fill(log, 500)
            end_transactions(log)
            close_cleanly(log)
        shutil.rmtree(ours, ignore_errors=True)
        ours.mkdir()
        for name in names:
            shutil.copytree(theirs / f"{name}-0", ours / f"{name}-0")
            log = open_log(ours, CONFIG, topic_partition=TopicPartition(name, 0), now_ms=NOW_MS)
            checkpoints[name] = compact_log(log, checkpoints.get(name), now_ms=time.time_ns() // 1_000_000)
            close_cleanly(log)
        cluster.compact({TopicPartition(name, 0): offset for name, offset in checkpoints.items()})
        found.append(
            {name: (stored_batches(theirs / f"{name}-0"), stored_batches(ours / f"{name}-0")) for name in names}
        )
    return found


def comparable(batches: list[StoredBatch]) -> list[StoredBatch]:
    """Returns the batch without its delete horizon, which depends on the clock."""
    return [batch._replace(base_timestamp=0) if batch.attributes & DELETE_HORIZON_FLAG else batch for batch in batches]


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("name", [*FROM_KAFKA, *OURS])
def test_compaction_keeps_the_same_batches_as_kafka(number: int, name: str, rounds: list[Round]) -> None:
    theirs, ours = rounds[number][name]
    assert theirs
    assert comparable(ours) == comparable(theirs)


def test_compared_logs_contain_all_relevant_cases(
    rounds: list[Round],
) -> None:
    first, second = rounds
    for name in OURS:
        kept = sum(len(batch.records) for batch in first[name][1])
        assert kept < 1000, "most records were shadowed"
    assert [batch for batch in first["producers"][1] if not batch.records], "empty batches keep sequences"
    flagged = [batch for batch in first["codecs"][1] if batch.attributes & DELETE_HORIZON_FLAG]
    assert flagged, "tombstones have got their delete horizon"
    assert {batch.magic for name in ("v0", "v1") for batch in first[name][1]} == {0, 1}

    def tombstones(batches: list[StoredBatch]) -> set[int]:
        return {each.offset for batch in batches for each in batch.records if each.value is None and each.key}

    assert tombstones(flagged) - tombstones(second["codecs"][1]), "and are gone after it"

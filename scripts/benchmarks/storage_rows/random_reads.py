"""A row about random reads in a long log: `scripts/bench --only "random offset"`.

The log of 20 GiB consists of sparse files: its indexes are complete, and batches exist only where fetches read. Both
logs are read in turn, one fetch after another on one connection, so that other work on the machine affects both alike.
"""

import os
import random
import socket
import statistics
import struct
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pybroker.base.topic_partition import TopicPartition
from pybroker.config.load import load_config
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import decode
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from pybroker.protocol.records.record import Record, build_batch
from pybroker.storage.files.checkpoint_file import write_epochs, write_offsets
from pybroker.storage.files.files import Files
from pybroker.storage.leader_epochs import EpochEntry
from pybroker.storage.producers.producer_snapshots import encode_snapshot
from pybroker.storage.store.log_store import LogStore
from support.logs.storage_pools import InlinePool
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.record_bytes import set_base_offset

from benchmarks.contestants import Contestant, kafka_as_shipped
from benchmarks.kafka_tools import create_topic
from benchmarks.scenarios import Scenario
from benchmarks.targets import at_most
from benchmarks.wire import exchange

__all__ = ["READS"]

_RECORDS = 16
_BATCH_BYTES = 16 << 10
_BATCHES_A_SEGMENT = (1 << 30) // _BATCH_BYTES - 1
_PLACES = 300
_FETCHES = 3000
_WARM_UP = 500
_TIMESTAMP = 1_700_000_000_000
_FETCH_VERSION = 11


@dataclass(frozen=True)
class _SparseLog:
    topic: str
    size_bytes: int

    @property
    def batches(self) -> int:
        return self.size_bytes // _BATCH_BYTES

    @property
    def end_offset(self) -> int:
        return self.batches * _RECORDS

    def places(self) -> list[int]:
        """Returns the numbers of the batches to fetch, chosen at random with a fixed seed."""
        return random.Random(1).sample(range(self.batches), _PLACES)


_LONG = _SparseLog("long", 20 << 30)
_SHORT = _SparseLog("short", 20 << 20)


def make_batch() -> bytearray:
    """Returns a batch of exactly `_BATCH_BYTES` bytes, so that positions follow from offsets."""

    def of(size: int) -> bytes:
        return build_batch(
            [Record(number, _TIMESTAMP, None, bytes(1000)) for number in range(_RECORDS - 1)]
            + [Record(_RECORDS - 1, _TIMESTAMP, None, bytes(size))]
        )

    return bytearray(of(1000 + _BATCH_BYTES - len(of(1000))))


def write_sparse(directory: Path, log: _SparseLog) -> None:
    """Writes the files of a partition as a broker leaves them after a clean stop, except data that is not read."""
    # An index entry holds the last offset of its batch, so a search for an offset inside begins one batch earlier.
    batch, wanted = make_batch(), {number for place in log.places() for number in (place - 1, place)}
    directory.mkdir(exist_ok=True)
    for path in directory.glob("0*"):
        path.unlink()
    for first in range(0, log.batches, _BATCHES_A_SEGMENT):
        count = min(_BATCHES_A_SEGMENT, log.batches - first)
        stem = directory / f"{first * _RECORDS:020d}"
        entries = ((number * _RECORDS + _RECORDS - 1, number * _BATCH_BYTES) for number in range(1, count))
        stem.with_suffix(".index").write_bytes(b"".join(struct.pack(">ii", *entry) for entry in entries))
        stem.with_suffix(".timeindex").write_bytes(struct.pack(">qi", _TIMESTAMP, count * _RECORDS - 1))
        with open(stem.with_suffix(".log"), "wb") as stream:
            stream.truncate(count * _BATCH_BYTES)
            for number in sorted({0, count - 1} | {each - first for each in wanted if first <= each < first + count}):
                set_base_offset(batch, 0, (first + number) * _RECORDS)
                os.pwrite(stream.fileno(), batch, number * _BATCH_BYTES)
    (directory / f"{log.end_offset:020d}.snapshot").write_bytes(encode_snapshot([]))
    write_epochs(Files(), str(directory / "leader-epoch-checkpoint"), [EpochEntry(0, 0)])


def make_stopped(directory: Path) -> None:
    """Writes a log directory with both logs."""
    logs = {TopicPartition(log.topic, 0): log for log in (_LONG, _SHORT)}
    store = LogStore.open(
        load_config(f"log.dirs={directory}\n", {}), Files(), InlinePool(), lambda: time.time_ns() // 1_000_000
    )
    for partition in logs:
        store.get_or_create(partition, is_new=True)
    store.close()
    for partition, log in logs.items():
        write_sparse(directory / str(partition), log)
    ends = {partition: log.end_offset for partition, log in logs.items()}
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        write_offsets(Files(), str(directory / name), ends)


def fetch_us(connection: socket.socket, log: _SparseLog, batch_number: int) -> float:
    """Fetches a batch; returns the microseconds until it has arrived."""
    offset = batch_number * _RECORDS + _RECORDS // 2
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=_BATCH_BYTES)
    request = FetchRequest(max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic=log.topic, partitions=[partition])])
    started = time.perf_counter()
    answer = exchange(connection, ApiKey.FETCH, _FETCH_VERSION, request)
    passed = (time.perf_counter() - started) * 1e6
    found = decode(FetchResponse, answer, _FETCH_VERSION).responses[0].partitions[0]
    received = len(memoryview(found.records or b""))  # type: ignore[arg-type]
    if found.error_code or received != _BATCH_BYTES:
        raise AssertionError(f"{log.topic} at {offset}: error {found.error_code}, {received} bytes")
    return passed


def fetches(broker: BrokerProcess | KafkaProcess, scale: float) -> dict[str, float]:
    for log in (_LONG, _SHORT):
        create_topic(broker.bootstrap_servers, log.topic, 1)
    chance = random.Random(2)
    found: dict[str, list[float]] = {_LONG.topic: [], _SHORT.topic: []}
    host, _, port = broker.bootstrap_servers.rpartition(":")
    with socket.create_connection((host, int(port))) as connection:
        for _ in range(_WARM_UP + int(_FETCHES * scale)):
            for log in (_LONG, _SHORT):
                found[log.topic].append(fetch_us(connection, log, chance.choice(log.places())))
    long, short = (statistics.median(found[log.topic][_WARM_UP:]) for log in (_LONG, _SHORT))
    return {"µs, 20 GiB": long, "µs, 20 MiB": short, "20 GiB : 20 MiB": long / short}


def random_fetches(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        directory = Path(name)
        zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
        try:
            for contestant in contestants:
                broker: BrokerProcess | KafkaProcess = (
                    BrokerProcess(directory / "pybroker", {"log.retention.ms": "-1"})
                    if contestant.name == "pybroker"
                    else kafka_as_shipped(directory / "kafka", zookeeper, {"log.retention.ms": "-1"})
                )
                make_stopped(broker.log_directory)
                broker.start()
                try:
                    figures[contestant.name] = fetches(broker, scale)
                finally:
                    broker.kill()
        finally:
            zookeeper.kill()
    return figures


READS = (
    Scenario(
        "storage: fetch at a random offset in a log of 20 GiB and in one of 20 MiB",
        (at_most("20 GiB : 20 MiB", 1.2),),
        random_fetches,
    ),
)

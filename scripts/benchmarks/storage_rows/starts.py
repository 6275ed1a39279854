"""Rows about starts on existing logs, after a clean stop and after a crash."""

import random
import re
import shutil
import struct
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pybroker.base.topic_partition import TopicPartition
from pybroker.config.load import load_config
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.record import Record, build_batch
from pybroker.storage.files.files import Files
from pybroker.storage.log.log_append import LeaderAppend
from pybroker.storage.store.log_store import LogStore
from support.logs.disk_history import nothing_synced
from support.logs.storage_pools import InlinePool
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess

from benchmarks.contestants import Contestant, kafka_as_shipped
from benchmarks.scenarios import Scenario
from benchmarks.targets import at_least, at_most, ratio_at_most

__all__ = ["STARTS", "brokers"]

_PARTITIONS = 2000
_SEGMENTS = 3
_CRASHED_MIB = 1024
_CRASHED_PARTITIONS = 8
_LOADED = re.compile(r"[Ll]oaded (\d+) logs in (\d+) ?ms")


def make_batch(records: int, codec: Codec) -> bytearray:
    """Returns a batch of records of 100 bytes; half of each record is the same in all."""
    chance = random.Random(1)
    made = [Record(number, 1_700_000_000_000, None, chance.randbytes(50) + b"x" * 50) for number in range(records)]
    return bytearray(build_batch(made, codec=codec))


def make_stopped(directory: Path, partitions: int) -> None:
    """Writes many small logs, stopped cleanly."""
    now_ms = time.time_ns() // 1_000_000
    batch = make_batch(10, Codec.NONE)
    with nothing_synced():
        store = LogStore.open(load_config(f"log.dirs={directory}\n", {}), Files(), InlinePool(), lambda: now_ms)
        for number in range(partitions):
            log = store.get_or_create(TopicPartition("many", number), is_new=True)
            for segment in range(_SEGMENTS):
                if segment:
                    log.roll(now_ms)
                log.append(LeaderAppend(bytearray(batch), 0, now_ms))
        store.close()


def make_crashed(directory: Path, mib: int, codec: Codec) -> None:
    """Writes large logs with records only: no index, no checkpoint, no mark of a clean stop."""
    batch = make_batch(160 if codec is Codec.NONE else 320, codec)
    records = struct.unpack_from(">i", batch, 57)[0]
    count = (mib << 20) // _CRASHED_PARTITIONS // len(batch)
    for number in range(_CRASHED_PARTITIONS):
        path = directory / f"crashed-{number}"
        path.mkdir(parents=True)
        with open(path / f"{0:020d}.log", "wb") as stream:
            for batch_number in range(count):
                struct.pack_into(">q", batch, 0, batch_number * records)
                stream.write(batch)


def brokers(
    directory: Path, settings: dict[str, str]
) -> tuple[ZooKeeperProcess, dict[str, BrokerProcess | KafkaProcess]]:
    """Returns a running ZooKeeper and both brokers, which are not started and can be restarted."""
    zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
    return zookeeper, {
        "pybroker": BrokerProcess(directory / "pybroker", settings),
        "kafka": kafka_as_shipped(directory / "kafka", zookeeper, settings),
    }


def load_ms(broker: BrokerProcess | KafkaProcess) -> int:
    """Returns the milliseconds of loading, from the broker's own log lines."""
    for line in broker.lines:
        if found := _LOADED.search(line):
            return int(found[2])
    raise AssertionError("the broker did not log how long it took to load its logs")


def start_after_stop(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    """Measures from the start of the process until it is ready, and the loading of the logs in it, on copies of one
    directory.
    """
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        directory = Path(name)
        make_stopped(directory / "made", int(_PARTITIONS * scale))
        zookeeper, both = brokers(directory, {})
        for contestant in contestants:
            broker = both[contestant.name]
            shutil.copytree(directory / "made", broker.log_directory)
            started = time.monotonic()
            broker.start()
            figures[contestant.name] = {"s": time.monotonic() - started, "s to load": load_ms(broker) / 1000}
            broker.kill()
            shutil.rmtree(broker.log_directory)
        zookeeper.kill()
    return figures


def recovery(contestants: Sequence[Contestant], scale: float, codec: Codec) -> dict[str, dict[str, float]]:
    """Measures recovery with two threads; nothing of the logs is known to be flushed."""
    figures: dict[str, dict[str, float]] = {}
    mib = int(_CRASHED_MIB * scale)
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        directory = Path(name)
        make_crashed(directory / "made", mib, codec)
        zookeeper, both = brokers(directory, {"num.recovery.threads.per.data.dir": "2"})
        for contestant in contestants:
            broker = both[contestant.name]
            shutil.copytree(directory / "made", broker.log_directory)
            broker.start()
            figures[contestant.name] = {"MiB/s": mib / max(load_ms(broker), 1) * 1000}
            broker.kill()
            shutil.rmtree(broker.log_directory)
        zookeeper.kill()
    return figures


STARTS = (
    Scenario(
        "storage: start with 2,000 partitions of 3 segments after a clean stop",
        (at_most("s to load", 3), ratio_at_most("s", 1)),
        start_after_stop,
    ),
    Scenario(
        "storage: recovery of plain batches after a crash",
        (at_least("MiB/s", 300),),
        lambda contestants, scale: recovery(contestants, scale, Codec.NONE),
    ),
    Scenario(
        "storage: recovery of zstd batches after a crash",
        (at_least("MiB/s", 300),),
        lambda contestants, scale: recovery(contestants, scale, Codec.ZSTD),
    ),
)

"""Rows about existing logs: `scripts/bench --only storage`."""

import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.cimpl import NewTopic
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.records.record import Record, build_batch
from pybroker.storage.files.files import Files
from pybroker.storage.log.log_append import LeaderAppend
from pybroker.storage.log.log_host import StandaloneHost
from pybroker.storage.log_config import LogConfig
from pybroker.storage.recovery.log_loader import load_log
from support.clients.topics import admin_client
from support.compiled_package import build_compiled, missing_for_compiling
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess

from benchmarks.contestants import Contestant, kafka_as_shipped
from benchmarks.scenarios import Scenario
from benchmarks.targets import at_least, at_most

__all__ = ["STORAGE"]

_RECORDS = 2_000_000
_RECORDS_A_BATCH = 200
_SECONDS_ALONE = 10.0
_COMPACTED = TopicPartition("compacted", 0)
_SETTINGS = {"log.cleanup.policy": "compact", "log.cleaner.backoff.ms": "200", "log.segment.bytes": str(64 << 20)}
_OURS = re.compile(r"compacted-0: compacted up to .* ([\d.]+) records a second")
_THEIRS_TIME = re.compile(r"MB of log processed in ([\d.,]+) seconds")
_THEIRS_COUNT = re.compile(r"Start size: .* MB \(([\d,]+) messages\)")


def write_log(directory: Path, records: int) -> None:
    """Writes records of 100 bytes with keys of 12, each key ten times. All but the active segment can be compacted."""
    chance = random.Random(1)
    files = Files()
    config = LogConfig(segment_bytes=64 << 20)
    now_ms = time.time_ns() // 1_000_000
    log = load_log(files, StandaloneHost(files), str(directory / str(_COMPACTED)), _COMPACTED, config, now_ms)
    value = chance.randbytes(80)
    for _ in range(records // _RECORDS_A_BATCH):
        made = [
            Record(number, now_ms, b"key-%08d" % chance.randrange(records // 10), value)
            for number in range(_RECORDS_A_BATCH)
        ]
        log.append(LeaderAppend(bytearray(build_batch(made)), 0, now_ms))
    log.roll(now_ms)
    log.flush(now_ms)
    log.close()


def latencies_ms(servers: str, until: Callable[[], bool]) -> list[float]:
    """Returns latencies of records of 100 bytes produced to another topic one after another, at most every 5 ms."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "acks": "all"})
    found: list[float] = []
    while not until():
        started = time.monotonic()
        producer.produce("other", value=b"v" * 100)
        producer.flush()
        found.append((time.monotonic() - started) * 1000)
        time.sleep(max(0.0, 0.005 - (time.monotonic() - started)))
    return found


def p99(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=100)[98]


def records_per_second(broker: BrokerProcess | KafkaProcess) -> float | None:
    """Returns the rate from the broker's own log lines; None before compaction is done."""
    output = "".join(broker.lines)
    if isinstance(broker, BrokerProcess):
        ours = _OURS.search(output)
        return float(ours[1]) if ours else None
    seconds, count = _THEIRS_TIME.search(output), _THEIRS_COUNT.search(output)
    if seconds is None or count is None:
        return None
    return int(count[1].replace(",", "")) / float(seconds[1].replace(",", ""))


def compaction_by(broker: BrokerProcess | KafkaProcess) -> dict[str, float]:
    """Measures one broker. The log exists; compaction begins when its topic is created."""
    servers = broker.bootstrap_servers
    admin = admin_client(servers)
    admin.create_topics([NewTopic("other", 1, 1, config={"cleanup.policy": "delete"})])["other"].result()
    end = time.monotonic() + 3
    latencies_ms(servers, lambda: time.monotonic() > end)  # warm
    end = time.monotonic() + _SECONDS_ALONE
    alone = p99(latencies_ms(servers, lambda: time.monotonic() > end))
    admin.create_topics([NewTopic(_COMPACTED.topic, 1, 1)])[_COMPACTED.topic].result()
    meanwhile = p99(latencies_ms(servers, lambda: records_per_second(broker) is not None))
    return {
        "records/s": records_per_second(broker) or 0.0,
        "p99 ms of a produce without": alone,
        "p99 ms of a produce meanwhile": meanwhile,
        "p99 meanwhile : without": meanwhile / alone,
    }


def compaction(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    """Measures all contestants, and pybroker with compiled walks if a compiler is available."""
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        directory = Path(name)
        write_log(directory / "made", int(_RECORDS * scale))
        zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
        brokers: dict[str, BrokerProcess | KafkaProcess] = {
            "pybroker": BrokerProcess(directory / "pybroker", _SETTINGS),
            "kafka": kafka_as_shipped(directory / "kafka", zookeeper, _SETTINGS),
        }
        for contestant in contestants:
            figures[contestant.name] = started_on_the_log(brokers[contestant.name], directory / "made")
        zookeeper.kill()
        if missing_for_compiling() is None:
            compiled = build_compiled(directory / "build")
            command = ("env", f"PYTHONPATH={compiled}", sys.executable, "-m", "pybroker")
            broker = BrokerProcess(directory / "compiled", _SETTINGS, command)
            figures["compiled"] = started_on_the_log(broker, directory / "made")
    return figures


def started_on_the_log(broker: BrokerProcess | KafkaProcess, made: Path) -> dict[str, float]:
    broker.log_directory.mkdir(parents=True)
    shutil.copytree(made / str(_COMPACTED), broker.log_directory / str(_COMPACTED))
    broker.start()
    figures = compaction_by(broker)
    broker.kill()
    shutil.rmtree(broker.log_directory)
    return figures


STORAGE = (
    Scenario(
        "storage: compaction of 2 M x 100 B, a tenth of them distinct keys",
        (at_least("records/s", 250_000), at_most("p99 meanwhile : without", 2)),
        compaction,
    ),
)

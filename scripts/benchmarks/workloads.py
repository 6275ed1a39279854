"""Rows that run one after another against one broker: Kafka's tools with their arguments, parsing of their output, and
targets.
"""

import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.kafka_tools import create_topic, run_tool
from benchmarks.targets import CPU, Target, at_least, ratio_at_least, ratio_at_most

__all__ = [
    "BATCHES",
    "DONE",
    "LARGE_BATCHES",
    "ONE_A_REQUEST",
    "WORKLOADS",
    "Load",
    "Site",
    "Workload",
    "consume",
    "warm_up",
]

DONE = "done"
"""A figure of rows that last for a time: the units of work done, for which the broker's CPU is divided."""

_CONSUMERS = 3
_STEADY_LOAD = Path(__file__).with_name("SteadyLoad.java")


@dataclass
class Site:
    """A running broker in one round. `scale`: share of each row's records. `filled`: topics that are filled.
    `client_settings`: `name=value` for the clients that are measured. `admin_servers`: for tools without them.
    """

    servers: str
    scale: float
    filled: set[str] = field(default_factory=set)
    client_settings: tuple[str, ...] = ()
    admin_servers: str = ""

    def create_topic(self, topic: str, partitions: int) -> None:
        create_topic(self.admin_servers or self.servers, topic, partitions)


@dataclass(frozen=True)
class Load:
    """Records of one size that fill a topic. ``transaction_ms``: the length of the producer's transactions, 0: none."""

    topic: str
    records: int
    size_bytes: int
    properties: tuple[str, ...]
    partitions: int = 1
    transaction_ms: int = 0

    def produce(self, site: Site) -> dict[str, float]:
        transactions = ("--transaction-duration-ms", str(self.transaction_ms)) if self.transaction_ms else ()
        output = run_tool(
            "org.apache.kafka.tools.ProducerPerformance",
            *("--topic", self.topic, "--num-records", str(int(self.records * site.scale))),
            *("--record-size", str(self.size_bytes), "--throughput", "-1", *transactions),
            *("--producer-props", f"bootstrap.servers={site.servers}", *site.client_settings, *self.properties),
        )
        last = output.strip().splitlines()[-1]
        match = re.search(r"sent, ([\d.]+) records/sec.*?([\d.]+) ms avg.*?([\d.]+) ms 99th", last)
        assert match is not None, last
        site.filled.add(self.topic)
        return {"records/s": float(match[1]), "avg ms": float(match[2]), "p99 ms": float(match[3])}

    def consume(self, site: Site) -> dict[str, float]:
        return consume(site, self.topic, int(self.records * site.scale))

    def make_topic(self, site: Site) -> None:
        site.create_topic(self.topic, self.partitions)

    def fill(self, site: Site) -> None:
        """Fills the topic, so that reading can be measured alone."""
        if self.topic not in site.filled:
            self.make_topic(site)
            self.produce(site)


def consume(site: Site, topic: str, records: int, *options: str) -> dict[str, float]:
    """Returns medians over several consumers, one after another, because single runs of a second differ."""
    with _settings_file(site.client_settings) as settings:
        runs = [_consume_once(site, topic, records, (*settings, *options)) for _ in range(_CONSUMERS)]
    return {name: median(run[name] for run in runs) for name in runs[0]}


@contextmanager
def _settings_file(settings: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Returns the options that give the settings to a consumer."""
    if not settings:
        yield ()
        return
    with tempfile.NamedTemporaryFile("w", suffix=".properties") as file:
        file.write("\n".join(settings))
        file.flush()
        yield "--consumer.config", file.name


def _consume_once(site: Site, topic: str, records: int, options: Sequence[str]) -> dict[str, float]:
    output = run_tool(
        "org.apache.kafka.tools.ConsumerPerformance",
        *("--bootstrap-server", site.servers, "--topic", topic, "--messages", str(records)),
        *("--timeout", "60000", "--group", f"reads-{topic}-{time.time_ns()}", *options),
    )
    fields = [field.strip() for field in output.strip().splitlines()[-1].split(",")]
    assert int(fields[4]) >= records, output
    return {"records/s": float(fields[9]), "with joining": float(fields[5])}


@dataclass(frozen=True)
class Workload:
    """A row. `prepare` runs without measurement; `run` returns figures by name."""

    name: str
    targets: Sequence[Target]
    prepare: Callable[[Site], None]
    run: Callable[[Site], dict[str, float]]


def end_to_end(site: Site) -> dict[str, float]:
    records = str(int(10_000 * site.scale))
    output = run_tool("org.apache.kafka.tools.EndToEndLatency", site.servers, "latency", records, "all", "100")
    average = re.search(r"Avg latency: ([\d.]+) ms", output)
    percentiles = re.search(r"50th = (\d+), 99th = (\d+), 99.9th = (\d+)", output)
    assert average is not None, output
    assert percentiles is not None, output
    return {"avg ms": float(average[1]), "p99 ms": float(percentiles[2])}


def steady(site: Site) -> dict[str, float]:
    """Sends 100,000 messages a second. The load is held if every consumer gets every message once, the last at most a
    second late.
    """
    seconds = max(60 * site.scale, 5.0)
    output = run_tool(
        _STEADY_LOAD, site.servers, "steady", "100000", "100", "8", str(min(seconds, 10.0)), str(seconds), heap="1g"
    )
    found = {name: float(value) for name, value in re.findall(r"(\w+)=([\d.]+)", output.splitlines()[0])}
    is_whole = found["sent"] == found["acknowledged"] == found["fewest_received"] == found["most_received"]
    return {
        "held (1: yes)": float(is_whole and not found["failed"] and found["late_ms"] <= 1000),
        "records/s": found["rate"],
        "p50 ms": found["p50_ms"],
        "p99 ms": found["p99_ms"],
        "clients' CPU s": found["client_cpu_s"],  # clients and broker share the machine's cores
    }


def warm_up(site: Site) -> None:
    """Warms up both brokers, above all Kafka's JIT, before measuring."""
    for load in _WARM_UP:
        load.fill(site)
        load.consume(site)


BATCHES = ("acks=all", "linger.ms=5", "batch.size=65536")
LARGE_BATCHES = ("acks=all", "linger.ms=5", "batch.size=262144")
_PLAIN = Load("plain", 2_000_000, 100, BATCHES)
_LARGE = Load("large", 400_000, 1024, LARGE_BATCHES)
_ZSTD = Load("zstd", 1_000_000, 100, (*BATCHES, "compression.type=zstd"))
_MANY = Load("many", 1_000_000, 100, BATCHES, partitions=100)
ONE_A_REQUEST = ("acks=1", "linger.ms=0", "batch.size=1", "enable.idempotence=false")
_SINGLE = Load("single", 60_000, 100, ONE_A_REQUEST)
_WARM_UP = (
    Load("warm-up", 200_000, 100, ("acks=all", "linger.ms=5", "batch.size=16384")),
    Load("warm-up-single", 60_000, 100, ONE_A_REQUEST),
)
"""Single-record requests in the warm-up: their cost in Kafka halves within the first 60,000."""


def _produces(name: str, load: Load, ratio: float) -> Workload:
    return Workload(name, (ratio_at_least("records/s", ratio), CPU), load.make_topic, load.produce)


def _consumes(name: str, load: Load) -> Workload:
    return Workload(name, (ratio_at_least("records/s", 1.0), CPU), load.fill, load.consume)


WORKLOADS = (
    _produces("produce 2 M x 100 B, acks=all, linger 5 ms, 64 KiB batches, 1 partition", _PLAIN, 1.3),
    _consumes("consume them, in a group", _PLAIN),
    _produces("produce 400 K x 1 KiB, 256 KiB batches", _LARGE, 1.2),
    _consumes("consume them, in a group (1 KiB)", _LARGE),
    _produces("produce 1 M x 100 B, zstd", _ZSTD, 1.1),
    _consumes("consume them, in a group (zstd)", _ZSTD),
    _produces("produce 1 M x 100 B over 100 partitions", _MANY, 1.1),
    _consumes("consume them, in a group (100 partitions)", _MANY),
    _produces("produce 60 K x 100 B, one record a request, acks=1", _SINGLE, 1.3),
    _consumes("consume them, in a group (one record a batch)", _SINGLE),
    Workload(
        "end-to-end latency, acks=all",
        (ratio_at_most("avg ms", 1.0), ratio_at_most("p99 ms", 1.0), CPU),
        lambda site: create_topic(site.servers, "latency", 1),
        end_to_end,
    ),
    Workload(
        "100,000 messages of 100 B a second for 60 s, 8 producers, 8 consumers in a group each",
        (at_least("held (1: yes)", 1), CPU),
        lambda site: create_topic(site.servers, "steady", 8),
        steady,
    ),
)

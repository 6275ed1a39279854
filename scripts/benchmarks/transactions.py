"""Rows of transactions: Kafka's producer tool with transactions, and the loads of `TransactionLoad.java`."""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from support.clients.foreign_clients import CACHE, bring

from benchmarks.kafka_tools import create_topic, run_tool
from benchmarks.targets import CPU, Target, ratio_at_least, ratio_at_most
from benchmarks.workloads import BATCHES, DONE, Load, Site, Workload, consume

__all__ = ["TRANSACTION_WORKLOADS", "Transactions"]

_LOAD = Path(__file__).with_name("TransactionLoad.java")
_SECONDS = 10.0
_FILLED = 500_000
_COPIED = 200_000


def _figures(*arguments: str, libs: Path | None = None) -> dict[str, float]:
    output = run_tool(_LOAD, *arguments, libs=libs)
    return {name: float(value) for name, value in re.findall(r"(\w+)=([\d.]+)", output.splitlines()[-1])}


def _producing(duration_ms: int, ratio: float) -> Workload:
    """``duration_ms``: of each transaction. ``ratio``: of records a second, to Kafka's."""
    load = Load(f"transactions-{duration_ms}", 2_000_000, 100, BATCHES, transaction_ms=duration_ms)
    name = f"produce 2 M x 100 B in transactions of {duration_ms} ms"
    return Workload(name, (ratio_at_least("records/s", ratio), CPU), load.make_topic, load.produce)


class Transactions(NamedTuple):
    """Transactions of so many records, over the partitions of the topic in turn.

    ``is_version_2``: Kafka 4.1's client runs, for which a broker with transaction version 2 adds the partitions.
    """

    topic: str
    producers: int
    records: int
    partitions: int
    is_version_2: bool = False

    def commit(self, servers: str, scale: float) -> dict[str, float]:
        seconds = max(_SECONDS * scale, 2.0)
        counts = map(str, (self.partitions, self.producers, self.records, seconds))
        libs = None
        if self.is_version_2:
            bring("java")
            libs = CACHE / "kafka-clients-4.1.1" / "libs"
        found = _figures("commit", servers, self.topic, *counts, libs=libs)
        return {
            "transactions/s": found["rate"],
            "p50 ms": found["p50_ms"],
            "p99 ms": found["p99_ms"],
            DONE: found["ended"],
        }


def _committing(name: str, load: Transactions, *targets: Target) -> Workload:
    def prepare(site: Site) -> None:
        create_topic(site.servers, load.topic, load.partitions)

    return Workload(name, targets, prepare, lambda site: load.commit(site.servers, site.scale))


@dataclass
class _Filled:
    """A topic of transactions, of which every tenth is aborted."""

    topic: str
    committed: int = 0

    def prepare(self, site: Site) -> None:
        create_topic(site.servers, self.topic, 1)
        found = _figures("fill", site.servers, self.topic, str(int(_FILLED * site.scale)))
        self.committed = int(found["committed"])

    def consume(self, site: Site) -> dict[str, float]:
        with tempfile.NamedTemporaryFile("w", suffix=".properties") as settings:
            settings.write("isolation.level=read_committed\n")
            settings.flush()
            return consume(site, self.topic, self.committed, "--consumer.config", settings.name)

    def copy(self, site: Site) -> dict[str, float]:
        create_topic(site.servers, f"{self.topic}-copy", 1)
        records = str(min(int(_COPIED * site.scale), self.committed))
        return {"records/s": _figures("copy", site.servers, self.topic, f"{self.topic}-copy", records)["rate"]}


_CONSUMED, _COPIED_FROM = _Filled("transactions-read"), _Filled("transactions-copied")

TRANSACTION_WORKLOADS = (
    _producing(100, 1.2),
    _producing(10, 1.3),
    _committing(
        "transactions of one record, one producer",
        Transactions("transactions-one", producers=1, records=1, partitions=1),
        ratio_at_least("transactions/s", 2.0),
        ratio_at_most("p99 ms", 0.5),
    ),
    _committing(
        "transactions of 10 records over 5 partitions, 50 producers",
        Transactions("transactions-many", producers=50, records=10, partitions=5),
        ratio_at_least("transactions/s", 1.3),
        ratio_at_most("broker CPU ms of one", 0.6),
    ),
    _committing(
        "transactions of 300 records over 300 partitions, one producer, transaction version 0",
        Transactions("transactions-wide-0", producers=1, records=300, partitions=300),
        ratio_at_least("transactions/s", 1.0),
    ),
    _committing(
        "transactions of 300 records over 300 partitions, one producer, transaction version 2",
        Transactions("transactions-wide-2", producers=1, records=300, partitions=300, is_version_2=True),
        ratio_at_least("transactions/s", 1.0),
    ),
    Workload(
        "copy 200 K committed records in transactions of 1,000 with their offsets",
        (ratio_at_least("records/s", 1.2),),
        _COPIED_FROM.prepare,
        _COPIED_FROM.copy,
    ),
    Workload(
        "consume committed records of transactions of 100, every tenth aborted",
        (ratio_at_least("records/s", 1.0),),
        _CONSUMED.prepare,
        _CONSUMED.consume,
    ),
)

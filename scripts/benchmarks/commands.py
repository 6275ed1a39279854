"""Rows about the command line: `scripts/bench --only commands`. Without Kafka; kcat is measured too if it is there.

Each figure is that of a whole process, from its start to its end.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from random import Random
from statistics import median

from pybroker.protocol.records.record import Record, build_batch
from support.clients.good_client import create_topic, produce_request
from support.clients.wire_client import WireClient
from support.processes.broker_process import BrokerProcess

from benchmarks.contestants import Contestant
from benchmarks.scenarios import Scenario
from benchmarks.targets import at_least, at_most

__all__ = ["COMMANDS"]

_RECORDS = 5_000_000
_LINES = 1_000_000
_RECORDS_A_BATCH = 8_000
_DIFFERENT_BATCHES = 10
_RUNS = 3
_STARTS = 7
_NEEDLE = "order-of-nobody"


@contextmanager
def _broker() -> Iterator[BrokerProcess]:
    with tempfile.TemporaryDirectory(prefix="bench-") as directory, BrokerProcess(Path(directory)) as broker:
        yield broker


def _pybroker(broker: BrokerProcess, *arguments: str, runs: int = _RUNS, stdin: Path | None = None) -> float:
    return _seconds([sys.executable, "-m", "pybroker", *arguments, "-b", broker.bootstrap_servers], runs, stdin)


def _kcat(broker: BrokerProcess, *arguments: str, runs: int = _RUNS, stdin: Path | None = None) -> float | None:
    found = shutil.which("kcat") or shutil.which("kafkacat")
    return None if found is None else _seconds([found, "-b", broker.bootstrap_servers, *arguments], runs, stdin)


def _seconds(command: Sequence[str], runs: int, stdin: Path | None) -> float:
    """The median time of a process whose output goes to /dev/null."""
    taken_s = []
    for _ in range(runs):
        with Path("/dev/null" if stdin is None else stdin).open("rb") as given:
            began_s = time.monotonic()
            subprocess.run(command, stdin=given, stdout=subprocess.DEVNULL, check=True)
            taken_s.append(time.monotonic() - began_s)
    return median(taken_s)


def topics_list(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    with _broker() as broker, WireClient(broker.bootstrap_servers) as client:
        create_topic(client, "orders")
        figures = {"s": _pybroker(broker, "topics", "list", runs=_STARTS)}
        if (kcat_s := _kcat(broker, "-L", runs=_STARTS)) is not None:
            figures["s of kcat"] = kcat_s
    return {"pybroker": figures}


def consume(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    records = max(int(_RECORDS * scale) // _RECORDS_A_BATCH, 1) * _RECORDS_A_BATCH
    random = Random(1)
    with _broker() as broker:
        _fill(broker, "equal", records, [100])
        _fill(broker, "mixed", records, [random.randrange(50, 150) for _ in range(1_000)])
        seconds = {
            "": _pybroker(broker, "consume", "equal", "--until", "end"),
            " with a literal": _pybroker(broker, "consume", "equal", "--until", "end", "--filter", f"value:{_NEEDLE}"),
            " of 50 to 150 B": _pybroker(broker, "consume", "mixed", "--until", "end"),
            " of kcat": _kcat(broker, "-C", "-t", "equal", "-o", "beginning", "-e", "-q"),
        }
    return {"pybroker": {f"records/s{name}": records / taken for name, taken in seconds.items() if taken is not None}}


def produce(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    lines = max(int(_LINES * scale), 1)
    with _broker() as broker, tempfile.NamedTemporaryFile() as file, WireClient(broker.bootstrap_servers) as client:
        file.writelines(b"%0100d\n" % number for number in range(lines))
        file.flush()
        create_topic(client, "written")
        figures = {"lines/s": lines / _pybroker(broker, "produce", "written", stdin=Path(file.name))}
        if (kcat_s := _kcat(broker, "-P", "-t", "written", "-p", "0", stdin=Path(file.name))) is not None:
            figures["lines/s of kcat"] = lines / kcat_s
            figures["× kcat"] = figures["lines/s"] / figures["lines/s of kcat"]
    return {"pybroker": figures}


def _fill(broker: BrokerProcess, topic: str, records: int, sizes: Sequence[int]) -> None:
    """Writes records with values of these sizes in turn."""
    random = Random(2)
    batches = []
    for _ in range(_DIFFERENT_BATCHES):
        begin = random.randrange(len(sizes))
        values = [b"x" * size for size in islice(cycle(sizes), begin, begin + _RECORDS_A_BATCH)]
        parts = [Record(number, 1_800_000_000_000 + number // 50, None, each) for number, each in enumerate(values)]
        batches.append(bytes(build_batch(parts)))
    with WireClient(broker.bootstrap_servers) as client:
        create_topic(client, topic)
        requests = [produce_request(topic, each, acks=1) for each in batches]
        for request in islice(cycle(requests), records // _RECORDS_A_BATCH):
            client.ask(request, 9)


COMMANDS = (
    Scenario("commands: topics list", (at_most("s", 0.25),), topics_list),
    Scenario(
        "commands: consume to /dev/null, 100 B",
        (
            at_least("records/s", 3_000_000),
            at_least("records/s with a literal", 2_000_000),
            at_least("records/s of 50 to 150 B", 1_500_000),
        ),
        consume,
    ),
    Scenario("commands: produce of 1 M lines of 100 B", (at_least("× kcat", 1.0),), produce),
)

"""Runs `scripts/bench pipeline`: topics in Spark by the pipeline and by Spark's own Kafka connector in turn, and the
audit.

Each session is a process. Its start, and a first run of each work on a small topic, are not measured.
"""

import argparse
import os
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from support.processes.broker_process import BrokerProcess

from benchmarks.machine import moment, others_percent
from benchmarks.pipeline_load import fill_topic, write_segments
from benchmarks.pipeline_sides import Done, Side, session_of, sides
from benchmarks.progress import progress
from benchmarks.report import NO, TARGETS_MISSED

__all__ = ["main"]

_SMALL_RECORDS = 20_000
_AUDITED_PARTITIONS = 8
_LEAST_MIB_A_SECOND = 200
_MOST_OF_CONNECTOR = 1.0
_MOST_GROWTH = 1.2
"""Maximum growth of a task's memory from one partition to one ten times as large."""

_WORKS = {
    "job": "archive, AvailableNow (the connector: a plain stream into Parquet, by topic and date)",
    "table": "a plain stream into Parquet by topic and date, AvailableNow",
    "read": "batch read, all columns used",
}
"""Names of the works in pipeline_session.py."""
_MEMORY, _AUDIT = "memory", "audit"

Figures = dict[tuple[str, int], dict[str, list[float]]]
"""(work, cores) → name of a side → seconds, one a round."""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench pipeline", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of both sides (default 3)")
    parser.add_argument(
        "--records", type=int, default=5_000_000, help="records of 100 bytes in the topic (default 5,000,000)"
    )
    parser.add_argument("--partitions", type=int, default=4, help="partitions of the topic (default 4)")
    parser.add_argument("--cores", default="1,2", help="cores of the sessions, separated by commas (default 1,2)")
    parser.add_argument("--audit-mib", type=int, default=4096, help="MiB of segments for the audit (default 4096)")
    works = ",".join([*_WORKS, _MEMORY, _AUDIT])
    parser.add_argument("--works", default=works, help=f"works to measure, separated by commas (default {works})")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    chosen = options.works.split(",")
    lines = ["| work | cores | pybroker | connector | ratio | target | reached |", "|---|---:|---:|---:|---:|---|---|"]
    before = moment(())
    if topical := [work for work in chosen if work != _AUDIT]:
        lines += topic_lines(options, topical)
    if _AUDIT in chosen:
        lines.append(audit_line(options.audit_mib))
    print("\n".join(lines))
    print(f"\nOther work took {others_percent(before, moment(())):.0f} % of the machine.")
    return TARGETS_MISSED if any(NO in line for line in lines) else 0


def topic_lines(options: argparse.Namespace, works: Sequence[str]) -> list[str]:
    contestants = sides()
    with tempfile.TemporaryDirectory(prefix="bench-") as directory, BrokerProcess(Path(directory)) as broker:
        servers = broker.bootstrap_servers
        progress(f"{options.records:,} records into {options.partitions} partitions")
        for topic, records in ("small", _SMALL_RECORDS), ("tenth", options.records // 10), ("big", options.records):
            fill_topic(servers, topic, options.partitions, records)
        os.sync()
        figures: Figures = defaultdict(lambda: defaultdict(list))
        for number in range(options.rounds):
            for cores in map(int, options.cores.split(",")):
                in_turn = contestants if number % 2 == 0 else contestants[::-1]
                run_round(in_turn, cores, servers, [work for work in works if work in _WORKS], figures)
        lines = [line_of(work, cores, contestants, found, options.records) for (work, cores), found in figures.items()]
        return [*lines, memory_line(contestants[0], servers)] if _MEMORY in works else lines


def run_round(contestants: Sequence[Side], cores: int, servers: str, works: Sequence[str], figures: Figures) -> None:
    """Runs all works on both sides. Raises RuntimeError if they found different things."""
    found: dict[str, str] = {}
    for side in contestants:
        with session_of(side, cores, servers, "big") as session:
            for work in works:
                done = session.run(work)
                progress(f"  {side.name}, {cores} cores, {work}: {done.seconds:.2f} s, {done.found}")
                figures[work, cores][side.name].append(done.seconds)
                if found.setdefault(work, done.found) != done.found:
                    raise RuntimeError(f"{work}: {done.found} here, {found[work]} there")


def line_of(work: str, cores: int, contestants: Sequence[Side], found: dict[str, list[float]], records: int) -> str:
    medians = [statistics.median(found[side.name]) for side in contestants]
    cells = [_WORKS[work], str(cores), *(f"{median:.1f} s, {records / median:,.0f} rows/s" for median in medians)]
    if len(medians) == 1:
        return row(*cells, "-", "-", "", "")
    ratio = medians[0] / medians[1]
    return row(*cells, f"{ratio:.2f}", f"≤ {_MOST_OF_CONNECTOR:g}", verdict(ratio <= _MOST_OF_CONNECTOR))


def memory_line(side: Side, servers: str) -> str:
    """Measures the memory of a task that reads a whole partition."""

    def most(topic: str) -> Done:
        with session_of(side, 1, servers, topic, {"minPartitions": "1"}) as session:
            return session.run("read")

    tenth, whole = most("tenth").worker_mib, most("big").worker_mib
    work = "memory of a task: a Python worker that read whole partitions, and ones a tenth as large"
    growth = whole / tenth
    cells = (f"{whole:.0f} MiB, {tenth:.0f} MiB", "-", f"{growth:.2f} of each other")
    return row(work, "1", *cells, f"≤ {_MOST_GROWTH:g}", verdict(growth <= _MOST_GROWTH))


def audit_line(size_mib: int) -> str:
    """Measures the job `audit` in this process, without the start of its session; segments are in the page cache."""
    from pybroker.pipeline.audit.audit import audit
    from pybroker.pipeline.jobs.session import job_session

    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        directory = Path(name)
        progress(f"{size_mib:,} MiB of segments")
        write_segments(directory / "small", _AUDITED_PARTITIONS, 8 << 20)
        written = write_segments(directory / "big", _AUDITED_PARTITIONS, size_mib << 20)
        os.sync()
        with job_session("audit", "local[2]", {"spark.ui.enabled": "false"}) as spark:
            audit(spark, [str(directory / "small")])
            began = monotonic()
            found = audit(spark, [str(directory / "big")])
            seconds = monotonic() - began
    if found.faults or found.size_bytes != written:
        raise RuntimeError(f"{len(found.faults)} faults in {found.size_bytes} bytes of {written}")
    rate = written / (1 << 20) / seconds
    cells = (f"{seconds:.1f} s, {rate:,.0f} MiB/s", "-", "-", f"≥ {_LEAST_MIB_A_SECOND} MiB/s")
    return row(f"audit of {size_mib:,} MiB of segments", "2", *cells, verdict(rate >= _LEAST_MIB_A_SECOND))


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def verdict(is_reached: bool) -> str:
    return "yes" if is_reached else NO

"""Runs `scripts/bench pipeline`: topics in Spark by the pipeline and by Spark's own Kafka connector in turn, and the
audit.

Each session is a process. Its start, and a first run of each work on a small topic, are not measured.
"""

import argparse
import os
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

from support.processes.broker_process import BrokerProcess

from benchmarks.machine import moment, others_percent
from benchmarks.pipeline_load import fill_topic, write_segments
from benchmarks.pipeline_memory import memory_lines
from benchmarks.pipeline_sides import Done, Side, session_of, sides
from benchmarks.pipeline_works import WORKS, Case, heads, line_of, row, verdict
from benchmarks.progress import progress
from benchmarks.report import NO, TARGETS_MISSED

__all__ = ["main"]

_SMALL_RECORDS = 20_000
_AUDITED_PARTITIONS = 8
_LEAST_MIB_A_SECOND = 200
_MOST_GROWTH = 1.2
"""Maximum growth of a task's memory from one partition to one ten times as large."""

_MEMORY, _AUDIT = "memory", "audit"


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench pipeline", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of both sides (default 3)")
    parser.add_argument(
        "--records", type=int, default=5_000_000, help="records of 100 bytes in a topic (default 5,000,000)"
    )
    parser.add_argument(
        "--partitions", default="1,8", help="partitions of the topics, separated by commas (default 1,8)"
    )
    parser.add_argument("--cores", default="2", help="cores of the sessions, separated by commas (default 2)")
    parser.add_argument("--audit-mib", type=int, default=4096, help="MiB of segments for the audit (default 4096)")
    works = ",".join([*WORKS, _MEMORY, _AUDIT])
    parser.add_argument("--works", default=works, help=f"works to measure, separated by commas (default {works})")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    chosen = options.works.split(",")
    lines = heads()
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
    timed = [work for work in works if work in WORKS]
    partitions = list(map(int, options.partitions.split(",")))
    with tempfile.TemporaryDirectory(prefix="bench-") as directory, BrokerProcess(Path(directory)) as broker:
        servers = broker.bootstrap_servers
        progress(f"{options.records:,} records into {options.partitions} partitions")
        for count in partitions:
            for topic, records in topics(count, options.records).items():
                fill_topic(servers, topic, count, records)
        os.sync()
        results: dict[tuple[str, Case], dict[str, list[Done]]] = defaultdict(lambda: defaultdict(list))
        for number in range(options.rounds):
            for case in [(int(cores), count) for cores in options.cores.split(",") for count in partitions]:
                in_turn = contestants if number % 2 == 0 else contestants[::-1]
                for (work, side), done in round_of(in_turn, case, servers, options.records, timed).items():
                    results[work, case][side].append(done)
        lines = [line_of(work, case, results, contestants, options.records) for work, case in sorted(results)]
        if _MEMORY in works:
            lines += [growth_line(contestants[0], servers, topics(partitions[0], options.records))]
            of_count = {count: two_of(topics(count, options.records), "big") for count in partitions}
            lines += memory_lines(contestants, servers, of_count, options.rounds)
        return lines


def topics(partitions: int, records: int) -> dict[str, int]:
    """Returns the records of the topics with so many partitions: for warming up, a tenth, and all."""
    sizes = {"small": _SMALL_RECORDS, "tenth": records // 10, "big": records}
    return {f"{name}-{partitions}": size for name, size in sizes.items()}


def round_of(
    contestants: Sequence[Side], case: Case, servers: str, records: int, works: Sequence[str]
) -> dict[tuple[str, str], Done]:
    """Runs all works on both sides. Raises RuntimeError if they found different things."""
    results = {}
    found: dict[str, str] = {}
    cores, partitions = case
    for side in contestants:
        with session_of(side, f"local[{cores}]", servers, two_of(topics(partitions, records), "big")) as session:
            for work in works:
                if WORKS[work].beside and side.jars:
                    continue
                done = session.run(work)
                where = f"{side.name}, {cores} cores, {partitions} partitions"
                progress(f"  {where}, {work}: {done.seconds:.2f} s, CPU {done.cpu_s:.1f} s")
                results[work, side.name] = done
                if found.setdefault(work, done.found) != done.found:
                    raise RuntimeError(f"{work}: {done.found} here, {found[work]} there")
    return results


def two_of(known: Mapping[str, int], topic: str) -> dict[str, int]:
    """Returns the records of the topic for warming up and of another one."""
    return {name: records for name, records in known.items() if name.startswith(("small-", f"{topic}-"))}


def growth_line(side: Side, servers: str, known: Mapping[str, int]) -> str:
    """Measures the memory of a task that reads a whole partition."""

    def most(topic: str) -> Done:
        with session_of(side, "local[1]", servers, two_of(known, topic), {"minPartitions": "1"}) as session:
            return session.run("read")

    tenth, whole = most("tenth").worker_mib, most("big").worker_mib
    work = "memory of a task: a Python worker that read whole partitions, and ones a tenth as large"
    growth = whole / tenth
    cells = (f"{whole:.0f} MiB, {tenth:.0f} MiB", "-", f"{growth:.2f} of each other", "-")
    return row(work, "1", "-", *cells, f"≤ {_MOST_GROWTH:g}", verdict(growth <= _MOST_GROWTH))


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
    cells = (f"{seconds:.1f} s, {rate:,.0f} MiB/s", "-", "-", "-", f"≥ {_LEAST_MIB_A_SECOND} MiB/s")
    return row(f"audit of {size_mib:,} MiB of segments", "2", "-", *cells, verdict(rate >= _LEAST_MIB_A_SECOND))

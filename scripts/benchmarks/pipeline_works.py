"""The works of `scripts/bench pipeline` and the table of their results."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.pipeline_sides import Done, Side
from benchmarks.report import NO

__all__ = ["WORKS", "Case", "Results", "heads", "line_of", "row", "verdict"]


@dataclass(frozen=True)
class Work:
    """A method of `Works` in pipeline_session.py. `most`: maximum ratio of its seconds to the connector's, or to those
    of the work `beside` on the same side.
    """

    label: str
    most: float
    beside: str = ""


WORKS = {
    "job": Work("archive, AvailableNow (the connector: a plain stream into Parquet, by topic and date)", 0.5),
    "write": Work("a plain batch into Parquet by topic and date", 1.0),
    "table": Work("a plain stream into Parquet by topic and date, AvailableNow", 1.0),
    "read": Work("batch read, all columns used", 1.0),
    "job_batches": Work("archive in 10 micro-batches (the connector: a plain stream)", 0.8),
    "batches": Work("a plain stream into Parquet in 10 micro-batches", 1.0),
    "delta": Work("archive in 10 micro-batches into a Delta table, beside Parquet", 1.3, "job_batches"),
    "iceberg": Work("archive in 10 micro-batches into an Iceberg table, beside Parquet", 1.3, "job_batches"),
}

Case = tuple[int, int]
"""Cores and partitions."""
Results = Mapping[tuple[str, Case], Mapping[str, Sequence[Done]]]
"""(work, case) → name of a side → one result a round."""


def heads() -> list[str]:
    names = ("work", "cores", "partitions", "pybroker", "connector", "ratio", "of CPU", "target", "reached")
    return [row(*names), "|---|---:|---:|---:|---:|---:|---:|---|---|"]


def line_of(work: str, case: Case, results: Results, contestants: Sequence[Side], records: int) -> str:
    """Returns the row of a work."""
    wanted = WORKS[work]
    found = [results[work, case].get(side.name, ()) for side in contestants]
    cells = [wanted.label, *map(str, case), *(_seconds(done, records) for done in found)]
    cells += ["-"] * (2 - len(found))
    other = results.get((wanted.beside, case), {}).get(contestants[0].name, ()) if wanted.beside else found[-1]
    if not other or other is found[0]:
        return row(*cells, "-", "-", "", "")
    ratio = statistics.median(each.seconds for each in found[0]) / statistics.median(each.seconds for each in other)
    of_cpu = statistics.median(each.cpu_s for each in found[0]) / statistics.median(each.cpu_s for each in other)
    return row(*cells, f"{ratio:.2f}", f"{of_cpu:.2f}", f"≤ {wanted.most:g}", verdict(ratio <= wanted.most))


def _seconds(done: Sequence[Done], records: int) -> str:
    if not done:
        return "-"
    median, cpu = (statistics.median(each) for each in zip(*((each.seconds, each.cpu_s) for each in done), strict=True))
    return f"{median:.2f} s, {records / median:,.0f} rows/s, CPU {cpu:.1f} s"


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def verdict(is_reached: bool) -> str:
    return "yes" if is_reached else NO

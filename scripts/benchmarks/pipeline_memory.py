"""Measures the memory of executors for `scripts/bench pipeline`.

The session has one executor, a process apart from the driver. A page that forked Python workers share counts once: the
sum of the proportional set sizes (PSS) of all processes is sampled, because the sum of their resident sizes would count
such pages once per worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from benchmarks.pipeline_sides import Session, Side, session_of
from benchmarks.pipeline_works import row, verdict
from benchmarks.progress import progress

__all__ = ["memory_lines"]

_CORES = 2
_MASTER = f"local-cluster[1,{_CORES},1024]"
"""A master and a worker in the driver's JVM; the executor has Spark's default heap, 1 GiB."""
_EVERY_S = 0.1
_MOST = 1.0
"""Maximum ratio of an executor's memory to that of the connector's executor."""


class Memory(NamedTuple):
    """Memory of an executor at one time, in MiB: of its JVM, and of all Python processes, which are so many."""

    java_mib: float
    python_mib: float
    processes: int

    @property
    def mib(self) -> float:
        return self.java_mib + self.python_mib

    def __str__(self) -> str:
        processes = f"{self.processes} Python processes {self.python_mib:,.0f}"
        return f"{self.mib:,.0f} MiB (JVM {self.java_mib:,.0f}, {processes})"


class MemoryWatch:
    """Samples the memory of a session's executor in a thread; `peak` is the largest sample."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.peak = Memory(0, 0, 0)
        self._over = Event()
        self._thread = Thread(target=self._look, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(_EVERY_S):
            executor = self._session.executor()
            if executor is not None:
                now = Memory(_pss_mib([executor.java]), _pss_mib(executor.python), len(executor.python))
                self.peak = max(self.peak, now, key=lambda each: each.mib)


def memory_lines(
    contestants: Sequence[Side], servers: str, records: Mapping[int, Mapping[str, int]], rounds: int
) -> list[str]:
    """Measures archives, and the connector's streams into Parquet files. `records`: as for `session_of`, by the number
    of partitions.
    """
    lines = []
    for partitions, of_topics in records.items():
        found = [_median([_peak(side, servers, of_topics) for _ in range(rounds)]) for side in contestants]
        name = "memory of an executor, JVM and Python: archive (the connector: a plain stream)"
        cells = [name, str(_CORES), str(partitions), *map(str, found)]
        if len(found) == 1:
            lines.append(row(*cells, "-", "-", "-", "", ""))
            continue
        ratio = found[0].mib / found[1].mib
        lines.append(row(*cells, f"{ratio:.2f}", "-", f"≤ {_MOST:g}", verdict(ratio <= _MOST)))
    return lines


def _peak(side: Side, servers: str, records: Mapping[str, int]) -> Memory:
    with session_of(side, _MASTER, servers, records) as session, MemoryWatch(session) as watch:
        session.run("job")
    progress(f"  {side.name}, memory of an executor, {max(records, key=records.__getitem__)}: {watch.peak}")
    return watch.peak


def _median(found: Sequence[Memory]) -> Memory:
    return sorted(found, key=lambda each: each.mib)[len(found) // 2]


def _pss_mib(pids: Iterable[int]) -> float:
    return sum(map(_pss_of, pids)) / 1024


def _pss_of(pid: int) -> int:
    """Returns KiB; 0 if the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)

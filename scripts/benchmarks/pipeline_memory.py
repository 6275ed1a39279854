"""Measures the memory of Spark sessions for `scripts/bench pipeline`.

A page that forked Python workers share counts once: the sum of the proportional set sizes (PSS) of all processes is
sampled, because the sum of their resident sizes would count such pages once per worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from benchmarks.pipeline_sides import Session, Side, session_of
from benchmarks.pipeline_works import WORKS, row, verdict
from benchmarks.progress import progress

__all__ = ["memory_lines"]

_CORES = 2
_EVERY_S = 0.25
_MOST = 1.0
"""Maximum ratio of a session's memory to that of the connector's session."""


class Memory(NamedTuple):
    """Memory at one time, in MiB: of the JVM, and of all Python workers, which are so many."""

    java_mib: float
    python_mib: float
    workers: int

    @property
    def mib(self) -> float:
        return self.java_mib + self.python_mib

    def __str__(self) -> str:
        return f"{self.mib:,.0f} MiB (JVM {self.java_mib:,.0f}, {self.workers} Python processes {self.python_mib:,.0f})"


class MemoryWatch:
    """Samples the memory of a session in a thread; `peak` is the largest sample."""

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
        while True:
            workers = list(self._session.python_workers())
            now = Memory(_pss_mib(self._session.java()), _pss_mib(workers), len(workers))
            self.peak = max(self.peak, now, key=lambda each: each.mib)
            if self._over.wait(_EVERY_S):
                return


def memory_lines(contestants: Sequence[Side], servers: str, records: Mapping[str, int]) -> list[str]:
    """Measures whole sessions that write Parquet files. `records`: as for `session_of`."""
    lines = []
    for work in ("job", "job_batches"):
        peaks = []
        for side in contestants:
            with session_of(side, _CORES, servers, records) as session, MemoryWatch(session) as watch:
                session.run(work)
            progress(f"  {side.name}, memory of {work}: {watch.peak}")
            peaks.append(watch.peak)
        cells = [str(peak) for peak in peaks]
        name = f"memory of the JVM and all Python workers: {WORKS[work].label}"
        if len(peaks) == 1:
            lines.append(row(name, str(_CORES), "-", *cells, "-", "-", "-", "", ""))
            continue
        ratio = peaks[0].mib / peaks[1].mib
        wanted = (f"{ratio:.2f}", "-", f"≤ {_MOST:g}", verdict(ratio <= _MOST))
        lines.append(row(name, str(_CORES), "-", *cells, *wanted))
    return lines


def _pss_mib(pids: Iterable[int]) -> float:
    return sum(map(_pss_of, pids)) / 1024


def _pss_of(pid: int) -> int:
    """Returns KiB; 0 if the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)

"""Measures what else the machine did during a measurement, because figures of a busy machine need care."""

import os
import resource
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from benchmarks.contestants import cpu_seconds

__all__ = ["Moment", "moment", "others_percent"]


class Moment(NamedTuple):
    """CPU seconds so far: available, busy, used by the broker and used by our tools."""

    available: float
    busy: float
    ours: float


def moment(broker_pids: Iterable[int]) -> Moment:
    """Reads the CPU seconds. Tools are counted when they end, so take moments only between tool runs."""
    line = Path("/proc/stat").read_text().splitlines()[0]
    user, nice, system, idle, waiting, *rest = (int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in line.split()[1:9])
    busy = user + nice + system + sum(rest)
    own, tools = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    brokers = sum(map(cpu_seconds, broker_pids))
    ours = brokers + own.ru_utime + own.ru_stime + tools.ru_utime + tools.ru_stime
    return Moment(busy + idle + waiting, busy, ours)


def others_percent(before: Moment, after: Moment) -> float:
    """Returns the percentage of all CPU time used by neither the broker nor its clients."""
    others = (after.busy - before.busy) - (after.ours - before.ours)
    return max(0.0, 100 * others / max(after.available - before.available, 0.01))

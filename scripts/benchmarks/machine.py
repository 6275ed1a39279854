"""What else the machine did while something was measured: figures of a busy machine are to be read with care."""

import os
import resource
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from benchmarks.contestants import cpu_seconds

__all__ = ["Moment", "moment", "others_percent"]


class Moment(NamedTuple):
    """CPU seconds so far: those the machine has had, those it was busy, those of the broker and of our tools."""

    available: float
    busy: float
    ours: float


def moment(broker_pids: Iterable[int]) -> Moment:
    """Tools count when they have ended, so a measurement begins and ends between them."""
    line = Path("/proc/stat").read_text().splitlines()[0]
    user, nice, system, idle, waiting, *rest = (int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in line.split()[1:9])
    busy = user + nice + system + sum(rest)
    own, tools = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    brokers = sum(map(cpu_seconds, broker_pids))
    ours = brokers + own.ru_utime + own.ru_stime + tools.ru_utime + tools.ru_stime
    return Moment(busy + idle + waiting, busy, ours)


def others_percent(before: Moment, after: Moment) -> float:
    """The share of all processors that neither the broker nor its clients had."""
    others = (after.busy - before.busy) - (after.ours - before.ours)
    return max(0.0, 100 * others / max(after.available - before.available, 0.01))

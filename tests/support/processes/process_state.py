"""What Linux says of a process: its memory, its descriptors, its processor time."""

import contextlib
import gc
import os
import sys
from pathlib import Path
from typing import Literal

import psutil

__all__ = [
    "cpu_seconds",
    "descendants_naming",
    "descriptor_count",
    "family_cpu_seconds",
    "forget_peak",
    "has_ended",
    "open_descriptors",
    "peak_mib",
    "resident_mib",
    "socket_count",
]

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def has_ended(pid: int) -> bool:
    """Also when whoever should take note of it has not done so."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def descendants_naming(text: str) -> list[int]:
    """Processes of ours, and theirs, that have it in their command line."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it ends, or is a zombie
            if text in " ".join(process.cmdline()):
                found.append(process.pid)
    return found


def descriptor_count(pid: int) -> int:
    """Open files and sockets."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def socket_count(pid: int) -> int:
    """Open sockets, those that listen among them."""
    count = 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            count += os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:")
    return count


def open_descriptors() -> list[str]:
    """What the process has open, named; the same again is no leak."""
    gc.collect()  # logs that other tests left open close with it, not in between
    names: list[str] = []
    for number in os.listdir("/proc/self/fd") if sys.platform == "linux" else ():
        try:
            names.append(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:  # that of the listing itself
            continue
    return sorted(names)


def resident_mib(pid: int) -> float:
    return _status_mib(pid, "VmRSS")


def peak_mib(pid: int | Literal["self"]) -> float:
    """The most memory it had since its start, or since ``forget_peak``."""
    return _status_mib(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    """Measure ``peak_mib`` from here on."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def cpu_seconds(pid: int) -> float:
    """Of all its threads, in user and kernel mode."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


def family_cpu_seconds(pid: int) -> float:
    """With that of its child processes, also those that have ended."""
    process = psutil.Process(pid)
    seconds = 0.0
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # then it is among those that have ended, or will be
            times = each.cpu_times()
            seconds += times.user + times.system + times.children_user + times.children_system
    return seconds


def _status_mib(pid: int | str, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"the process {pid} has no {name}")

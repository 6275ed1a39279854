"""Memory, descriptors and CPU time of a process, as Linux reports them."""

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
    """Returns whether the process has ended, also if its parent has not collected it."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def descendants_naming(text: str) -> list[int]:
    """Returns our descendants with this text in their command line."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it is ending, or a zombie
            if text in " ".join(process.cmdline()):
                found.append(process.pid)
    return found


def descriptor_count(pid: int) -> int:
    """Returns the number of open files and sockets."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def socket_count(pid: int) -> int:
    """Returns the number of open sockets, including listening ones."""
    count = 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            count += os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:")
    return count


def open_descriptors() -> list[str]:
    """Returns the open descriptors by name; equal results mean no leak."""
    gc.collect()  # collects logs that other tests left open now, instead of during the test
    names: list[str] = []
    for number in os.listdir("/proc/self/fd") if sys.platform == "linux" else ():
        try:
            names.append(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:  # the descriptor of the listing itself
            continue
    return sorted(names)


def resident_mib(pid: int) -> float:
    return _status_mib(pid, "VmRSS")


def peak_mib(pid: int | Literal["self"]) -> float:
    """Returns the peak memory in MiB since its start or since `forget_peak`."""
    return _status_mib(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    """Resets the peak of `peak_mib`."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def cpu_seconds(pid: int) -> float:
    """Returns the CPU seconds (user and system) of all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


def family_cpu_seconds(pid: int) -> float:
    """Returns the CPU seconds including child processes, running and ended."""
    process = psutil.Process(pid)
    seconds = 0.0
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # then its time is counted with the ended children
            times = each.cpu_times()
            seconds += times.user + times.system + times.children_user + times.children_system
    return seconds


def _status_mib(pid: int | str, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"the process {pid} has no {name}")

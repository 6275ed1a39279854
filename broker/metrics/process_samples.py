"""Samples of the process: CPU, memory, descriptors, disk traffic and the garbage collector.

**Limits.** Without ``/proc`` (macOS) only CPU time, the limit of descriptors and the collector's numbers are there.
"""

import gc
import os
import platform
import resource
import time
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from .labels import labels
from .registry import Registry, Sample, Samples
from .series.table import series_named

__all__ = ["add_process_samples"]

_PROC = Path("/proc/self")
_NAMES_BETWEEN_SLICES = 32
_PAGE_BYTES = resource.getpagesize()
# Fields of /proc/self/stat, counted from the one behind the command's name (proc(5)).
_THREADS, _START_TICKS, _VIRTUAL_BYTES, _RESIDENT_PAGES = 17, 19, 20, 21


def add_process_samples(registry: Registry) -> None:
    """Add a source for each series of the process."""
    sources: dict[str, Samples] = {
        "process_cpu_seconds_total": lambda: [("", time.process_time())],
        "process_max_fds": lambda: [("", resource.getrlimit(resource.RLIMIT_NOFILE)[0])],
        "python_gc_collections_total": partial(_collector, "collections"),
        "python_gc_objects_collected_total": partial(_collector, "collected"),
        "python_gc_objects_uncollectable_total": partial(_collector, "uncollectable"),
        "python_info": lambda: [(_python_labels(), 1)],
    }
    if _PROC.exists():
        sources |= {
            "process_resident_memory_bytes": lambda: [("", _stat(_RESIDENT_PAGES) * _PAGE_BYTES)],
            "process_virtual_memory_bytes": lambda: [("", _stat(_VIRTUAL_BYTES))],
            "process_threads": lambda: [("", _stat(_THREADS))],
            "process_start_time_seconds": lambda: [("", _start_time_s())],
            "process_open_fds": _open_descriptors,
            "kafka_server_kafkaserver_linux_disk_read_bytes": lambda: _disk_bytes("read_bytes"),
            "kafka_server_kafkaserver_linux_disk_write_bytes": lambda: _disk_bytes("write_bytes"),
        }
    for name, samples in sources.items():
        registry.add(series_named(name), samples)


def _stat(field: int) -> int:
    _, _, fields = (_PROC / "stat").read_text().rpartition(")")
    return int(fields.split()[field])


@cache
def _start_time_s() -> float:
    """The start of the process, in seconds since 1970. The kernel counts it from the start of the machine."""
    (booted,) = [line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime ")]
    return int(booted.split()[1]) + _stat(_START_TICKS) / os.sysconf("SC_CLK_TCK")


def _open_descriptors() -> Iterator[Sample | None]:
    """Linux 6.2 and later tell the number. On earlier versions the names are counted, two microseconds each."""
    number = (_PROC / "fd").stat().st_size
    if number:
        yield "", number
        return
    with os.scandir(_PROC / "fd") as names:
        for number, _ in enumerate(names):  # the listing has a descriptor itself
            if not number % _NAMES_BETWEEN_SLICES:
                yield None
    yield "", number


def _disk_bytes(key: str) -> Iterator[Sample]:
    """Bytes that reached disks; no sample where the kernel does not count them."""
    path = _PROC / "io"
    if os.access(path, os.R_OK):
        for line in path.read_text().splitlines():
            name, _, value = line.partition(": ")
            if name == key:
                yield "", int(value)


def _collector(key: str) -> Iterator[Sample]:
    for generation, numbers in enumerate(gc.get_stats()):
        yield labels(generation=generation), numbers[key]


@cache
def _python_labels() -> str:
    major, minor, patchlevel = platform.python_version_tuple()
    return labels(
        implementation=platform.python_implementation(),
        major=major,
        minor=minor,
        patchlevel=patchlevel,
        version=platform.python_version(),
    )

"""Facts about this process from the operating system."""

import os
import platform
import resource
import threading
import time
from pathlib import Path

from ...views.brokers import Process

__all__ = ["process_facts", "rss_bytes"]


def process_facts() -> Process:
    """Return the facts as of now. To be called in a worker, because there may be very many open files."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return Process(
        pid=os.getpid(),
        rss_bytes=rss_bytes(),
        cpu_s=round(time.process_time(), 3),
        open_files=_open_files(),
        max_open_files=None if limit == resource.RLIM_INFINITY else limit,
        threads=threading.active_count(),
        python=platform.python_version(),
    )


def rss_bytes() -> int | None:
    """Return the memory of this process that is resident; None where the system does not tell it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:  # not Linux
        return None


def _open_files() -> int | None:
    for path in ("/proc/self/fd", "/dev/fd"):
        try:
            return len(os.listdir(path))
        except OSError:
            continue
    return None

"""Ports for processes that are restarted, with several test runs on one machine."""

import fcntl
import os
import tempfile
from functools import cache
from pathlib import Path

from pybroker.broker.library.cluster.ports import free_ports

__all__ = ["free_port"]

_mine: set[int] = set()


def free_port() -> int:
    """Returns a port that stays free while nobody listens, as long as this process lives.

    It is outside the range that the system assigns to connections and listeners, so a restarted broker finds its port
    free. Other test runs choose other ports: each run locks a byte of one file.
    """
    while True:
        (port,) = free_ports(1)
        if port not in _mine and _claim(port):
            _mine.add(port)
            return port


def _claim(port: int) -> bool:
    try:
        fcntl.lockf(_claims(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


@cache
def _claims() -> int:
    """Returns a descriptor that is never closed, because closing would release the locks."""
    return os.open(Path(tempfile.gettempdir()) / "pybroker-ports-of-tests", os.O_RDWR | os.O_CREAT, 0o666)

"""Ports for processes that are stopped and started again, several runs of tests beside one another."""

import fcntl
import os
import tempfile
from functools import cache
from pathlib import Path

from pybroker.broker.library.cluster.ports import free_ports

__all__ = ["free_port"]

_mine: set[int] = set()


def free_port() -> int:
    """One that stays free while nobody listens there, for as long as this process lives.

    It is none that the system gives to connections, nor to who listens at any port: a broker that is down for a moment
    would find its port taken. Other runs of tests choose another one: each has a byte of one file locked.
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
    """A descriptor that is never closed: to close it would end the locks."""
    return os.open(Path(tempfile.gettempdir()) / "pybroker-ports-of-tests", os.O_RDWR | os.O_CREAT, 0o666)

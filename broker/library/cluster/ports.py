"""Finds free ports for brokers that may be down for a while.

**How.** A port is this process's until it is given back or the process ends: it locks a byte of one file for each of
them. So the test runs of one user on a machine do not take each other's ports.
"""

import fcntl
import os
import socket
import tempfile
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from random import SystemRandom

from ...start_error import StartError

__all__ = ["HOST", "free_ports", "give_back"]

HOST = "127.0.0.1"

_LINUX_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST = 10_000
_DEFAULT_END = 32_768
_TRIES = 1000
_taken: set[int] = set()
_taking = threading.Lock()


def free_ports(count: int) -> list[int]:
    """Different ports on which nothing listens now. Raises StartError.

    They are below the range for outgoing connections. Otherwise such a connection could take the port of a broker that
    is down for a moment, and the broker could not start again.
    """
    end = _end_of_lasting_ports()
    found: set[int] = set()
    random = SystemRandom()
    for _ in range(_TRIES):
        port = random.randrange(_FIRST, end)
        if _is_free(port) and _take(port):
            found.add(port)
        if len(found) == count:
            return sorted(found)
    give_back(found)
    raise StartError(f"fewer than {count} ports are free from {_FIRST} to {end - 1}")


def give_back(ports: Iterable[int]) -> None:
    """Let other processes, and later calls in this one, choose the ports again."""
    with _taking:
        for port in ports:
            if port in _taken:
                _taken.remove(port)
                _lock(fcntl.LOCK_UN, port)


def _take(port: int) -> bool:
    with _taking:
        if port in _taken or not _lock(fcntl.LOCK_EX | fcntl.LOCK_NB, port):
            return False
        _taken.add(port)
        return True


def _lock(operation: int, port: int) -> bool:
    """Whether no other process has locked the byte of the port."""
    try:
        fcntl.lockf(_file(), operation, 1, port)
    except OSError:
        return False
    return True


@cache
def _file() -> int:
    """A descriptor that is never closed, because closing would release the locks."""
    path = Path(tempfile.gettempdir()) / f"pybroker-ports-{os.getuid()}"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _end_of_lasting_ports() -> int:
    try:
        first_of_connections = int(_LINUX_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return _DEFAULT_END
    return first_of_connections if first_of_connections > _FIRST + _TRIES else _DEFAULT_END


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True

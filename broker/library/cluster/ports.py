"""Finds free ports for brokers that may be down for a while."""

import socket
from pathlib import Path
from random import SystemRandom

from ...start_error import StartError

__all__ = ["HOST", "free_ports"]

HOST = "127.0.0.1"

_LINUX_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST = 10_000
_DEFAULT_END = 32_768
_TRIES = 1000


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
        if port not in found and _is_free(port):
            found.add(port)
        if len(found) == count:
            return sorted(found)
    raise StartError(f"fewer than {count} ports are free from {_FIRST} to {end - 1}")


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

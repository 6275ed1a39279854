"""TCP options for clients on this machine: no paced congestion control, and wide send buffers for records.

Why: BBR sends by a timer, which costs CPU time and brings nothing where the path is memory. A wide buffer takes a
response of records whole, which saves a wake-up for each part of it.
How: a socket that has paced once goes on pacing. So listening sockets use Reno, accepted ones inherit it, and a
connection from another machine gets the system's choice back before anything is sent.
"""

import contextlib
import socket
from typing import Protocol

from .request import ConnectionInfo
from .settings import NetworkSettings
from .transport import Transport

__all__ = ["WIDE_BUFFER_BYTES", "WIDE_BUFFER_TAKES", "LocalSocketOptions", "congestion_control_that_paces"]

WIDE_BUFFER_BYTES = 640 * 1024
"""Asked for; Linux takes twice as much, and counts what it needs for itself: enough for a MiB (`net.core.wmem_max` may
allow less)."""
WIDE_BUFFER_TAKES = 2 * WIDE_BUFFER_BYTES
_PACING = b"bbr"
_UNPACED = b"reno"  # exists on every Linux and needs no privilege
_NAME_BYTES = 16
_TCP_CONGESTION: int = getattr(socket, "TCP_CONGESTION", -1)  # Linux; elsewhere none has such an option


class Socket(Protocol):
    """The socket of an asyncio transport, which is not a `socket.socket`."""

    def getsockopt(self, level: int, option: int, size: int, /) -> bytes: ...

    def setsockopt(self, level: int, option: int, value: bytes, /) -> None: ...


def congestion_control_that_paces() -> bytes | None:
    """The system's default congestion control, if it paces and can be replaced and restored; otherwise None."""
    try:
        with socket.socket() as new:
            chosen = _congestion_control(new)
            if not chosen.startswith(_PACING):
                return None
            for name in (_UNPACED, chosen):
                new.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, name)
    except OSError:  # not allowed, or not on Linux
        return None
    return chosen


class LocalSocketOptions:
    """Sets the options of a broker's sockets, and counts the wide buffers."""

    def __init__(self, paced_by: bytes | None, settings: NetworkSettings) -> None:
        """``paced_by``: the result of `congestion_control_that_paces`."""
        self._paced_by = paced_by
        is_wider = 0 <= settings.send_buffer_bytes < WIDE_BUFFER_BYTES
        self._most_wide = settings.max_local_send_buffer_bytes // WIDE_BUFFER_TAKES if is_wider else 0
        self._wide: set[ConnectionInfo] = set()

    def prepare(self, listening: Socket) -> None:
        """Connections accepted from now on do not pace."""
        if self._paced_by is not None:
            with contextlib.suppress(OSError):  # the sockets keep the system's option then, which is harmless
                listening.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, _UNPACED)

    def accepted(self, transport: Transport, info: ConnectionInfo) -> None:
        """To be called before anything is sent."""
        if self._paced_by is None or _is_local(info):
            return
        accepted = transport.get_extra_info("socket")
        with contextlib.suppress(OSError):  # the connection is closed, or keeps its option: both are harmless
            if _congestion_control(accepted) == _UNPACED:  # otherwise a route asks for another algorithm
                accepted.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, self._paced_by)

    def will_be_sent_records(self, transport: Transport, info: ConnectionInfo) -> None:
        """Give the connection a wide send buffer, if the budget allows, because it is sent records now."""
        if len(self._wide) >= self._most_wide or not _is_local(info):
            return
        accepted = transport.get_extra_info("socket")
        if accepted is None:  # a simulation's
            return
        self._wide.add(info)
        with contextlib.suppress(OSError):  # the connection is closed already
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, WIDE_BUFFER_BYTES)

    def forget(self, info: ConnectionInfo) -> None:
        """The connection has ended: its wide buffer is free for another one."""
        self._wide.discard(info)


def _is_local(info: ConnectionInfo) -> bool:
    """Whether the client has the address it connects to. Clients at other addresses of this machine are missed."""
    return info.peer_host == info.local_host


def _congestion_control(of: Socket) -> bytes:
    return of.getsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, _NAME_BYTES).rstrip(b"\0")

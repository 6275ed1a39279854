"""Pacing: BBR sends by a timer, at the rate that it has measured a path to have.

To a peer on this machine the path is memory, and the timers take two fifths of the CPU time that a fetch of a MiB costs
(docs/performance.md). So where BBR is the system's choice, peers on this machine are sent to without.

A socket that has paced once goes on to do so, whatever its congestion control is then. So listening sockets do not,
what they accept inherits that, and a connection from elsewhere is given the system's choice back before anything is
sent.
"""

import contextlib
import socket
from typing import Protocol

__all__ = ["pace", "paced_by_default", "send_at_once"]

_PACING = b"bbr"
_UNPACED = b"reno"  # which each Linux has, and everybody may choose
_NAME_BYTES = 16
_TCP_CONGESTION: int | None = getattr(socket, "TCP_CONGESTION", None)  # Linux


class Socket(Protocol):
    """An asyncio transport's is no `socket.socket`."""

    def setsockopt(self, level: int, option: int, value: bytes, /) -> None: ...


def paced_by_default() -> bytes | None:
    """The congestion control that the system chooses for a new socket, if it paces."""
    if _TCP_CONGESTION is None:
        return None
    try:
        with socket.socket() as new:
            name = new.getsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, _NAME_BYTES).rstrip(b"\0")
    except OSError:  # a system that only looks like Linux
        return None
    return name if name.startswith(_PACING) else None


def send_at_once(listening: Socket) -> None:
    """What is accepted from now on does not pace."""
    _choose(listening, _UNPACED)


def pace(accepted: Socket, congestion_control: bytes) -> None:
    """As `paced_by_default` has it, from now on."""
    _choose(accepted, congestion_control)


def _choose(of: Socket, congestion_control: bytes) -> None:
    if _TCP_CONGESTION is not None:
        with contextlib.suppress(OSError):  # it is gone already, or it stays as it is, which serves as well
            of.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, congestion_control)

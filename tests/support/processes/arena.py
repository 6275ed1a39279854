"""A broker under attack, a good client that must be served, and checks after the attack."""

import contextlib
import random
import re
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pybroker.protocol.codec import Message, encode
from pybroker.protocol.messages.headers import RequestHeader

from ..clients.good_client import GoodClient
from ..clients.wire_frames import spec_of
from .broker_process import BrokerProcess
from .process_state import descriptor_count, forget_peak, peak_mib, socket_count

__all__ = ["Arena", "arena", "frame_of", "framed", "header_of"]


_INDEX_FILES = 2
"""Index files of the good client's log, which exist once the log is large enough."""
_COUNTS_THE_LEFT_OUT = re.compile(r"\(\d+ more ")
"""A line that comes again tells how many were left out. On a slow machine an attack lasts longer than such a pause."""
ROUNDS = 100_000
"""Maximum rounds of three requests of the good client to wait for a condition."""


def framed(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def header_of(request_type: type[Message], version: int, *, correlation_id: int = 1, client_id: str = "rogue") -> bytes:
    spec = spec_of(request_type)
    header = RequestHeader(
        request_api_key=int(spec.key),
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    return encode(header, spec.request_header_version(version))


def frame_of(request: Message, version: int, *, correlation_id: int = 1, client_id: str = "rogue") -> bytes:
    """Returns a request frame with its size in front."""
    head = header_of(type(request), version, correlation_id=correlation_id, client_id=client_id)
    return framed(head + encode(request, version))


class Arena:
    """The broker, the good client and the attacker's tools."""

    def __init__(self, broker: BrokerProcess, good: GoodClient) -> None:
        self.broker = broker
        self.good = good
        self.dice = random.Random(11)
        self._sockets_before = 0
        self._descriptors_before = 0
        self._lines_before = 0
        self._open: list[socket.socket] = []

    @property
    def servers(self) -> str:
        return self.broker.bootstrap_servers

    @property
    def http_port(self) -> int:
        """The port of the broker's HTTP endpoint, when ``pybroker.http.listeners`` is set."""
        return int(re.findall(r"HTTPS?://127\.0\.0\.1:(\d+)", self.broker.output)[-1])

    def begin(self) -> None:
        """Starts the measurements."""
        self._sockets_before = socket_count(self.broker.pid)
        self._descriptors_before = descriptor_count(self.broker.pid)
        self._lines_before = len(self.broker.lines)
        forget_peak(self.broker.pid)

    def connect(self, host: str = "127.0.0.1", receive_buffer_bytes: int = -1, port: int = 0) -> socket.socket:
        """Returns a connection of the attacker, optionally from another address (127.0.0.2 …), or to another port."""
        peer = socket.socket()
        if receive_buffer_bytes >= 0:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        if host != "127.0.0.1":
            peer.bind((host, 0))
        peer.connect(("127.0.0.1", port or self.broker.port))
        self._open.append(peer)
        return peer

    def throw(self, data: bytes) -> socket.socket:
        """Connects and sends; a connection closed by the broker is no error."""
        peer = self.connect()
        with contextlib.suppress(ConnectionError):
            peer.sendall(data)
        return peer

    def is_hung_up(self, peer: socket.socket) -> None:
        """Waits until the broker closes the connection; ignores data before that."""
        with contextlib.suppress(ConnectionError):
            while peer.recv(65_536):
                pass
        self.drop(peer)

    def drop(self, peer: socket.socket) -> None:
        peer.close()
        self._open.remove(peer)

    def drop_all(self) -> None:
        for peer in self._open:
            peer.close()
        self._open.clear()

    def until(self, condition: Callable[[], bool]) -> None:
        """Waits for a condition; checks it after each request of the good client."""
        for _ in range(ROUNDS):
            if condition():
                return
            self.good.is_served(1)
        raise AssertionError(f"the good client was served {ROUNDS} times, and what was waited for did not come")

    @property
    def sockets_of_attackers(self) -> int:
        """Returns the number of attackers' sockets that the broker holds."""
        return socket_count(self.broker.pid) - self._sockets_before

    @property
    def peak_mib(self) -> float:
        """Returns the broker's peak memory since `begin`."""
        return peak_mib(self.broker.pid)

    def complaints(self) -> list[str]:
        """Returns log lines since `begin` of level WARNING or above."""
        lines = self.broker.lines[self._lines_before :]
        return [line.rstrip() for line in lines if " WARNING " in line or " ERROR " in line]

    def lines(self) -> list[str]:
        """All lines of the log since ``begin``."""
        return [line.rstrip() for line in self.broker.lines[self._lines_before :]]

    def recovers(self, *, lines: int, mib: float, files: int = 0) -> None:
        """Checks the state after the attack: at most this many complaints and this much memory, and no open files
        besides `files`, which the attackers created.
        """
        self.good.is_served()
        self.good.newcomer_is_served()
        self.drop_all()
        self.until(lambda: self.sockets_of_attackers <= 0)
        own = self._descriptors_before + _INDEX_FILES
        self.until(lambda: descriptor_count(self.broker.pid) <= own + files)
        self.good.is_served()
        assert "Traceback" not in self.broker.output, self.broker.output
        new = [line for line in self.complaints() if not _COUNTS_THE_LEFT_OUT.search(line)]
        assert len(new) <= lines, "\n".join(self.complaints())
        peak = self.peak_mib
        assert peak <= mib, f"{peak:.0f} MiB, and {mib:.0f} are allowed"


@contextlib.contextmanager
def arena(directory: Path, settings: Mapping[str, str] | None = None) -> Iterator[Arena]:
    """A new broker with a good client at work."""
    with BrokerProcess(directory, settings) as broker, GoodClient(broker.bootstrap_servers) as good:
        fight = Arena(broker, good)
        fight.begin()
        try:
            yield fight
        finally:
            fight.drop_all()

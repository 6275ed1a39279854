"""A broker that says what the requests of one client cost it: CPU time of its threads, as Linux counts it.

What counts is from the bytes that were read to the answer that was written, on the event loop, also where the answer
comes later than the bytes (a fetch that waits); and what workers do to the client's topic. What nobody asked for in
particular (waiting for sockets, accepting, timers) does not count.

The figures are in a file that both map: nanoseconds, requests.
"""

import mmap
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from time import thread_time_ns
from typing import Any

from pybroker.broker.commands.command_line import main
from pybroker.broker.network.connection import Connection
from pybroker.storage.log.strand import Strand

__all__ = ["METERED_CLIENT", "Meter", "command"]

METERED_CLIENT = "wire"
"""The client id of ``support.clients.wire_client``."""
METERED_TOPIC = "good"
_FIGURES = struct.Struct("=QQ")
_START = "import sys; sys.path[:0] = {path!r}; from benchmarks.metered_broker import run; raise SystemExit(run())"


def command(file: Path) -> tuple[str, ...]:
    """What starts such a broker, whose figures are in ``file``."""
    scripts = Path(__file__).resolve().parents[1]
    return (sys.executable, "-c", _START.format(path=[str(scripts), str(scripts.parent / "tests")]), str(file))


class Meter:
    """The figures, seen from outside."""

    def __init__(self, file: Path) -> None:
        file.write_bytes(bytes(_FIGURES.size))
        self._file = file

    def read(self) -> tuple[int, int]:
        """Nanoseconds and requests so far."""
        nanoseconds, requests = _FIGURES.unpack(self._file.read_bytes())
        return nanoseconds, requests


class _Figures:
    """The figures, seen from inside."""

    def __init__(self, file: Path) -> None:
        with file.open("r+b") as opened:
            self._map = mmap.mmap(opened.fileno(), _FIGURES.size)
        self._nanoseconds = 0
        self._requests = 0

    def add(self, nanoseconds: int, requests: int) -> None:
        self._nanoseconds += nanoseconds
        self._requests += requests
        _FIGURES.pack_into(self._map, 0, self._nanoseconds, self._requests)


def _meter_requests(figures: _Figures, handle: Callable[..., None]) -> Callable[..., None]:
    def metered_requests(self: Connection, *arguments: object) -> None:
        started = thread_time_ns()
        before = self._requests_started
        handle(self, *arguments)
        if self._client_id == METERED_CLIENT:
            figures.add(thread_time_ns() - started, self._requests_started - before)

    return metered_requests


def _meter_answers(figures: _Figures, answer: Callable[..., None]) -> Callable[..., None]:
    def metered_answer(self: Connection, *arguments: object) -> None:
        started = thread_time_ns()
        answer(self, *arguments)
        if self._client_id == METERED_CLIENT:
            figures.add(thread_time_ns() - started, 0)

    return metered_answer


def _meter_strands(figures: _Figures, drain: Callable[[Strand], None]) -> Callable[..., None]:
    def metered_drain(self: Strand) -> None:
        started = thread_time_ns()
        drain(self)
        if self.log.topic_partition.topic == METERED_TOPIC:
            figures.add(thread_time_ns() - started, 0)

    return metered_drain


def run() -> int:
    """The command ``pybroker``, metered; its arguments are behind the name of the file."""
    figures = _Figures(Path(sys.argv[1]))
    connection: Any = Connection
    connection.buffer_updated = _meter_requests(figures, Connection.buffer_updated)
    connection._read_on = _meter_requests(figures, Connection._read_on)  # of those that had to wait
    connection._answered = _meter_answers(figures, Connection._answered)
    strand: Any = Strand
    strand._drain = _meter_strands(figures, Strand._drain)
    return main(sys.argv[2:])

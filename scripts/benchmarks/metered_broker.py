"""A broker that measures the CPU time of its threads for the requests of one client.

It counts the time on the event loop from the bytes read to the response written, also when the response comes later (a
waiting fetch), and the time of workers on the client's topic. Time for no particular request (polling sockets,
accepting, timers) is not counted.

The figures (nanoseconds, requests) are in a file that both processes map.
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
from pybroker.broker.network.request_pipeline import RequestPipeline
from pybroker.storage.log.strand import Strand

__all__ = ["METERED_CLIENT", "Meter", "command"]

METERED_CLIENT = "wire"
"""Client id of `support.clients.wire_client`, whose requests are measured."""
METERED_TOPIC = "good"
_FIGURES = struct.Struct("=QQ")
_START = "import sys; sys.path[:0] = {path!r}; from benchmarks.metered_broker import run; raise SystemExit(run())"


def command(file: Path) -> tuple[str, ...]:
    """Returns the command that starts such a broker with its figures in `file`."""
    scripts = Path(__file__).resolve().parents[1]
    return (sys.executable, "-c", _START.format(path=[str(scripts), str(scripts.parent / "tests")]), str(file))


class Meter:
    """Reads the figures from another process."""

    def __init__(self, file: Path) -> None:
        file.write_bytes(bytes(_FIGURES.size))
        self._file = file

    def read(self) -> tuple[int, int]:
        """Returns nanoseconds and requests so far."""
        nanoseconds, requests = _FIGURES.unpack(self._file.read_bytes())
        return nanoseconds, requests


class _Figures:
    """Writes the figures inside the broker."""

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
        requests = self._requests
        before = requests.started_count
        handle(self, *arguments)
        if requests.client_id == METERED_CLIENT:
            figures.add(thread_time_ns() - started, requests.started_count - before)

    return metered_requests


def _meter_answers(figures: _Figures, answer: Callable[..., None]) -> Callable[..., None]:
    def metered_answer(self: RequestPipeline, *arguments: object) -> None:
        started = thread_time_ns()
        answer(self, *arguments)
        if self.client_id == METERED_CLIENT:
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
    """Runs `pybroker` with meters; its arguments follow the name of the file."""
    figures = _Figures(Path(sys.argv[1]))
    connection: Any = Connection
    connection.buffer_updated = _meter_requests(figures, Connection.buffer_updated)
    connection.go_on = _meter_requests(figures, Connection.go_on)  # requests whose reading was paused
    pipeline: Any = RequestPipeline
    pipeline._answered = _meter_answers(figures, RequestPipeline._answered)
    strand: Any = Strand
    strand._drain = _meter_strands(figures, Strand._drain)
    return main(sys.argv[2:])

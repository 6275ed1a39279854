"""Rows about metrics: `scripts/bench --only metrics`. Without Kafka.

The scrape runs in this process, where the loop's own CPU time shows how long a turn of the loop takes; what other
programs do then does not matter. The cost of requests compares a broker with metrics and one without, in turn.
"""

import asyncio
import gc
import socket
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from pybroker import Broker
from pybroker.protocol.records.record import Record, build_batch
from support.clients.good_client import create_topic, produce_request
from support.clients.topics import create_topic as create_wide_topic
from support.clients.wire_client import WireClient
from support.clients.wire_frames import request_frame
from support.processes.broker_process import BrokerProcess

from benchmarks.contestants import Contestant, cpu_seconds, lower_quartile, resident_mib
from benchmarks.scenarios import Scenario
from benchmarks.targets import at_most
from benchmarks.wire import receive

__all__ = ["METRICS"]

_PARTITIONS = 5_300
"""Each has 19 series."""
_SCRAPES = 5
_TOPIC = "load"
_STARTS = 12
_ROUNDS = 8
"""For each start."""
_REQUESTS = 2_000
_IN_FLIGHT = 5
_HTTP = "pybroker.http.listeners"
_ANY_PORT = "HTTP://127.0.0.1:0"


class _Turns:
    """The longest turn of the running loop, in CPU seconds of its thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._last_s = time.thread_time()
        self.longest_s = 0.0
        self._handle = self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        now_s = time.thread_time()
        self.longest_s = max(self.longest_s, now_s - self._last_s)
        self._last_s = now_s
        self._handle = self._loop.call_soon(self._turn)

    def stop(self) -> float:
        self._handle.cancel()
        return self.longest_s


async def _read(url: str) -> int:
    """Scrape in another process; returns the number of samples."""
    code = (
        "import sys, urllib.request as r; "
        "print(sum(not line.startswith(b'#') for line in r.urlopen(sys.argv[1], timeout=600)))"
    )
    reader = await asyncio.create_subprocess_exec(sys.executable, "-c", code, f"{url}/metrics", stdout=PIPE)
    output, _ = await reader.communicate()
    return int(output)


async def _scrapes(partitions: int) -> dict[str, float]:
    async with Broker({_HTTP: _ANY_PORT, "log.dirs": tempfile.mkdtemp(prefix="bench-")}) as broker:
        assert broker.http_url is not None
        await asyncio.to_thread(create_wide_topic, broker.bootstrap_servers, "wide", partitions)
        await _read(broker.http_url)
        gc.collect()
        gc.freeze()
        taken, used, turns_s, series = [], [], [], 0
        for _ in range(_SCRAPES):
            turns = _Turns()
            began_s, before_s = time.monotonic(), time.process_time()
            series = await _read(broker.http_url)
            taken.append(time.monotonic() - began_s)
            used.append(time.process_time() - before_s)
            turns_s.append(turns.stop())
        return {
            "series": series,
            "s for 100,000": median(taken) * 100_000 / series,
            "CPU s for 100,000": median(used) * 100_000 / series,
            "longest turn, CPU ms": median(turns_s) * 1000,
        }


def scrape(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    return {"pybroker": asyncio.run(_scrapes(max(int(_PARTITIONS * scale), 1)))}


def at_rest(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    """Memory of a broker after its start and one scrape, beside one without HTTP."""
    more = []
    for _ in range(3):
        with ExitStack() as stack:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
            with_http = BrokerProcess(directory / "on", {_HTTP: _ANY_PORT}).start()
            stack.callback(with_http.kill)
            without = BrokerProcess(directory / "off").start()
            stack.callback(without.kill)
            time.sleep(1)
            more.append(resident_mib(with_http.pid) - resident_mib(without.pid))
    return {"pybroker": {"MiB more": median(more)}}


class _Subject:
    """A running broker and a connection that produces single records to it."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._pid = broker.pid
        with WireClient(broker.bootstrap_servers) as client:
            create_topic(client, _TOPIC)
        record = Record(offset=0, timestamp_ms=0, key=None, value=bytes(100))
        self._frame = request_frame(produce_request(_TOPIC, bytes(build_batch([record])), acks=1), 9, 1, "benchmark")
        self._connection = socket.create_connection(("127.0.0.1", broker.port))
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def cpu_of(self, requests: int) -> float:
        before = cpu_seconds(self._pid)
        for _ in range(requests // _IN_FLIGHT):
            self._connection.sendall(self._frame * _IN_FLIGHT)
            for _ in range(_IN_FLIGHT):
                receive(self._connection, int.from_bytes(receive(self._connection, 4)))
        return cpu_seconds(self._pid) - before

    def close(self) -> None:
        self._connection.close()


def requests_with_metrics(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    """Two equal brokers may differ by more than metrics cost, so new ones start again and again."""
    requests = max(int(_REQUESTS * scale), _IN_FLIGHT)
    ratios, used = [], []
    for _ in range(max(int(_STARTS * scale), 1)):
        with ExitStack() as stack:
            subjects = [_start(stack, listeners) for listeners in (_ANY_PORT, "")]
            for subject in subjects:
                subject.cpu_of(requests)
            rounds = [[subject.cpu_of(requests) for subject in subjects] for _ in range(_ROUNDS)]
        on, off = map(lower_quartile, zip(*rounds, strict=True))
        ratios.append(on / off)
        used.append(off)
    return {"pybroker": {"CPU, × without": median(ratios), "µs without": median(used) / requests * 1e6}}


def _start(stack: ExitStack, http_listeners: str) -> _Subject:
    directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))
    broker = BrokerProcess(Path(directory), {_HTTP: http_listeners}).start()
    stack.callback(broker.kill)
    subject = _Subject(broker)
    stack.callback(subject.close)
    return subject


METRICS = (
    Scenario(
        "metrics: scrape of 100,000 series",
        (at_most("s for 100,000", 1), at_most("longest turn, CPU ms", 2)),
        scrape,
    ),
    Scenario("metrics: memory at rest", (at_most("MiB more", 4),), at_rest),
    Scenario("metrics: produce, one record a request", (at_most("CPU, × without", 1.03),), requests_with_metrics),
)

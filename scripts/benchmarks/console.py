"""Rows about the web console: `scripts/bench --only console`. Without Kafka; the list of topics needs Chromium."""

import os
import selectors
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple
from urllib.parse import quote

from pybroker.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.record import Record, build_batch
from support.clients.good_client import create_topic, produce_request
from support.clients.wire_client import WireClient
from support.clients.wire_frames import request_frame
from support.console.browser import browser, watched_page
from support.console.console_process import ConsoleProcess
from support.processes.broker_process import BrokerProcess
from support.processes.ports import free_port

from benchmarks.contestants import Contestant, cpu_seconds, resident_mib
from benchmarks.scenarios import Scenario
from benchmarks.targets import at_least, at_most
from benchmarks.wire import receive

__all__ = ["CONSOLE"]

_TOPICS = 10_000
_CREATED_AT_ONCE = 500
_OPENINGS = 3
_USABLE = "table[aria-label=Topics] tbody tr"
_VALUE_BYTES = 990_000_000
"""With their sizes and offsets the records take more than 1 GB. A search ends after 10 M records."""
_RECORDS_A_BATCH = 2_000
_DIFFERENT_BATCHES = 20
_NEEDLE = "order-of-nobody"
_TAILS = 50
_RECORDS_A_SECOND = 500
_TAILED_S = 4.0
_TURNS = 6
_MIB = "console MiB"
_MOST_MIB = at_most(_MIB, 60)


@contextmanager
def _broker(settings: dict[str, str]) -> Iterator[BrokerProcess]:
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        broker = BrokerProcess(Path(directory), settings).start()
        try:
            yield broker
        finally:
            broker.kill()


def list_of_topics(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    """From the click to the rows on the screen: broker, console and page together."""
    http = f"127.0.0.1:{free_port()}"
    topics = max(int(_TOPICS * scale), 1)
    with _broker({"pybroker.http.listeners": f"HTTP://{http}"}) as broker:
        _create_topics(broker, topics)
        figures: dict[str, float] = {}
        for name, arguments in (("", ("--v1", f"http://{http}")), (", by Kafka's protocol", ())):
            with ConsoleProcess(broker.bootstrap_servers, *arguments) as console:
                first_s, again_s = _openings(f"http://127.0.0.1:{console.port}", topics)
                figures |= {
                    f"s until usable{name}": first_s,
                    f"s again{name}": again_s,
                    f"{_MIB}{name}": resident_mib(console.pid),
                }
    return {"pybroker": figures}


def _openings(url: str, topics: int) -> tuple[float, float]:
    """Returns how long the first opening takes, and the median of later ones, each in a new page."""
    taken_s = []
    with browser() as started:
        for _ in range(1 + _OPENINGS):
            with watched_page(started, url) as watched:
                watched.show("/explain", "main form")
                began_s = time.monotonic()
                watched.go("/topics", _USABLE)
                taken_s.append(time.monotonic() - began_s)
                rows = watched.page.locator("table[aria-label=Topics]").get_attribute("aria-rowcount")
                assert rows == str(topics + 1), rows
    return taken_s[0], median(taken_s[1:])


def _create_topics(broker: BrokerProcess, topics: int) -> None:
    names = [f"team-{number % 70}-topic-{number}" for number in range(topics)]
    with WireClient(broker.bootstrap_servers) as client:
        for start in range(0, topics, _CREATED_AT_ONCE):
            part = names[start : start + _CREATED_AT_ONCE]
            wanted = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in part]
            answer = client.ask(CreateTopicsRequest(topics=wanted, timeout_ms=600_000), 7)
            assert not any(each.error_code for each in answer.topics)


def search_by_literal(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    with _broker({}) as broker, ConsoleProcess(broker.bootstrap_servers) as console:
        records = _write_orders(broker, int(_VALUE_BYTES * scale))
        before_s = cpu_seconds(console.pid)
        with console.events(f"/api/topics/orders/search?from=earliest&query={quote('value:' + _NEEDLE)}") as events:
            *_, done = events
        used_s = cpu_seconds(console.pid) - before_s
        assert (done.data["searched"], done.data["hits"]) == (records, 1), done
        return {
            "pybroker": {
                "records/s": records / done.data["seconds"],
                "records/s of CPU": records / used_s,
                "records": records,
                _MIB: resident_mib(console.pid),
            }
        }


def _write_orders(broker: BrokerProcess, value_bytes: int) -> int:
    """Writes records of a hundred bytes until `value_bytes` are reached, the needle last; returns their number."""
    random = Random(1)
    batches = [_batch([_order(random) for _ in range(_RECORDS_A_BATCH)]) for _ in range(_DIFFERENT_BATCHES)]
    size = len(_order(random)) * _RECORDS_A_BATCH
    count = max(value_bytes // size, 1)
    with WireClient(broker.bootstrap_servers) as client:
        create_topic(client, "orders")
        requests = [produce_request("orders", each, acks=1) for each in batches]
        for request in islice(cycle(requests), count):
            client.ask(request, 9)
        client.ask(produce_request("orders", _batch([_NEEDLE.encode()]), acks=1), 9)
    return count * _RECORDS_A_BATCH + 1


def _order(random: Random) -> bytes:
    number, amount = random.randrange(10**9), random.randrange(10**5)
    text = f'{{"id":"order-{number:09}","customer":{random.randrange(10**6):06},"status":"paid","cents":{amount:05}}}'
    return text.encode().ljust(100)


def _batch(values: list[bytes]) -> bytes:
    records = [
        Record(offset=number, timestamp_ms=1_800_000_000_000, key=None, value=value)
        for number, value in enumerate(values)
    ]
    return bytes(build_batch(records, codec=Codec.LZ4))


def _read_tails(address: str, topic: str, count: int, news: Connection) -> None:
    """Reads everything that live tails send, in a process of its own. Tells when all are open; ends when it is told."""
    os.nice(10)  # people read on other machines
    host, _, port = address.rpartition(":")
    selector = selectors.DefaultSelector()
    for _ in range(count):
        connection = socket.create_connection((host, int(port)))
        connection.sendall(f"GET /api/topics/{topic}/tail HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert b" 200 " in connection.recv(4_096)
        selector.register(connection, selectors.EVENT_READ, connection)
    news.send(0)
    received_bytes = 0
    while not news.poll():
        for key, _ in selector.select(0.2):
            received_bytes += len(key.data.recv(1 << 20))
        time.sleep(0.02)
    news.send(received_bytes)


@contextmanager
def _tails(address: str) -> Iterator[None]:
    ours, theirs = Pipe()
    reader = get_context("spawn").Process(target=_read_tails, args=(address, "tailed", _TAILS, theirs))
    reader.start()
    ours.recv()
    yield
    ours.send(None)
    assert ours.recv() > _TAILS * 1_000
    reader.join()


def produce_beside_tails(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    """The console is the broker's child. Turns with and without tails alternate."""
    address = f"127.0.0.1:{free_port()}"
    with _broker({"pybroker.console": address}) as broker:
        with WireClient(broker.bootstrap_servers) as client:
            create_topic(client, "tailed")
        (child,) = _await_children(broker, address)
        seconds = _TAILED_S * scale
        without, beside, console_s = [], [], 0.0
        _timed(broker, seconds)
        for _ in range(_TURNS):
            without.append(_timed(broker, seconds))
            with _tails(address):
                before_s = cpu_seconds(child)
                beside.append(_timed(broker, seconds))
                console_s += cpu_seconds(child) - before_s
        pairs = list(zip(beside, without, strict=True))
        figures = {
            "p99 ms without": median(each.p99_ms for each in without),
            "p99 ms": median(each.p99_ms for each in beside),
            "p99, × without": median(one.p99_ms / other.p99_ms for one, other in pairs),
            "broker CPU, × without": median(one.cpu_s / other.cpu_s for one, other in pairs),
            "console CPU %": 100 * console_s / (_TURNS * seconds),
        }
        return {"pybroker": {**figures, _MIB: resident_mib(child)}}


def _await_children(broker: BrokerProcess, address: str) -> list[int]:
    host, _, port = address.rpartition(":")
    while True:
        try:
            socket.create_connection((host, int(port))).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
            continue
        return [int(each) for each in Path(f"/proc/{broker.pid}/task/{broker.pid}/children").read_text().split()]


class _Timed(NamedTuple):
    """`cpu_s`: of the broker."""

    p99_ms: float
    cpu_s: float


def _timed(broker: BrokerProcess, seconds: float) -> _Timed:
    """Produces single records at a steady rate, each in its own request, and times the responses."""
    record = Record(offset=0, timestamp_ms=0, key=None, value=bytes(100))
    frame = request_frame(produce_request("tailed", bytes(build_batch([record])), acks=1), 9, 1, "benchmark")
    taken_ms: list[float] = []
    before_s = cpu_seconds(broker.pid)
    with socket.create_connection(("127.0.0.1", broker.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        due_s = time.monotonic()
        for _ in range(max(int(seconds * _RECORDS_A_SECOND), 100)):
            due_s += 1 / _RECORDS_A_SECOND
            time.sleep(max(due_s - time.monotonic(), 0))
            began_s = time.monotonic()
            connection.sendall(frame)
            receive(connection, int.from_bytes(receive(connection, 4)))
            taken_ms.append((time.monotonic() - began_s) * 1000)
    return _Timed(sorted(taken_ms)[len(taken_ms) * 99 // 100], cpu_seconds(broker.pid) - before_s)


CONSOLE = (
    Scenario(
        "console: list of 10,000 topics, end to end",
        (
            at_most("s until usable", 1),
            at_most("s until usable, by Kafka's protocol", 1),
            _MOST_MIB,
            at_most(f"{_MIB}, by Kafka's protocol", 60),
        ),
        list_of_topics,
    ),
    Scenario(
        "console: search by a literal in 1 GB",
        (at_least("records/s", 3_000_000), _MOST_MIB),
        search_by_literal,
    ),
    Scenario(
        "console: produce beside 50 live tails",
        (at_most("p99, × without", 1.1), _MOST_MIB),
        produce_beside_tails,
    ),
)

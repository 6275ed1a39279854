"""Hostile browsers and hostile records: the console stays bounded, and other people are served."""

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer
from support.clients.topics import create_topic
from support.console.console_process import ConsoleProcess
from support.processes.broker_process import BrokerProcess

GROWTH_BYTES = 40 << 20


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    settings = {"message.max.bytes": "120000000", "socket.request.max.bytes": "130000000"}
    with BrokerProcess(tmp_path_factory.mktemp("broker"), settings) as running:
        create_topic(running.bootstrap_servers, "big", 1, {"max.message.bytes": "120000000"})
        create_topic(running.bootstrap_servers, "many", 1)
        yield running


@pytest.fixture
def console(broker: BrokerProcess) -> Iterator[ConsoleProcess]:
    with ConsoleProcess(broker.bootstrap_servers, "--allow-writes") as running:
        yield running
    assert "Traceback" not in running.output


def memory(console: ConsoleProcess) -> int:
    return int(psutil.Process(console.pid).memory_info().rss)


def connected(console: ConsoleProcess, sent: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", console.port), timeout=30)
    made.sendall(sent)
    return made


def is_closed(connection: socket.socket) -> bool:
    try:
        while connection.recv(65_536):
            pass
    except ConnectionError:
        return True
    return True


def test_silent_and_endless_requests_are_ended_and_bounded(console: ConsoleProcess) -> None:
    before = memory(console)
    with ExitStack() as stack:
        silent = [stack.enter_context(connected(console)) for _ in range(100)]
        endless = stack.enter_context(connected(console, b"GET /" + b"a" * 100_000))
        assert is_closed(endless)
        half_head = b"POST /api/topics HTTP/1.1\r\nHost: localhost\r\n"
        half = stack.enter_context(connected(console, half_head))
        second = stack.enter_context(connected(console, b"GET /api/session HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        assert second.recv(65_536).startswith(b"HTTP/1.1 200")
        second.sendall(half_head)
        assert console.ask("GET", "/api/session").status == 200
        assert all(map(is_closed, [*silent, half, second]))
    assert memory(console) - before < GROWTH_BYTES


def test_large_and_broken_bodies_are_refused(console: ConsoleProcess) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=30)
    connection.putrequest("POST", "/api/topics")
    connection.putheader("X-Pybroker-Console", "1")
    connection.putheader("Content-Length", str(3 << 20))
    connection.endheaders()
    connection.send(b" " * (3 << 20))
    assert connection.getresponse().status == 413
    connection.close()
    for body in (b"[" * 100_000, b"\xff", b"[]", b'{"name": 1e999}'):
        connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=30)
        connection.request("POST", "/api/topics", body, {"X-Pybroker-Console": "1"})
        assert connection.getresponse().status == 400
        connection.close()


def test_tail_whose_reader_does_not_read_costs_bounded_memory(broker: BrokerProcess, console: ConsoleProcess) -> None:
    before = memory(console)
    request = b"GET /api/topics/many/tail HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with ExitStack() as stack:
        for _ in range(50):
            stack.enter_context(connected(console, request))
        with console.events("/api/topics/many/search?query=nothing") as events:
            assert [event.name for event in events] == ["done"]
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for number in range(60_000):
            producer.produce("many", b"%d " % number + b"x" * 1_000)
            producer.poll(0)
        producer.flush()
        with console.events("/api/topics/many/search?query=59999&limit=1") as events:
            assert [event.data["reason"] for event in events if event.name == "done"] == ["limit"]
        assert memory(console) - before < GROWTH_BYTES


def test_record_of_100_mb_is_shown_in_part_and_downloaded_whole(broker: BrokerProcess, console: ConsoleProcess) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "message.max.bytes": 110_000_000})
    size = 100_000_000
    producer.produce("big", b"\xe9" * size)
    assert producer.flush(60) == 0
    page = console.get("/api/topics/big/records")
    assert page["records"][-1]["value"]["size"] == size
    place = f"/api/topics/big/partitions/0/records/{page['records'][-1]['offset']}"
    assert len(json.dumps(console.get(place))) < 200_000
    assert len(console.ask("GET", f"{place}/value").body) == size
    console.get("/api/session")
    assert memory(console) < 150 << 20, "the bytes are given back"


def test_queries_cannot_occupy_the_console(console: ConsoleProcess) -> None:
    long = "%28" * 300 + "a"
    reply = console.ask("GET", f"/api/topics/many/search?query={long}")
    assert reply.status == 400
    with ExitStack() as stack:
        path = "/api/topics/many/tail"
        streams = [stack.enter_context(console.events(path)) for _ in range(51)]
        assert next(streams[-1]).data["error"].startswith("too many at once")
    assert console.get("/api/session")["login"] == "none"


def test_slow_reader_of_a_search_holds_it_back(tmp_path: Path, console: ConsoleProcess) -> None:
    before = memory(console)
    request = b"GET /api/topics/many/search?query=x&limit=500 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connected(console, request) as slow:
        assert slow.recv(10)
        assert console.ask("GET", "/api/topics").status == 200
    assert memory(console) - before < GROWTH_BYTES

"""Attacks on the HTTP endpoint: the good client of Kafka's protocol must not notice."""

import contextlib
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.in_process.tls_ends import STORES
from support.processes.arena import Arena, arena

HTTP = "HTTP://127.0.0.1:0"
AT_REST_MIB = 72
MOST_CONNECTIONS = 64
REQUEST = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE_ANSWER = b"GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"

OpenArena = Callable[..., Arena]


@pytest.fixture(scope="module")
def battlefield(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with arena(tmp_path_factory.mktemp("field"), {"pybroker.http.listeners": HTTP}) as opened:
        yield opened


@pytest.fixture
def field(battlefield: Arena) -> Arena:
    """A broker with an HTTP endpoint, which earlier attacks have not harmed."""
    battlefield.begin()
    return battlefield


def throw(field: Arena, data: bytes, receive_buffer_bytes: int = -1) -> socket.socket:
    """Connect to the endpoint and send; a connection that the broker closes meanwhile is no error."""
    peer = field.connect(receive_buffer_bytes=receive_buffer_bytes, port=field.http_port)
    with contextlib.suppress(ConnectionError):
        peer.sendall(data)
    return peer


def status_of(field: Arena, data: bytes) -> int:
    """The status of the first response."""
    peer = throw(field, data)
    received = b""
    while b"\r\n" not in received:
        received += peer.recv(4096)
    field.drop(peer)
    return int(received.split()[1])


def test_two_hundred_silent_connections_keep_no_probe_from_its_answer(field: Arena) -> None:
    for _ in range(200):
        field.connect(port=field.http_port)
    field.until(lambda: field.sockets_of_attackers <= MOST_CONNECTIONS)
    assert status_of(field, REQUEST) == 200
    field.recovers(lines=0, mib=AT_REST_MIB)


def test_clients_that_send_or_read_too_slowly_are_dropped(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.http.listeners": HTTP, "pybroker.http.timeout.ms": "500"})
    silent = field.connect(port=field.http_port)
    half_head = throw(field, REQUEST[:-2])
    slow_reader = throw(field, LARGE_ANSWER * 100, receive_buffer_bytes=1024)
    field.until(lambda: field.sockets_of_attackers <= 0)
    for peer in (silent, half_head, slow_reader):
        field.drop(peer)
    field.recovers(lines=0, mib=AT_REST_MIB)


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(b"GET /" + b"a" * 1_000_000, id="endless path"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200_000, id="endless head"),
        pytest.param(b"\r\n" * 500_000, id="empty lines"),
        pytest.param(bytes(range(256)) * 1000, id="binary"),
        pytest.param(REQUEST[:-2] + b"Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n", id="broken chunking"),
        pytest.param(REQUEST[:-2] + b"Content-Length: 99999999999\r\n\r\n", id="huge body"),
        pytest.param(REQUEST[:-2] + b"Content-Length: -1\r\n\r\n", id="negative body"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="HTTP/2"),
        pytest.param(b"\x16\x03\x01\x02\x00" + bytes(512), id="TLS"),
    ],
)
def test_broken_requests_end_the_connection_and_take_no_memory(field: Arena, attack: bytes) -> None:
    for _ in range(20):
        field.is_hung_up(throw(field, attack))
        field.good.is_served(1)
    assert status_of(field, REQUEST) == 200
    field.recovers(lines=0, mib=AT_REST_MIB)


def test_thousands_of_requests_sent_ahead_take_no_memory(field: Arena) -> None:
    peers = [throw(field, b"") for _ in range(8)]
    for _ in range(5):
        for peer in peers:
            peer.setblocking(False)
            with contextlib.suppress(BlockingIOError, ConnectionError):
                peer.send(REQUEST * 2000)
        field.good.is_served(1)
    field.recovers(lines=0, mib=AT_REST_MIB)


def test_readers_that_take_nothing_of_large_answers_are_bounded_and_keep_no_probe_from_its_answer(field: Arena) -> None:
    for _ in range(3):
        for _ in range(MOST_CONNECTIONS):
            throw(field, LARGE_ANSWER * 20, receive_buffer_bytes=1024)
        field.good.is_served(3)
        assert status_of(field, REQUEST) == 200
    field.recovers(lines=0, mib=AT_REST_MIB)


def test_guesses_of_a_token_are_refused_and_fill_no_log(open_arena: OpenArena, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("the-token-of-this-test\n")
    field = open_arena({"pybroker.http.listeners": HTTP, "pybroker.http.token.file": str(tokens)})
    for number in range(500):
        guess = b"GET /buildinfo HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer guess-%020d\r\n\r\n" % number
        assert status_of(field, guess) == 401
    right = b"GET /buildinfo HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer the-token-of-this-test\r\n\r\n"
    assert status_of(field, right) == 200
    field.recovers(lines=2, mib=AT_REST_MIB)


def test_plain_text_on_the_tls_port_is_refused(open_arena: OpenArena) -> None:
    settings = {
        "pybroker.http.listeners": "HTTPS://127.0.0.1:0",
        "listener.name.https.ssl.keystore.type": "PEM",
        "listener.name.https.ssl.keystore.location": str(STORES / "server.pem"),
    }
    field = open_arena(settings)
    for _ in range(100):
        field.is_hung_up(throw(field, REQUEST))
    field.recovers(lines=2, mib=AT_REST_MIB)

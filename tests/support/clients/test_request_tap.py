"""Tests that the tap forwards everything and records the requests."""

import socket
from contextlib import closing

from pybroker.protocol.apis import ApiKey
from support.clients.request_tap import RequestTap, SeenRequest

FETCH = b"\0\x01" + b"\0\x0c" + b"\0\0\0\x07" + b"\0\x02me" + b"the rest"
METADATA = b"\0\x03" + b"\0\x09" + b"\0\0\0\x08" + b"\xff\xff" + b"!"


def framed(request: bytes) -> bytes:
    return len(request).to_bytes(4) + request


def read(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += source.recv(size - len(data))
    return data


def test_requests_are_forwarded_and_recorded_once() -> None:
    tap = RequestTap()
    with closing(tap), socket.create_server(("127.0.0.1", 0)) as server:
        tap.target_port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", tap.port)) as client, server.accept()[0] as broker:
            sent = framed(FETCH) + framed(METADATA) + framed(FETCH)
            for byte in sent:
                client.sendall(bytes([byte]))
            assert read(broker, len(sent)) == sent
            broker.sendall(b"an answer")
            assert read(client, 9) == b"an answer"
        assert tap.take() == [SeenRequest("me", ApiKey.FETCH, 12), SeenRequest("", ApiKey.METADATA, 9)]
        assert tap.take() == []


def test_connection_is_closed_when_no_broker_is_behind_the_tap() -> None:
    tap = RequestTap()
    with closing(tap):
        with socket.create_server(("127.0.0.1", 0)) as server:
            tap.target_port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", tap.port)) as client:
            assert client.recv(1) == b""

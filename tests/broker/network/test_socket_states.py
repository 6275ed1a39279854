"""Tests of what the operating system reports about sockets, on real sockets."""

import socket
import struct
from collections.abc import Iterator

import pytest
from pybroker.broker.network.socket_states import closed_by_peer


@pytest.fixture
def pair() -> "Iterator[tuple[socket.socket, socket.socket]]":
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        with client, server.accept()[0] as accepted:
            yield client, accepted


def test_hang_up_is_found_behind_unread_bytes(
    pair: "tuple[socket.socket, socket.socket]",
) -> None:
    client, accepted = pair
    with accepted:
        ours = accepted.fileno()
        client.sendall(b"unread")
        assert not closed_by_peer([ours])
        client.close()
        while not closed_by_peer([ours]):
            pass
        assert closed_by_peer([-1, ours]) == {ours}
    assert not closed_by_peer([ours])  # a socket that we closed is not reported


def test_reset_connection_counts_as_hung_up(pair: "tuple[socket.socket, socket.socket]") -> None:
    client, accepted = pair
    with accepted:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        while not closed_by_peer([accepted.fileno()]):
            pass

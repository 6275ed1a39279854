"""Faults on requests that wait behind another request of their connection, for which a fault waits already."""

import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import Message
from support.clients.wire_client import WireClient
from support.clients.wire_frames import request_frame
from support.load.request_of_each_api import plain_request

METADATA, VERSIONS = plain_request(ApiKey.METADATA, topics=[]), plain_request(ApiKey.API_VERSIONS)
TIMEOUT_S = 20


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def client(broker: BlockingBroker) -> Iterator[WireClient]:
    with WireClient(broker.bootstrap_servers, TIMEOUT_S) as client:
        yield client


def listeners(broker: BlockingBroker) -> Any:
    server = broker._broker._server
    assert server is not None
    return server._listeners


def wait_until(client: WireClient, is_so: Callable[[], bool]) -> None:
    """Lets the event loop of the broker go on."""
    deadline = time.monotonic() + TIMEOUT_S
    while not is_so() and time.monotonic() < deadline:
        client.ask(VERSIONS, 0)
    assert is_so()


def pipelining(broker: BlockingBroker, *requests: tuple[Message, int]) -> socket.socket:
    """A connection on which all requests were sent at once."""
    host, _, port = broker.bootstrap_servers.rpartition(":")
    peer = socket.create_connection((host, int(port)), TIMEOUT_S)
    peer.sendall(b"".join(request_frame(each, version, 0, "client") for each, version in requests))
    return peer


def test_request_behind_two_that_wait_one_after_the_other_starts_after_both(
    broker: BlockingBroker, client: WireClient
) -> None:
    first, second, third = (broker.faults.hang("Metadata", times=1) for _ in range(3))
    with pipelining(broker, (METADATA, 4), (METADATA, 4), (METADATA, 4)) as peer, peer.makefile("rb") as file:
        wait_until(client, lambda: listeners(broker).handler.held_count == 3)
        first.remove()
        second.wait_fired(1, TIMEOUT_S)
        for _ in range(3):
            client.ask(VERSIONS, 0)
        assert third.fired == 0, "the third request has not started"
        second.remove()
        third.wait_fired(1, TIMEOUT_S)
        third.remove()
        for _ in range(3):
            (size,) = struct.unpack(">i", file.read(4))
            file.read(size)


def test_connection_that_is_lost_while_its_second_request_waits_is_forgotten(
    broker: BlockingBroker, client: WireClient
) -> None:
    client.ask(VERSIONS, 0)
    before = len(listeners(broker).connections())
    first = broker.faults.hang("Metadata", times=1)
    with broker.faults.hang("Metadata", times=1) as second:
        with pipelining(broker, (METADATA, 4), (METADATA, 4)):
            wait_until(client, lambda: listeners(broker).handler.held_count == 2)
            first.remove()
            second.wait_fired(1, TIMEOUT_S)
            client.ask(VERSIONS, 0)  # the event loop has gone on since: the request is held
        wait_until(client, lambda: len(listeners(broker).connections()) == before)

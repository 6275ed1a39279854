"""Requests to another broker: a real one, and servers that are slow, disconnect or send malformed responses."""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from pybroker import Broker
from pybroker.broker.inter_broker.broker_link import BrokerLink, LinkSecurity
from pybroker.broker.inter_broker.link_factory import LinkFactory
from pybroker.broker.metadata.address import Address
from pybroker.config.load import load_config
from pybroker.protocol.codec import encode
from pybroker.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pybroker.protocol.messages.headers import RequestHeader, ResponseHeader
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataResponse

LONG_MS = 3_600_000
"""Longer than any test: what is awaited comes, or the test hangs and says where."""

VERSION = 12


def link_to(address: Address | None, most_bytes: int = 100_000) -> BrokerLink:
    return link_asking(lambda: address, most_bytes)


def link_asking(address: Callable[[], Address | None], most_bytes: int = 100_000) -> BrokerLink:
    config = load_config(
        overrides={
            "pybroker.inter.broker.response.max.bytes": str(most_bytes),
            "socket.connection.setup.timeout.ms": str(LONG_MS),
        }
    )
    links = LinkFactory(asyncio.get_running_loop(), lambda _listener: LinkSecurity())
    return links.link_to(address, "PLAINTEXT", "link", config)


class Peer:
    """One accepted connection of a `serving` server; requests are Metadata v12."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def receive(self) -> int:
        """The next request's correlation id."""
        (size,) = struct.unpack(">i", await self.reader.readexactly(4))
        frame = await self.reader.readexactly(size)
        return int(struct.unpack_from(">i", frame, 4)[0])

    def answer(self, correlation_id: int, cluster_id: str = "") -> None:
        body = encode(MetadataResponse(cluster_id=cluster_id), VERSION)
        frame = encode(ResponseHeader(correlation_id=correlation_id), 1) + body
        self.writer.write(struct.pack(">i", len(frame)) + frame)


@asynccontextmanager
async def serving(serve: Callable[[Peer], Awaitable[None]]) -> AsyncIterator[Address]:
    """A server that runs ``serve`` on each connection and then closes it."""
    tasks: list[asyncio.Task[None]] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        try:
            await serve(Peer(reader, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the link hung up
        except asyncio.CancelledError:
            pass  # the test is over
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    yield Address(*server.sockets[0].getsockname()[:2])
    server.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_requests_to_a_real_broker_share_one_connection() -> None:
    async with Broker() as broker:
        host, port = broker.bootstrap_servers.rsplit(":", 1)
        link = link_to(Address(host, int(port)))
        versions = await link.ask(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3, LONG_MS)
        assert isinstance(versions, ApiVersionsResponse)
        assert versions.error_code == 0
        for version in (1, VERSION):
            metadata = await link.ask(MetadataRequest(topics=[]), version, LONG_MS)
            assert [each.port for each in metadata.brokers] == [int(port)]
        await link.close()


async def test_concurrent_requests_get_their_own_responses() -> None:
    async def echo(peer: Peer) -> None:
        first, second = await peer.receive(), await peer.receive()
        peer.answer(first, f"to {first}")
        peer.answer(second, f"to {second}")
        await peer.reader.read()

    async with serving(echo) as address:
        link = link_to(address)
        answers = await asyncio.gather(*(link.ask(MetadataRequest(), VERSION, LONG_MS) for _ in range(2)))
        assert [answer.cluster_id for answer in answers] == ["to 1", "to 2"]
        await link.close()


async def test_response_that_arrives_byte_by_byte_is_received() -> None:
    async def trickle(peer: Peer) -> None:
        body = encode(MetadataResponse(cluster_id="slow"), VERSION)
        frame = encode(ResponseHeader(correlation_id=await peer.receive()), 1) + body
        for byte in struct.pack(">i", len(frame)) + frame:
            peer.writer.write(bytes([byte]))
            await peer.writer.drain()
            await asyncio.sleep(0)
        await peer.reader.read()

    async with serving(trickle) as address:
        link = link_to(address)
        assert (await link.ask(MetadataRequest(), VERSION, LONG_MS)).cluster_id == "slow"
        await link.close()


async def test_broken_connection_fails_all_waiting_requests_and_is_reopened() -> None:
    connections = []

    async def hang_up_once(peer: Peer) -> None:
        connections.append(peer)
        correlation_id = await peer.receive()
        if len(connections) > 1:
            peer.answer(correlation_id, "again")
            await peer.reader.read()

    async with serving(hang_up_once) as address:
        link = link_to(address)
        asked = (link.ask(MetadataRequest(), VERSION, LONG_MS) for _ in range(3))
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        assert all(isinstance(outcome, ConnectionError) for outcome in outcomes)
        assert not link.is_connected
        assert (await link.ask(MetadataRequest(), VERSION, LONG_MS)).cluster_id == "again"
        assert len(connections) == 2
        await link.close()


async def test_request_that_times_out_closes_the_connection() -> None:
    asked = asyncio.Event()

    async def be_silent(peer: Peer) -> None:
        await peer.receive()
        asked.set()
        await peer.reader.read()

    async with serving(be_silent) as address:
        link = link_to(address)
        patient = asyncio.create_task(link.ask(MetadataRequest(), VERSION, LONG_MS))
        await asked.wait()
        with pytest.raises(TimeoutError):
            await link.ask(MetadataRequest(), VERSION, 1)
        with pytest.raises(
            ConnectionError
        ):  # responses come in order, so no request gets one on this connection any more
            await patient
        assert not link.is_connected
        await link.close()


async def test_request_that_times_out_is_not_delivered_later_because_the_connection_is_reset() -> None:
    was_reset = asyncio.get_running_loop().create_future()

    async def be_silent(peer: Peer) -> None:
        try:
            was_reset.set_result(await peer.reader.read() is None)
        except ConnectionResetError:
            was_reset.set_result(True)

    async with serving(be_silent) as address:
        link = link_to(address)
        with pytest.raises(TimeoutError):
            await link.ask(MetadataRequest(), VERSION, 1)
        assert await was_reset
        await link.close()


@pytest.mark.parametrize(
    "junk",
    [
        struct.pack(">i", -1),
        struct.pack(">i", 0),
        struct.pack(">i", 1025) + b"x",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        struct.pack(">iib", 5, 1, 0),  # no body
        struct.pack(">iib", 5, 77, 0),  # a response to another request
        struct.pack(">ib", 1, 1),
    ],
)
async def test_malformed_response_closes_the_connection(junk: bytes) -> None:
    async def talk_nonsense(peer: Peer) -> None:
        await peer.receive()
        peer.writer.write(junk)
        await peer.reader.read()

    async with serving(talk_nonsense) as address:
        link = link_to(address, most_bytes=1024)
        with pytest.raises(ConnectionError):
            await link.ask(MetadataRequest(), VERSION, LONG_MS)
        assert not link.is_connected
        await link.close()


async def test_response_to_no_request_closes_the_connection() -> None:
    async def answer_twice(peer: Peer) -> None:
        correlation_id = await peer.receive()
        peer.answer(correlation_id)
        peer.answer(correlation_id)
        with pytest.raises(ConnectionResetError):
            await peer.reader.read()
        hung_up.set()

    hung_up = asyncio.Event()
    async with serving(answer_twice) as address:
        link = link_to(address)
        await link.ask(MetadataRequest(), VERSION, LONG_MS)
        await hung_up.wait()
        assert not link.is_connected
        await link.close()


async def test_unreachable_broker_raises_connection_error() -> None:
    async with serving(lambda peer: asyncio.sleep(0)) as address:
        pass
    for link in (link_to(address), link_to(None), link_to(Address("no-such-host.invalid", 1))):
        with pytest.raises(ConnectionError):
            await link.ask(MetadataRequest(), VERSION, LONG_MS)
        await link.close()


async def test_address_is_looked_up_for_each_connection() -> None:
    async def answer_one(peer: Peer) -> None:
        peer.answer(await peer.receive(), "here")

    addresses: list[Address | None] = [None]
    link = link_asking(lambda: addresses[-1])
    with pytest.raises(ConnectionError):
        await link.ask(MetadataRequest(), VERSION, LONG_MS)
    async with serving(answer_one) as address:
        addresses.append(address)
        assert (await link.ask(MetadataRequest(), VERSION, LONG_MS)).cluster_id == "here"
        await link.close()


async def test_killed_link_fails_waiting_requests_and_stays_closed() -> None:
    asked = asyncio.Event()

    async def be_silent(peer: Peer) -> None:
        await peer.receive()
        asked.set()
        await peer.reader.read()

    async with serving(be_silent) as address:
        link = link_to(address)
        waiting = asyncio.create_task(link.ask(MetadataRequest(), VERSION, LONG_MS))
        await asked.wait()
        link.kill()
        with pytest.raises(ConnectionError):
            await waiting
        with pytest.raises(ConnectionError):
            await link.ask(MetadataRequest(), VERSION, LONG_MS)
        await link.close()


async def test_link_killed_while_connecting_stays_closed() -> None:
    accepted = []

    async def accept(peer: Peer) -> None:
        accepted.append(peer)
        await peer.reader.read()

    async with serving(accept) as address:
        link = link_to(address)
        waiting = asyncio.create_task(link.ask(MetadataRequest(), VERSION, LONG_MS))
        await asyncio.sleep(0)  # it is asked for, and waits for the connection
        await link.close()
        with pytest.raises(ConnectionError):
            await waiting
        assert not link.is_connected


async def test_cancelled_request_leaves_the_connection_open_for_others() -> None:
    received, release = asyncio.Event(), asyncio.Event()

    async def answer_late(peer: Peer) -> None:
        first, second = await peer.receive(), await peer.receive()
        received.set()
        await release.wait()
        peer.answer(first, "first")
        peer.answer(second, "second")
        await peer.reader.read()

    async with serving(answer_late) as address:
        link = link_to(address)
        hasty = asyncio.create_task(link.ask(MetadataRequest(), VERSION, LONG_MS))
        patient = asyncio.create_task(link.ask(MetadataRequest(), VERSION, LONG_MS))
        await received.wait()
        hasty.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hasty
        release.set()
        assert (await patient).cluster_id == "second"
        await link.close()


async def test_request_header_carries_the_brokers_client_id() -> None:
    headers = []

    async def read_header(peer: Peer) -> None:
        (size,) = struct.unpack(">i", await peer.reader.readexactly(4))
        frame = await peer.reader.readexactly(size)
        headers.append(frame)

    async with serving(read_header) as address:
        link = link_to(address)
        with pytest.raises(ConnectionError):
            await link.ask(MetadataRequest(topics=[]), VERSION, LONG_MS)
        await link.close()
    expected = RequestHeader(request_api_key=3, request_api_version=VERSION, correlation_id=1, client_id="link")
    assert headers == [encode(expected, 2) + encode(MetadataRequest(topics=[]), VERSION)]

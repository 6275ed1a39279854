"""The TCP proxies of a cluster recognise the calling broker, and delay data on cut links without losing it."""

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.broker.library.cluster.tcp_proxies import ProxyTls, TcpProxies
from pybroker.broker.library.throwaway_certificates import ThrowawayCertificates

FETCHER, CONTROLLER = b"broker-1-fetcher-0", b"3"


class Echo:
    """A server that sends back what it gets, in upper case, and remembers it; it hangs up after ``bye``."""

    def __init__(self) -> None:
        self.received = b""
        self.port = 0
        self.ended = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not self.received.endswith(b"bye") and (data := await reader.read(65536)):
            self.received += data
            writer.write(data.upper())
        writer.close()
        self.ended.set()


@pytest.fixture
async def echo() -> AsyncIterator[Echo]:
    echo = Echo()
    server = await asyncio.start_server(echo.serve, "127.0.0.1", 0)
    echo.port = server.sockets[0].getsockname()[1]
    yield echo
    server.close()


@pytest.fixture
async def proxies() -> AsyncIterator[TcpProxies]:
    proxies = TcpProxies()
    yield proxies
    await proxies.close()


def request_of(client_id: bytes) -> bytes:
    body = struct.pack(">hhih", 18, 3, 7, len(client_id)) + client_id
    return struct.pack(">i", len(body)) + body


async def turns() -> None:
    """Let the loop run as many iterations as bytes between its own sockets need."""
    for _ in range(200):
        await asyncio.sleep(0)


@pytest.mark.parametrize("client_id", [FETCHER, CONTROLLER])
async def test_proxy_forwards_requests_and_responses_unchanged(
    echo: Echo, proxies: TcpProxies, client_id: bytes
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", await proxies.to_broker(2, echo.port))
    sent = request_of(client_id) + b" more"
    for byte in sent:
        writer.write(bytes([byte]))
        await asyncio.sleep(0)
    assert await reader.readexactly(len(sent)) == sent.upper()
    writer.close()


async def test_bytes_sent_over_a_cut_connection_arrive_when_it_is_healed(echo: Echo, proxies: TcpProxies) -> None:
    port = await proxies.to_broker(2, echo.port)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    sent = request_of(FETCHER)
    writer.write(sent)
    await reader.readexactly(len(sent))
    await proxies.cut(2, 1)
    later_reader, later = await asyncio.open_connection("127.0.0.1", port)
    later.write(request_of(CONTROLLER.replace(b"3", b"1")))
    writer.write(b"lost?")
    other_reader, other = await asyncio.open_connection("127.0.0.1", port)
    other.write(request_of(CONTROLLER))
    await other_reader.readexactly(len(request_of(CONTROLLER)))
    await turns()
    assert b"lost?" not in echo.received
    assert echo.received.count(b"broker-1") == 1
    await proxies.heal(1, 2)
    assert await reader.readexactly(5) == b"LOST?"
    assert len(await later_reader.readexactly(15)) == 15
    for each in (writer, later, other):
        each.close()


async def test_cut_connection_holds_back_responses_too(echo: Echo, proxies: TcpProxies) -> None:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", await proxies.from_broker(1, "zookeeper", "127.0.0.1", echo.port)
    )
    await proxies.cut(1, "zookeeper")
    writer.write(b"hello")
    answer = asyncio.ensure_future(reader.read(5))
    await turns()
    assert not answer.done()
    await proxies.heal_all()
    assert await answer == b"HELLO"
    writer.close()


async def test_bytes_sent_before_a_broker_closes_arrive(echo: Echo, proxies: TcpProxies) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", await proxies.to_broker(2, echo.port))
    sent = request_of(FETCHER) + b"bye"
    writer.write(sent)
    assert await reader.read() == sent.upper()
    writer.close()


async def test_close_by_the_caller_is_forwarded_when_the_connection_is_healed(echo: Echo, proxies: TcpProxies) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", await proxies.to_broker(2, echo.port))
    writer.write(request_of(FETCHER))
    await reader.readexactly(len(request_of(FETCHER)))
    await proxies.cut(1, 2)
    writer.close()
    await turns()
    assert not echo.ended.is_set()
    await proxies.heal(1, 2)
    await echo.ended.wait()


async def test_proxy_closes_connections_of_clients_that_are_no_brokers(echo: Echo, proxies: TcpProxies) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", await proxies.to_broker(2, echo.port))
    writer.write(request_of(b"rdkafka"))
    assert await reader.read() == b""
    assert echo.received == b""
    writer.close()


async def test_connection_to_a_stopped_broker_fails_through_the_proxy(proxies: TcpProxies) -> None:
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    reader, writer = await asyncio.open_connection("127.0.0.1", await proxies.to_broker(2, port))
    writer.write(request_of(FETCHER))
    assert await reader.read() == b""
    writer.close()


async def test_proxy_between_brokers_that_use_tls_recognises_the_caller_and_can_be_cut(tmp_path: Path) -> None:
    certificates = ThrowawayCertificates(tmp_path)
    trusting = certificates.client_context()
    echo = Echo()
    server = await asyncio.start_server(echo.serve, "127.0.0.1", 0, ssl=certificates.server_context("broker"))
    proxies = TcpProxies(ProxyTls(certificates.server_context("proxies"), trusting))
    port = await proxies.to_broker(2, server.sockets[0].getsockname()[1])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
    sent = request_of(FETCHER)
    writer.write(sent)
    assert await reader.readexactly(len(sent)) == sent.upper()
    await proxies.cut(1, 2)
    writer.write(b"lost?")
    await turns()
    assert echo.received == sent
    await proxies.heal(1, 2)
    assert await reader.readexactly(5) == b"LOST?"
    writer.write(b"bye")
    assert await reader.read() == b"BYE"
    writer.close()
    with pytest.raises(ssl.SSLError):
        await asyncio.open_connection("127.0.0.1", port, ssl=ssl.create_default_context())
    server.close()
    await proxies.close()

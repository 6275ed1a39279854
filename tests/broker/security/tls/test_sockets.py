"""Tests of TLS over real sockets, with stock implementations on the other side: uvloop's, asyncio's and openssl's."""

import asyncio
import os
import shutil
import socket
import ssl
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path

import pytest
from pybroker.broker.security.tls.buffers import TlsBuffers
from pybroker.broker.security.tls.failures import TlsError
from pybroker.broker.security.tls.links import link_layer
from support.in_process.tls_ends import App, client_context, server_context
from support.in_process.tls_server import EchoServer, echo_server

VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


def with_version(context: ssl.SSLContext, version: ssl.TLSVersion) -> ssl.SSLContext:
    context.minimum_version = context.maximum_version = version
    return context


async def exchange(server: EchoServer, context: ssl.SSLContext, data: bytes) -> bytes:
    """Send ``data`` by a stock client, and return the bytes that come back."""
    reader, writer = await asyncio.open_connection("localhost", server.port, ssl=context, family=socket.AF_INET)
    writer.write(data)
    answer = await reader.readexactly(len(data))
    writer.close()
    await writer.wait_closed()
    return answer


@pytest.mark.parametrize("version", VERSIONS)
async def test_stock_client_gets_its_bytes_back(version: ssl.TLSVersion) -> None:
    data = bytes(range(256)) * 20_000
    async with echo_server(server_context()) as server:
        answers = await asyncio.gather(
            *(exchange(server, with_version(client_context(), version), data[: 10**size]) for size in range(1, 8))
        )
    assert answers == [data[: 10**size] for size in range(1, 8)]


@pytest.mark.parametrize("version", VERSIONS)
async def test_link_speaks_with_a_stock_server(version: ssl.TLSVersion) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(1_000_000))
        await writer.drain()
        writer.close()

    loop = asyncio.get_running_loop()
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=with_version(server_context(), version))
    app = LinkApp(loop)
    await open_link(app, server.sockets[0].getsockname()[1], client_context())
    await app.made
    app.transport.write(b"x" * 1_000_000)
    await app.ended
    assert app.received == b"x" * 1_000_000
    app.transport.close()
    await app.lost
    server.close()
    await server.wait_closed()


class LinkApp(App):
    """Tells when the connection is made, when the stream has ended, and when the connection is lost."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(keeps_open=True)
        self.made: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.lost: asyncio.Future[Exception | None] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.made.set_result(None)

    def eof_received(self) -> bool:
        self.ended.set_result(None)
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.lost.set_result(exc)


async def open_link(
    app: App, port: int, context: ssl.SSLContext, deadline_s: float = 60, host: str = "127.0.0.1"
) -> None:
    loop = asyncio.get_running_loop()
    add_layer = link_layer(lambda: context, loop, TlsBuffers(), deadline_s)
    layer = add_layer(app, (host, port))
    await loop.create_connection(lambda: layer, host, port)


async def failure_of_link(port: int, context: ssl.SSLContext, deadline_s: float = 60) -> TlsError:
    """The failure of a link whose handshake does not complete."""
    app = LinkApp(asyncio.get_running_loop())
    await open_link(app, port, context, deadline_s)
    error = await app.lost
    assert isinstance(error, TlsError)
    assert not app.made.done()
    return error


async def test_link_to_a_server_that_is_not_trusted_says_why() -> None:
    async with echo_server(server_context()) as server:
        error = await failure_of_link(server.port, client_context(trusted="other-authority"))
        assert str(error).startswith("no TLS connection to 127.0.0.1: its certificate is not signed by an authority")
        assert (await server.wait_for_failure()).cause.name == "REFUSED_AUTHORITY"


async def test_link_to_a_silent_server_fails_at_its_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        error = await failure_of_link(silent.getsockname()[1], client_context(), deadline_s=0.01)
    assert error.failure.cause.name == "TOO_SLOW"


@pytest.mark.parametrize("host", ["", ".example.org", f"{'x' * 70}.example.org"])
async def test_link_to_a_host_that_no_certificate_can_name_is_a_connection_error(host: str) -> None:
    with pytest.raises(ConnectionError, match="no TLS connection to"):
        await open_link(App(), 9092, client_context(), host=host)


async def test_refusal_of_the_links_certificate_after_the_handshake_is_the_reason_of_its_loss() -> None:
    async with echo_server(server_context(trusted="authority")) as server:
        app = LinkApp(asyncio.get_running_loop())
        await open_link(app, server.port, client_context("foreign-client"))
        await app.made
        error = await app.lost
        assert isinstance(error, TlsError)
        assert error.failure.cause.name == "REFUSED_AUTHORITY"
        assert (await server.wait_for_failure()).cause.name == "UNKNOWN_AUTHORITY"


async def test_plain_client_is_closed_without_a_byte() -> None:
    async with echo_server(server_context()) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"\0\0\0\x10" + bytes(16))
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        assert (await server.wait_for_failure()).cause.name == "PLAIN_TEXT"


async def test_many_clients_shake_hands_at_once() -> None:
    async with echo_server(server_context()) as server:
        context = client_context()
        answers = await asyncio.gather(*(exchange(server, context, b"x" * 100) for _ in range(100)))
        assert answers == [b"x" * 100] * 100
        assert server.failures == []
        assert server.handshakes.unanswered == server.handshakes.waiting == 0


def test_idle_connection_takes_at_most_48_kib_also_after_long_messages() -> None:
    tests = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-m", "support.in_process.tls_idle_memory"],
        cwd=tests,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    new, after_traffic = map(float, done.stdout.split())
    assert new <= 48
    assert after_traffic <= 48


async def s_client(port: int, *options: str) -> Process:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl")
    return await asyncio.create_subprocess_exec(
        "openssl",
        "s_client",
        "-connect",
        f"127.0.0.1:{port}",
        *options,
        stdin=PIPE,
        stdout=PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def say(client: Process, text: str, until: str) -> bool:
    """Send a line to s_client. Whether its output contains ``until`` before it ends."""
    assert client.stdin is not None
    assert client.stdout is not None
    client.stdin.write(f"{text}\n".encode())
    while line := await client.stdout.readline():
        if until in line.decode():
            return True
    return False


async def test_key_updates_of_tls_1_3_are_answered() -> None:
    async with echo_server(server_context()) as server:
        client = await s_client(server.port, "-tls1_3")
        assert await say(client, "hello", "hello")
        for number in range(3):
            assert await say(client, "K", "KEYUPDATE")
            assert await say(client, f"after {number}", f"after {number}")
        client.stdin.close()  # type: ignore[union-attr]
        await client.communicate()
        assert server.failures == []


async def test_renegotiation_is_refused() -> None:
    async with echo_server(server_context()) as server:
        server.side.context.options |= ssl.OP_NO_RENEGOTIATION
        client = await s_client(server.port, "-tls1_2")
        assert await say(client, "hello", "hello")
        assert await say(client, "R", "RENEGOTIATING")
        assert not await say(client, "after", "after")
        await client.communicate()

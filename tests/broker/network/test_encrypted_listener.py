"""Tests of a listener with TLS: who its clients are, its log lines, its limits, and new stores while it is open."""

import asyncio
import shutil
import ssl
import struct
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from pybroker.broker.encryption import Encryption
from pybroker.broker.network.connection import Connection
from pybroker.broker.network.endpoint_security import EndpointSecurity
from pybroker.broker.quotas.connection_rates import ConnectionRates
from pybroker.broker.quotas.quota_entity import DEFAULT
from pybroker.broker.quotas.sampled_rate import Windows
from pybroker.broker.security.tls import handshakes
from pybroker.broker.security.tls.handshakes import HandshakeQueue
from pybroker.config.config import Config
from pybroker.config.config_error import ConfigError
from pybroker.config.load import unchecked_config
from support.in_process.network_peer import ECHO, LATER, Peer, Server, frame, serving, until
from support.in_process.tls_ends import STORES, client_context
from support.in_process.tls_settings import ssl_listener


def config_of(**given: str) -> Config:
    """``client_auth="required"`` sets ``ssl.client.auth``."""
    more = {f"ssl.{name.replace('_', '.')}": value for name, value in given.items()}
    return unchecked_config("", {**ssl_listener(trusted="authority"), **more})


@asynccontextmanager
async def encrypted(config: Config) -> AsyncIterator[tuple[Server, Encryption]]:
    encryption = Encryption(config)
    async with serving(security_protocol="SSL", security=EndpointSecurity(encryption.layer("SSL"))) as server:
        yield server, encryption


async def connect(server: Server, context: ssl.SSLContext) -> Peer:
    streams = await asyncio.open_connection("127.0.0.1", server.endpoint.port, ssl=context, limit=4096)
    peer = Peer(*streams)
    server._peers.append(peer)
    return peer


async def user_of(server: Server, peer: Peer) -> str:
    """The principal of a request of the peer."""
    peer.send(frame(ECHO, 1))
    await peer.answer()
    return str(server.handler.requests[-1].connection.principal)


@pytest.mark.parametrize(
    ("client_auth", "key", "user"),
    [
        ("none", "client", "User:ANONYMOUS"),
        ("requested", "", "User:ANONYMOUS"),
        ("requested", "client", "User:CN=alice+UID=a1,O=Müller\\, Söhne,C=DE"),
        ("required", "client", "User:CN=alice+UID=a1,O=Müller\\, Söhne,C=DE"),
    ],
)
async def test_principal_is_the_name_in_the_certificate_if_it_was_asked_for(
    client_auth: str, key: str, user: str
) -> None:
    async with encrypted(config_of(client_auth=client_auth)) as (server, _):
        assert await user_of(server, await connect(server, client_context(key))) == user


async def test_mapping_rules_make_the_principal() -> None:
    rules = "RULE:^CN=([a-z]+).*$/$1/U,DEFAULT"
    async with encrypted(config_of(client_auth="required", principal_mapping_rules=rules)) as (server, _):
        assert await user_of(server, await connect(server, client_context("client"))) == "User:ALICE"


async def test_client_to_whom_no_mapping_rule_applies_is_closed_before_its_first_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rules = "RULE:^CN=nobody$/x/"
    async with encrypted(config_of(client_auth="required", principal_mapping_rules=rules)) as (server, _):
        peer = await connect(server, client_context("client"))
        peer.send(frame(ECHO, 1))
        assert await peer.is_closed()
        assert server.handler.requests == []
    assert "to listener SSL: no rule of ssl.principal.mapping.rules applies to its certificate" in caplog.text


def test_mapping_rules_of_sasl_have_no_effect_and_client_auth_must_have_the_listeners_prefix(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run(prefix: str) -> None:
        listeners = {"listeners": "SASL_SSL://127.0.0.1:0", "security.inter.broker.protocol": "SASL_SSL"}
        settings = {**ssl_listener(trusted="authority"), **listeners, f"{prefix}ssl.client.auth": "required"}
        encryption = Encryption(unchecked_config("", settings))
        assert encryption.layer("SASL_SSL").__self__._side.context.verify_mode is expected  # type: ignore[attr-defined]

    expected = ssl.CERT_NONE
    asyncio.run(run(""))
    assert "ssl.client.auth=required has no effect on listener SASL_SSL" in caplog.text
    expected = ssl.CERT_REQUIRED
    asyncio.run(run("listener.name.sasl_ssl."))


async def test_each_cause_is_logged_once_for_a_host_and_what_it_sent(caplog: pytest.LogCaptureFixture) -> None:
    async with encrypted(config_of()) as (server, _):
        for _ in range(3):
            for start in (b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x10\0\x12\0\3", b"\x16\x03\x01\x00\x05hello"):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.endpoint.port)
                writer.write(start)
                with suppress(ConnectionResetError):
                    await reader.read()
                writer.close()
    lines = [record.getMessage() for record in caplog.records]
    assert [line.partition(" to listener ")[2] for line in lines if line.startswith("Closing the TLS")] == [
        "SSL: it sends no TLS: SSL is set on this side only (an HTTP request on a Kafka port)",
        "SSL: it sends no TLS: SSL is set on this side only (it looks like a Kafka request in plain text)",
        "SSL: TLS failed (unexpected message)",
    ]


def client_hello() -> bytes:
    """The first bytes of a client's handshake."""
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        client_context().wrap_bio(received, sent, server_hostname="localhost").do_handshake()
    return sent.read()


@pytest.mark.parametrize("is_limited", [True, False])
async def test_connection_over_the_rate_of_its_address_is_closed_before_its_handshake(is_limited: bool) -> None:
    rates = ConnectionRates(Windows(2, 20))
    rates.set_limit(DEFAULT, 0.0 if is_limited else None)
    async with encrypted(config_of()) as (server, _):
        server.listeners.limit_creations(rates)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.endpoint.port)
        writer.write(client_hello())
        answer = b""
        with suppress(ConnectionResetError):
            answer = await reader.read(1)
        assert bool(answer) is not is_limited
        writer.close()
        await until(lambda: server.listeners.connection_count == 0)


async def test_client_that_is_slow_in_its_handshake_is_closed_after_pybroker_tls_handshake_timeout_ms(
    caplog: pytest.LogCaptureFixture,
) -> None:
    config = unchecked_config("", {**ssl_listener(), "pybroker.tls.handshake.timeout.ms": "50"})
    async with encrypted(config) as (server, _):
        silent = await asyncio.open_connection("127.0.0.1", server.endpoint.port)
        slow = await asyncio.open_connection("127.0.0.1", server.endpoint.port)
        slow[1].write(b"\x16\x03\x01\x02\x00")
        for reader, writer in (silent, slow):
            assert await Peer(reader, writer).is_closed()
            writer.close()
    assert "to listener SSL: the handshake took too long" in caplog.text


async def test_oldest_of_more_handshakes_than_pybroker_tls_handshakes_max_is_closed(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshakes, "LEAST_TIME_S", 0.0)
    config = unchecked_config("", {**ssl_listener(), "pybroker.tls.handshakes.max": "1"})
    async with encrypted(config) as (server, encryption):
        reader, writer = await begin(server, client_hello())
        assert await reader.read(1)
        assert queue_of(encryption).unanswered == 1
        assert await user_of(server, await connect(server, client_context())) == "User:ANONYMOUS"
        with suppress(ConnectionResetError):
            await reader.read()
        writer.close()
    assert "to listener SSL: too many handshakes waited for their clients" in caplog.text


@pytest.mark.parametrize("sent", [6, 1000], ids=["part of a record", "whole ClientHello"])
async def test_clients_that_begin_a_handshake_and_stop_do_not_delay_another(
    sent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshakes, "LEAST_TIME_S", 3600.0)
    config = unchecked_config("", {**ssl_listener(), "pybroker.tls.handshakes.max": "1"})
    async with encrypted(config) as (server, _):
        writers = [(await begin(server, client_hello()[:sent]))[1] for _ in range(20)]
        await until(lambda: server.listeners.connection_count == 20)
        assert await user_of(server, await connect(server, client_context())) == "User:ANONYMOUS"
        assert server.listeners.connection_count == 21
        for writer in writers:
            writer.close()


def test_each_listener_has_its_own_queue_of_handshakes() -> None:
    async def queues() -> list[HandshakeQueue]:
        listeners = {"listeners": "SSL://127.0.0.1:0,OTHER://127.0.0.1:0"}
        protocols = {"listener.security.protocol.map": "SSL:SSL,OTHER:SSL"}
        encryption = Encryption(unchecked_config("", {**ssl_listener(), **listeners, **protocols}))
        return [queue_of(encryption, name) for name in ("SSL", "OTHER")]

    first, second = asyncio.run(queues())
    assert first is not second


async def begin(server: Server, start: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A client that sends ``start`` and no more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.endpoint.port)
    writer.write(start)
    return reader, writer


def queue_of(encryption: Encryption, listener: str = "SSL") -> HandshakeQueue:
    queue = encryption._listeners[listener]._side.handshakes
    assert queue is not None
    return queue


async def test_bytes_below_a_connection_that_is_not_read_count_as_memory() -> None:
    async with encrypted(config_of()) as (server, _):
        peer = await connect(server, client_context())
        peer.send(*(frame(LATER, number, bytes(100)) for number in range(2_000)))  # eight at once are started
        await server.handler.has_started(8)
        (connection,) = server.listeners.connections()
        await until(lambda: connection._transport.get_read_buffer_size() > 0)  # type: ignore[attr-defined]
        below = connection._transport.get_read_buffer_size()  # type: ignore[attr-defined]
        counted = counted_bytes(connection)
        connection._bytes_below = None
        without = counted_bytes(connection)
        peer.writer.transport.abort()
        assert counted - without == below


def counted_bytes(connection: Connection) -> int:
    connection.count_memory()
    return connection._memory.frame_bytes + connection._memory.response_bytes


async def test_nothing_is_left_of_peers_that_vanish_in_any_state() -> None:
    hello = ssl_hello()
    starts = [
        b"",
        b"G",
        hello[:1],
        hello[:7],
        hello[:-1],
        hello,
        hello + b"\x17\x03\x03\x00\x01x",
        b"\x15\x03\x03\x00\x02\x02\x28",
    ]
    async with encrypted(config_of()) as (server, encryption):
        for number in range(200):
            _, writer = await asyncio.open_connection("127.0.0.1", server.endpoint.port)
            writer.write(starts[number % len(starts)])
            if number % 3 == 0:
                await asyncio.sleep(0)
            if number % 2:
                writer.transport.abort()
            writer.close()
        peer = await connect(server, client_context())
        peer.writer.transport.abort()
        await until(lambda: server.listeners.connection_count == 0)
        assert (queue_of(encryption).unanswered, queue_of(encryption).waiting) == (0, 0)
        assert server.listeners.request_bytes == 0


def ssl_hello() -> bytes:
    outgoing = ssl.MemoryBIO()
    client = client_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    shutil.copy(STORES / "server.pem", tmp_path / "keys.pem")
    return tmp_path / "keys.pem"


def renew(keys: Path, store: str) -> None:
    shutil.copy(STORES / f"{store}.pem", keys.with_suffix(".new"))
    keys.with_suffix(".new").replace(keys)


async def test_new_connections_get_a_certificate_that_was_written_again_and_open_ones_go_on(keys: Path) -> None:
    config = config_of(keystore_location=str(keys), allow_dn_changes="true", allow_san_changes="true")
    trusting = client_context()
    trusting.check_hostname = False
    async with encrypted(config) as (server, encryption):
        old = await connect(server, trusting)
        renew(keys, "client")
        encryption.check(config, ["ssl.keystore.location"])
        assert await subject_of(await connect(server, trusting)) == "server"
        encryption.reload(config)
        assert await subject_of(await connect(server, trusting)) == "alice"
        assert await user_of(server, old) == "User:ANONYMOUS"


async def subject_of(peer: Peer) -> str:
    parts = dict(part[0] for part in peer.writer.get_extra_info("peercert")["subject"])
    return str(parts["commonName"])


async def test_certificates_that_are_renewed_under_load_disturb_no_request(keys: Path) -> None:
    config = config_of(keystore_location=str(keys), allow_dn_changes="true", allow_san_changes="true")
    trusting = client_context()
    trusting.check_hostname = False
    seen: Counter[str] = Counter()
    async with encrypted(config) as (server, encryption):

        async def stay() -> None:
            peer = await connect(server, trusting)
            try:
                while True:
                    assert await user_of(server, peer) == "User:ANONYMOUS"
            finally:
                peer.writer.transport.abort()

        async def come_and_go() -> None:
            while True:
                peer = await connect(server, trusting)
                try:
                    assert await user_of(server, peer) == "User:ANONYMOUS"
                    seen[await subject_of(peer)] += 1
                finally:
                    peer.writer.transport.abort()

        clients = [asyncio.create_task(client()) for client in (stay, stay, come_and_go)]
        for store, name in [("client", "alice"), ("server", "server")] * 5:
            renew(keys, store)
            encryption.reload(config)
            before = seen[name]
            await until(lambda name=name, before=before: seen[name] > before)  # type: ignore[misc]
        assert not any(client.done() for client in clients)
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)


async def test_new_stores_that_are_refused_leave_the_old_ones_in_use(keys: Path) -> None:
    config = config_of(keystore_location=str(keys))
    async with encrypted(config) as (server, encryption):
        renew(keys, "client")
        with pytest.raises(ConfigError, match=r"listener SSL: the certificate is for CN=alice"):
            encryption.check(config, ["ssl.keystore.location"])
        with pytest.raises(ConfigError, match=r"listener SSL: the certificate is for CN=alice"):
            encryption.reload(config)
        assert await user_of(server, await connect(server, client_context())) == "User:ANONYMOUS"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"keystore_location": "/no/such/file"}, r"ssl\.keystore\.location: /no/such/file: the file cannot be read"),
        ({"client_auth": "required", "truststore_location": "", "truststore_type": "JKS"}, "ssl.truststore.location"),
        ({"principal_mapping_rules": "RULE:(/x/"}, "ssl.principal.mapping.rules"),
        ({"enabled_protocols": "TLSv9"}, "ssl.enabled.protocols"),
    ],
)
async def test_listener_that_cannot_be_protected_is_refused_with_one_line(given: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=f"^listener SSL: {why}") as raised:
        Encryption(config_of(**given))
    assert "\n" not in str(raised.value)


async def test_requests_are_answered_whatever_the_size_of_their_records() -> None:
    async with encrypted(config_of()) as (server, _):
        peer = await connect(server, client_context())
        request = frame(ECHO, 7, b"x" * 300)
        for start in range(len(request)):
            peer.send(request[start : start + 1])
            await asyncio.sleep(0)
        assert await peer.answer() == (7, b"x" * 300)
        peer.send(struct.pack(">i", 2**31 - 1))
        assert await peer.is_closed()


@pytest.mark.parametrize("with_fin", [False, True])
async def test_client_that_ends_its_side_gets_the_last_answer(with_fin: bool) -> None:
    async with encrypted(config_of()) as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.endpoint.port)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = client_context().wrap_bio(incoming, outgoing, server_hostname="localhost")

        async def until_done(step: Callable[[], bytes | None]) -> bytes | None:
            while True:
                try:
                    return step()
                except ssl.SSLWantReadError:
                    if output := outgoing.read():
                        writer.write(output)
                    incoming.write(await reader.read(65536))

        await until_done(client.do_handshake)
        client.write(frame(LATER, 5))
        with suppress(ssl.SSLWantReadError):
            client.unwrap()
        writer.write(outgoing.read())
        if with_fin:
            writer.write_eof()
        await server.handler.has_started(1)
        (connection,) = server.listeners.connections()
        await until(lambda: connection.is_ending)
        server.handler.answer(5, b"last")
        assert await until_done(lambda: client.read(100)) == struct.pack(">ii", 8, 5) + b"last"
        assert await reader.read() == b""
        writer.close()

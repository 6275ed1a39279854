"""Links to other brokers: one factory makes them all, and a protected link opens only through its protection."""

import ast
import asyncio

import pytest
from pybroker.base.invariant import InvariantError
from pybroker.broker.inter_broker.broker_link import Ask, BrokerLink, LinkSecurity
from pybroker.broker.inter_broker.link_factory import LinkFactory
from pybroker.broker.metadata.address import Address
from pybroker.broker.protection import Protection
from pybroker.config.config import Config
from pybroker.config.given import Given, Source
from pybroker.config.listener_security import ListenerSecurity
from pybroker.config.load import unchecked_config
from pybroker.protocol.messages.metadata import MetadataRequest
from support.in_process.masking_layer import MaskingLayer
from support.in_process.network_peer import Server, serving, until
from support.source_tree import name_of, nodes_of, python_files

LONG_MS = 3_600_000
MAP = {"listener.security.protocol.map": "OPEN:PLAINTEXT,SAFE:SSL,CLIENTS:SASL_PLAINTEXT"}
CONFIG = Config({name: Given(text, Source.FILE, "a test") for name, text in MAP.items()})


def test_only_the_factory_makes_links() -> None:
    makers = {
        name_of(path)
        for path in python_files("broker")
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "BrokerLink"
    }
    assert makers == {"broker/inter_broker/link_factory.py"}


@pytest.mark.parametrize("listener", ["SAFE", "CLIENTS"])
async def test_no_link_without_protection_opens_to_a_protected_listener(listener: str) -> None:
    links = LinkFactory(asyncio.get_running_loop(), Protection(unchecked_config("", {})).of_link)
    with pytest.raises(InvariantError, match=listener):
        links.link_to(lambda: None, listener, "1", CONFIG)


async def test_the_security_of_a_listener_is_built_once() -> None:
    asked: list[str] = []

    def security_of(listener: ListenerSecurity) -> LinkSecurity:
        asked.append(listener.listener_name)
        return LinkSecurity()

    links = LinkFactory(asyncio.get_running_loop(), security_of)
    for listener in ("SAFE", "OPEN", "SAFE"):
        links.link_to(lambda: None, listener, "1", CONFIG)
    assert asked == ["SAFE", "OPEN"]


def link_with(security: LinkSecurity, server: Server) -> BrokerLink:
    links = LinkFactory(asyncio.get_running_loop(), lambda _listener: security)
    return links.link_to(lambda: Address("127.0.0.1", server.endpoint.port), "SAFE", "1", CONFIG)


async def test_no_request_is_sent_before_the_layer_lets_it() -> None:
    """The layer calls ``connection_made`` when its handshake is over, which is after the TCP connection is made."""
    handshakes: list[MaskingLayer] = []

    class SlowLayer(MaskingLayer):
        def connection_made(self, transport: object) -> None:
            self.transport = transport
            handshakes.append(self)

        def finish(self) -> None:
            super().connection_made(self.transport)  # type: ignore[arg-type]

    async with serving() as server:
        link = link_with(LinkSecurity(add_layer=lambda connection, _address: SlowLayer(connection)), server)
        asking = asyncio.ensure_future(link.ask(MetadataRequest(), 0, LONG_MS))
        await until(lambda: bool(handshakes))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not link.is_connected
        assert not server.handler.requests
        handshakes[0].finish()
        await until(lambda: link.is_connected)
        asking.cancel()
        await link.close()


async def test_a_link_whose_handshake_fails_is_not_open() -> None:
    class RefusedLayer(MaskingLayer):
        def connection_made(self, transport: object) -> None:
            transport.abort()  # type: ignore[attr-defined]

    async with serving() as server:
        link = link_with(LinkSecurity(add_layer=lambda connection, _address: RefusedLayer(connection)), server)
        with pytest.raises(ConnectionError):
            await link.ask(MetadataRequest(), 0, LONG_MS)
        await link.close()


async def test_the_login_comes_before_the_first_request_and_its_refusal_closes_the_connection() -> None:
    steps: list[str] = []

    async def log_in(ask: Ask) -> int:
        steps.append("login")
        if len(steps) == 1:
            raise ConnectionError("wrong password")
        return 0

    async with serving() as server:
        link = link_with(LinkSecurity(log_in=log_in), server)
        with pytest.raises(ConnectionError, match="wrong password"):
            await link.ask(MetadataRequest(), 0, LONG_MS)
        assert not server.handler.requests
        await server.listeners.gone()
        asking = asyncio.ensure_future(link.ask(MetadataRequest(), 0, LONG_MS))
        await server.handler.has_started(1)
        assert steps == ["login", "login"]
        asking.cancel()
        await link.close()


async def test_a_killed_link_ends_the_login_in_progress() -> None:
    begun = asyncio.Event()

    async def log_in(ask: Ask) -> int:
        begun.set()
        await asyncio.Event().wait()
        return 0

    async with serving() as server:
        link = link_with(LinkSecurity(log_in=log_in), server)
        asking = asyncio.ensure_future(link.ask(MetadataRequest(), 0, LONG_MS))
        await begun.wait()
        await link.close()
        with pytest.raises(ConnectionError):
            await asking
        await server.listeners.gone()

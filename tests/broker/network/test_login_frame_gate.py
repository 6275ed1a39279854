"""Logins over sockets: the frame gate carries out the actions of the login gate."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pybroker.broker.network.endpoint_security import EndpointSecurity
from pybroker.broker.network.login_frame_gate import LoginFrameGate
from pybroker.broker.network.request import ConnectionInfo
from pybroker.broker.security.login_gate import LoginGate
from pybroker.protocol.apis import ApiKey
from support.in_process.network_peer import Peer, Server, frame, serving
from support.security.gate_driver import PLAIN_TOKEN, answer, handshake, rules, token

ECHO = 3


class Clock:
    now_ms = 0


@asynccontextmanager
async def logging_in(max_reauth_ms: int = 0) -> AsyncIterator[tuple[Server, Peer, Clock, list[str]]]:
    clock, reasons = Clock(), []

    def new_gate(info: ConnectionInfo) -> LoginFrameGate:
        gate = LoginGate(rules(max_reauth_ms))
        return LoginFrameGate(gate, info, lambda: clock.now_ms, lambda info, reason: reasons.append(reason))

    security = EndpointSecurity(new_gate=new_gate)
    async with serving(security_protocol="SASL_PLAINTEXT", security=security) as server:
        yield server, await server.connect(), clock, reasons


def sized(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


async def received(peer: Peer) -> bytes:
    return await peer.reader.readexactly(int.from_bytes(await peer.reader.readexactly(4), "big"))


async def test_requests_pass_after_a_login_that_was_sent_with_them() -> None:
    async with logging_in() as (server, peer, _, _):
        peer.send(sized(handshake("PLAIN")), sized(token(PLAIN_TOKEN)), frame(ECHO, 1, bytes(5000)))
        assert answer(await received(peer), ApiKey.SASL_HANDSHAKE, 1).error_code == 0
        assert answer(await received(peer), ApiKey.SASL_AUTHENTICATE, 2).error_code == 0
        assert await peer.answers(1) == [1]
        assert [str(request.connection.principal) for request in server.handler.requests] == ["User:alice"]


async def test_login_by_raw_tokens_has_raw_answers() -> None:
    async with logging_in() as (_, peer, _, _):
        peer.send(sized(handshake("PLAIN", 0)), sized(PLAIN_TOKEN), frame(ECHO, 1))
        await received(peer)
        assert await received(peer) == b""
        assert await peer.answers(1) == [1]


async def test_failed_login_is_answered_and_closed_and_its_reason_is_told() -> None:
    async with logging_in() as (server, peer, _, reasons):
        peer.send(sized(handshake("PLAIN")), sized(token(b"\0alice\0x")), frame(ECHO, 1))
        await received(peer)
        assert answer(await received(peer), ApiKey.SASL_AUTHENTICATE, 2).error_code
        assert await peer.is_closed()
        assert reasons == ["wrong user or password for 'alice'"]
        assert not server.handler.requests


async def test_failed_login_by_raw_tokens_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async with logging_in() as (_, peer, _, reasons):
        peer.send(sized(handshake("PLAIN", 0)), sized(b"\0alice\0x"))
        await received(peer)
        assert await peer.is_closed()
        assert reasons == []
    (line,) = caplog.messages
    assert line.endswith("on listener TEST: its login failed: wrong user or password for 'alice'")


async def test_request_before_the_login_closes_the_connection() -> None:
    async with logging_in() as (server, peer, _, _):
        peer.send(frame(ECHO, 1))
        assert await peer.is_closed()
        assert not server.handler.requests


async def test_request_after_the_end_of_the_session_closes_the_connection() -> None:
    async with logging_in(max_reauth_ms=1000) as (server, peer, clock, _):
        peer.send(sized(handshake("PLAIN")), sized(token(PLAIN_TOKEN)), frame(ECHO, 1))
        await received(peer)
        await received(peer)
        assert await peer.answers(1) == [1]
        clock.now_ms = 1001
        peer.send(frame(ECHO, 2))
        assert await peer.is_closed()
        assert server.handler.started == [1]

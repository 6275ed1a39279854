"""The gate of a connection whose client must log in: what passes it, and how its own answers are sent."""

import ast
import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NoReturn

import pytest
from pybroker.broker.network.admission.read_pause import ReadPause
from pybroker.broker.network.endpoint_security import EndpointSecurity
from pybroker.broker.network.frame_gate import GateReply
from pybroker.broker.network.request import CloseConnectionError, ConnectionInfo, LaterReply
from pybroker.broker.network.settings import NetworkSettings
from pybroker.broker.security.principal import Principal
from support.in_process.network_peer import PRODUCE, Peer, Server, frame, serving, until
from support.in_process.scripted_gate import ScriptedGate
from support.source_tree import functions_of, python_files

ECHO = 3
TOKEN = b"\0\0\0\5token"


@asynccontextmanager
async def gated(**settings: Any) -> AsyncIterator[tuple[Server, Peer, ScriptedGate]]:
    gates: list[ScriptedGate] = []

    def new_gate(info: ConnectionInfo) -> ScriptedGate:
        gates.append(ScriptedGate(info))
        return gates[-1]

    security = EndpointSecurity(new_gate=new_gate)
    async with serving(security_protocol="SASL_PLAINTEXT", security=security, **settings) as server:
        peer = await server.connect()
        await until(lambda: bool(gates))
        yield server, peer, gates[0]


def raw(answer: bytes, *, closes: bool = False) -> Callable[[bytes], GateReply]:
    return lambda _frame: GateReply([answer], closes)


async def raw_answer(peer: Peer) -> bytes:
    return await peer.reader.readexactly(int.from_bytes(await peer.reader.readexactly(4), "big"))


async def test_frames_that_the_gate_answers_reach_no_handler() -> None:
    async with gated() as (server, peer, gate):
        gate.answer = raw(b"challenge")
        peer.send(TOKEN)
        assert await raw_answer(peer) == b"challenge"
        assert gate.seen == [b"token"]
        assert not server.handler.requests


async def test_frames_that_pass_the_gate_are_requests() -> None:
    async with gated() as (server, peer, gate):
        peer.send(frame(ECHO, 1), frame(ECHO, 2))
        assert await peer.answers(2) == [1, 2]
        assert gate.seen == [frame(ECHO, 1)[4:], frame(ECHO, 2)[4:]]
        assert server.handler.started == [1, 2]


async def test_gate_sees_a_request_once_that_must_wait_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second ApiVersions request before the login would close the connection."""
    async with gated() as (server, peer, gate):
        admission = server.listeners._resources.gate
        admits, asked = admission.admits, []

        def not_at_first(*arguments: Any, **named: Any) -> bool:
            asked.append(arguments)
            return len(asked) > 1 and admits(*arguments, **named)

        monkeypatch.setattr(admission, "admits", not_at_first)
        peer.send(frame(ECHO, 1))
        await until(lambda: bool(asked))
        server.listeners.connections()[0].start_queued()
        assert await peer.answers(1) == [1]
        peer.send(frame(ECHO, 2))
        assert await peer.answers(1) == [2]
        assert gate.seen == [frame(ECHO, 1)[4:], frame(ECHO, 2)[4:]]


async def test_each_frame_of_one_read_is_judged_after_the_one_before() -> None:
    """A client may send its login and its first request together."""
    async with gated() as (server, peer, gate):
        gate.max_frame_bytes = 100
        server.listeners.connections()[0].frame_limit_changed()

        def log_in(_frame: bytes) -> GateReply:
            gate.max_frame_bytes = None
            gate.answer = lambda _frame: None
            gate.info.principal = Principal("User", "alice")
            return GateReply([b"welcome"])

        gate.answer = log_in
        peer.send(TOKEN, frame(ECHO, 1, bytes(5_000)), frame(ECHO, 2))
        assert await raw_answer(peer) == b"welcome"
        assert await peer.answers(2) == [1, 2]
        assert {str(request.connection.principal) for request in server.handler.requests} == {"User:alice"}


@pytest.mark.parametrize(
    ("before_login", "says"),
    [
        (100, "sasl.server.max.receive.size allows 1 to 100 before the client has logged in"),
        (10**9, "socket.request.max.bytes allows 1 to 1000"),
    ],
)
async def test_a_frame_beyond_the_limit_before_the_login_closes_the_connection(
    before_login: int, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with gated(settings=NetworkSettings(max_request_bytes=1000)) as (server, peer, gate):
        gate.max_frame_bytes = before_login
        server.listeners.connections()[0].frame_limit_changed()
        peer.send(frame(ECHO, 1, bytes(1001)))
        assert await peer.is_closed()
        assert not gate.seen
    assert says in caplog.text


async def test_an_answer_of_the_gate_waits_for_those_of_requests_under_way() -> None:
    """A client may authenticate again while it waits for a response."""
    async with gated() as (server, peer, gate):
        peer.send(frame(PRODUCE, 1))
        await server.handler.has_started(1)
        gate.answer = raw(b"still alice")
        peer.send(TOKEN)
        await until(lambda: len(gate.seen) == 2)
        server.handler.answer(1, b"")
        assert await peer.answers(1) == [1]
        assert await raw_answer(peer) == b"still alice"


async def test_nothing_is_taken_while_a_step_of_the_login_is_undecided() -> None:
    decided: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    async with gated() as (server, peer, gate):

        def wait(_frame: bytes) -> GateReply:
            gate.answer = lambda _frame: None
            return GateReply(LaterReply(decided, lambda: [b"welcome"]))

        gate.answer = wait
        peer.send(TOKEN, frame(ECHO, 1))
        await until(lambda: bool(gate.seen))
        (connection,) = server.listeners.connections()
        assert ReadPause.LOGIN in connection.read_pause
        assert not server.handler.requests
        decided.set_result(None)
        assert await raw_answer(peer) == b"welcome"
        assert await peer.answers(1) == [1]


async def test_a_refused_client_gets_its_late_answer_and_then_the_end() -> None:
    delayed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    async with gated() as (server, peer, gate):
        gate.answer = lambda _frame: GateReply(LaterReply(delayed, lambda: [b"no"]), closes=True)
        peer.send(TOKEN, frame(ECHO, 1))
        await until(lambda: bool(gate.seen))
        delayed.set_result(None)
        assert await raw_answer(peer) == b"no"
        assert await peer.is_closed()
        assert gate.seen == [b"token"]
        assert not server.handler.requests


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_gate_may_close_the_connection_without_an_answer(is_late: bool) -> None:
    def refuse() -> NoReturn:
        raise CloseConnectionError("a request before the login")

    def answer(_frame: bytes) -> GateReply | None:
        if is_late:
            return GateReply(LaterReply(decided, refuse))
        refuse()

    decided: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    decided.set_result(None)
    async with gated() as (_, peer, gate):
        gate.answer = answer
        peer.send(TOKEN)
        assert await peer.is_closed()


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_fault_in_the_gate_closes_the_connection_with_one_short_line(
    is_late: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> NoReturn:
        raise ValueError("x" * 50_000 + "\n")

    def answer(_frame: bytes) -> GateReply | None:
        if is_late:
            return GateReply(LaterReply(decided, fail))
        fail()

    decided: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    decided.set_result(None)
    async with gated() as (server, peer, gate):
        gate.answer = answer
        peer.send(TOKEN, frame(ECHO, 1))
        assert await peer.is_closed()
        assert not server.handler.requests
    (record,) = caplog.records
    assert "its login failed because of ValueError" in record.getMessage()
    assert len(record.getMessage()) < 500
    assert record.exc_info is None


async def test_a_connection_lost_during_a_step_of_the_login_ends_quietly(caplog: pytest.LogCaptureFixture) -> None:
    decided: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    async with gated() as (server, peer, gate):
        gate.answer = lambda _frame: GateReply(LaterReply(decided, lambda: [b"welcome"]))
        peer.send(TOKEN)
        await until(lambda: bool(gate.seen))
        server.listeners.connections()[0].abort()
        await server.listeners.gone()
        decided.set_result(None)
        await asyncio.sleep(0)
    assert not caplog.records


def callers_of(method: str, owner: str) -> set[str]:
    """The functions of the broker that call ``<owner>.<method>``."""
    return {
        name
        for path in python_files("broker")
        for name, function in functions_of(path)
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(f"{owner}.{method}")
    }


def test_a_frame_has_one_way_to_a_handler_and_the_gate_stands_in_it() -> None:
    assert callers_of("handle", "_gate") == {"broker/network/request_pipeline.py:RequestPipeline.start"}
    assert callers_of("handler", "self") == {"broker/network/admission/gate.py:Gate.handle"}
    (start,) = (
        function
        for path in python_files("broker/network")
        for name, function in functions_of(path)
        if name == "broker/network/request_pipeline.py:RequestPipeline.start"
    )
    first = start.body[1]  # behind the docstring
    assert isinstance(first, ast.If)
    assert "self._passes(self.frame_gate, frame)" in ast.unparse(first.test)
    assert ast.unparse(first.body[-1]) == "return"

"""Logins on connections in virtual time: bytes split anywhere, logins among requests under way, ends of sessions.

Each conversation has one right sequence of responses, however its bytes are cut.
"""

import asyncio
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pybroker.broker.network.login_frame_gate import LoginFrameGate
from pybroker.broker.network.request import ConnectionInfo, LaterReply, Reply, Request
from pybroker.broker.network.settings import NetworkSettings
from pybroker.broker.security.login_gate import LoginGate
from pybroker.protocol.client.sasl import Credentials, SaslLogin, sasl_messages
from support.examples import examples
from support.in_process.network_peer import ECHO, LATER, frame
from support.security.gate_driver import DELAY_MS, PLAIN_TOKEN, api_versions, handshake, rules, token
from support.time.virtual_network import VirtualNetwork, VirtualPeer

SESSION_MS = 10_000
_LEAST_IN_A_RAW_MESSAGE = 1 << 16
GATE = 7
"""The correlation id of the gate's responses: `gate_driver` sends it."""


class LoginPeer(VirtualPeer):
    """Remembers each response by its correlation id; -1 for a raw one."""

    def _take_answers(self) -> None:
        data = self._received
        while len(data) >= 4:
            (size,) = struct.unpack_from(">i", data)
            if len(data) < 4 + size:
                return
            number = struct.unpack_from(">i", data, 4)[0] if size >= 4 else -1
            self.answered.append(number if number < _LEAST_IN_A_RAW_MESSAGE else -1)
            del data[: 4 + size]

    def send_cut(self, data: bytes, cuts: list[int]) -> None:
        """The server reads up to each cut, and takes as many turns of the loop as it needs."""
        bounds = [0, *sorted({min(cut, len(data)) for cut in cuts}), len(data)]
        for start, end in pairwise(bounds):
            self.send(data[start:end])
            while self.is_readable:
                self.deliver(1 << 20)
                self._settle()
        self._settle()

    def _settle(self) -> None:
        for _ in range(4):
            self.network.loop.turn()


class LoginNetwork(VirtualNetwork):
    """Its handler answers ECHO at once, and LATER when the test says so."""

    def __init__(self) -> None:
        super().__init__(NetworkSettings(), self._handle)
        self.later: dict[int, asyncio.Future[Any]] = {}
        self.principals: list[str] = []

    def log_in(self) -> LoginPeer:
        peer = LoginPeer(self)
        peer.connection.admit()
        return peer

    def frame_gate(self, info: ConnectionInfo) -> LoginFrameGate:  # type: ignore[override]
        gate = LoginGate(rules(SESSION_MS))
        return LoginFrameGate(gate, info, lambda: round(self.loop.time() * 1000), lambda info, reason: None)

    def answer(self) -> int:
        """Answer the request that waits for longest."""
        correlation_id: int = next(iter(self.later))
        self.later.pop(correlation_id).set_result([struct.pack(">i", correlation_id)])
        self.loop.turn()
        return correlation_id

    def _handle(self, request: Request) -> Reply:
        self.principals.append(str(request.connection.principal))
        if request.api_key == LATER:
            future = self.later[request.correlation_id] = self.loop.create_future()
            return LaterReply(future, future.result)
        return [struct.pack(">i", request.correlation_id)]


@contextmanager
def network() -> Iterator[LoginNetwork]:
    made = LoginNetwork()
    asyncio._set_running_loop(cast("asyncio.AbstractEventLoop", made.loop))
    try:
        yield made
    finally:
        asyncio._set_running_loop(None)


def sized(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def scram_tokens() -> list[bytes]:
    """Both messages of a login by SCRAM. The server's nonce is always the same in tests, so its challenge is, too."""
    messages = sasl_messages(SaslLogin(Credentials("SCRAM-SHA-256", "alice", "secret"), "x"))
    first = next(messages)
    server = rules().mechanisms["SCRAM-SHA-256"].new_server()
    return [first, messages.send(server.evaluate(first, 0).message)]


FIRST, FINAL = scram_tokens()
CONVERSATIONS = {
    "plain": [handshake("PLAIN"), token(PLAIN_TOKEN)],
    "raw": [handshake("PLAIN", 0), PLAIN_TOKEN],
    "scram": [api_versions(), handshake("SCRAM-SHA-256"), token(FIRST), token(FINAL)],
    "raw scram": [handshake("SCRAM-SHA-256", 0), FIRST, FINAL],
}


@pytest.mark.parametrize("kind", CONVERSATIONS)
def test_conversation_may_be_split_at_each_byte(kind: str) -> None:
    """A login, requests under way, another login among them, and more requests."""
    login = [sized(each) for each in CONVERSATIONS[kind]]
    again = login[kind == "scram" :]  # ApiVersions is taken once
    data = b"".join([*login, frame(LATER, 101), frame(ECHO, 102), *again, frame(ECHO, 103)])
    seen: dict[int, tuple[list[int], list[int], list[str]]] = {}
    for cut in range(len(data) + 1):
        with network() as world:
            peer = world.log_in()
            peer.send_cut(data, [cut])
            early = list(peer.answered)
            assert world.answer() == 101
            seen[cut] = (early, peer.answered, world.principals[-3:])
            assert not peer.is_closed
    early, answered, principals = seen[0]
    assert len(early) == len(login)  # nothing else is sent before the response to the request that waits
    assert answered == [*early, 101, 102, *[each for each in answered if each in (GATE, -1)][len(early) :], 103]
    assert principals == ["User:alice"] * 3
    assert all(each == seen[0] for each in seen.values())


# --- any sequence

FRAMES = {
    "versions": sized(api_versions()),
    "handshake v0": sized(handshake("PLAIN", 0)),
    "handshake v1": sized(handshake("PLAIN", 1)),
    "unknown mechanism": sized(handshake("X")),
    "token": sized(token(PLAIN_TOKEN)),
    "wrong token": sized(token(b"\0alice\0x")),
    "token of another user": sized(token(b"\0bob\0word")),
    "raw token": sized(PLAIN_TOKEN),
    "echo": b"",
    "later": b"",
}
_MOST_UNDER_WAY = 6
_IS_TOKEN = ("token", "wrong token", "token of another user")


class Model:
    """The responses that a client may expect. ``responses``: the correlation ids in order, and for each whether it may
    be sent by now.
    """

    def __init__(self) -> None:
        self.state = "first"
        self.responses: list[list[Any]] = []
        self.ends_ms = 0
        self.began_again_ms: int | None = None
        self.user = ""
        self.is_over = False
        self.decides_at_ms: int | None = None  # the response to a failed login is delayed until then

    def take(self, name: str, number: int, now_ms: int) -> None:
        if self.is_over:
            return
        if self.state == "open":
            self._open(name, number, now_ms)
        elif name == "versions" and self.state == "first":
            self.state = "handshake"
            self._respond(GATE)
        elif name.startswith("handshake") and self.state in ("first", "handshake"):
            self._handshake(name)
        elif name == "unknown mechanism" and self.state in ("first", "handshake"):
            self._fail(GATE, now_ms)
        elif self.state == "framed" and name in _IS_TOKEN:
            self._token(name, now_ms)
        elif self.state == "raw":
            self._raw(name, now_ms)
        else:
            self.is_over = True

    def answer(self, number: int) -> None:
        for each in self.responses:
            if each[0] == number:
                each[1] = True

    def elapse(self, now_ms: int) -> None:
        if self.decides_at_ms is not None and now_ms >= self.decides_at_ms:
            self.decides_at_ms = None
            for each in self.responses:
                if each[1] is None:
                    each[1] = True

    @property
    def sent(self) -> list[int]:
        """The responses before the first one that must wait."""
        sent = []
        for number, is_ready in self.responses:
            if not is_ready:
                break
            if number is not None:
                sent.append(number)
        return sent

    @property
    def is_closed(self) -> bool:
        return self.is_over and all(is_ready for _, is_ready in self.responses)

    @property
    def under_way(self) -> int:
        return len(self.responses) - len(self.sent)

    def _respond(self, number: int) -> None:
        self.responses.append([number, True])

    def _open(self, name: str, number: int, now_ms: int) -> None:
        is_handshake = name.startswith("handshake") or name == "unknown mechanism"
        if is_handshake and (self.began_again_ms is None or now_ms - self.began_again_ms >= 1000):
            if name == "unknown mechanism":
                self._fail(GATE, now_ms)
            else:
                self.began_again_ms = now_ms
                self._handshake(name)
        elif now_ms > self.ends_ms or name == "raw token":  # its bytes are no request
            self.is_over = True
        elif name == "later":
            self.responses.append([number, False])
        else:
            self._respond(number if name == "echo" else GATE)

    def _handshake(self, name: str) -> None:
        self.state = "framed" if name == "handshake v1" else "raw"
        self._respond(GATE)

    def _token(self, name: str, now_ms: int) -> None:
        user = {"token": "alice", "token of another user": "bob"}.get(name, "")
        if not user or self.user not in ("", user):
            self._fail(GATE, now_ms)
        else:
            self._log_in(user, GATE, now_ms)

    def _raw(self, name: str, now_ms: int) -> None:
        if name == "raw token" and self.user in ("", "alice"):
            self._log_in("alice", -1, now_ms)
        else:
            self._fail(None, now_ms)

    def _log_in(self, user: str, number: int, now_ms: int) -> None:
        self.state, self.user, self.ends_ms = "open", user, now_ms + SESSION_MS
        self._respond(number)

    def _fail(self, number: int | None, now_ms: int) -> None:
        self.is_over = True
        self.responses.append([number, None])
        self.decides_at_ms = now_ms + DELAY_MS


WAITS_MS = {"wait": 700, "wait a moment": 1, "wait for the end": SESSION_MS}
Step = tuple[str, list[int]]
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.sampled_from(sorted(FRAMES)), st.lists(st.integers(0, 80), max_size=4)),
    st.tuples(st.sampled_from(["answer", *WAITS_MS]), st.just([])),
)
LOGIN: list[Step] = [("handshake v1", []), ("token", [])]


@settings(deadline=None, max_examples=examples(400))
@example(
    True, [("later", []), ("wait for the end", []), ("answer", []), ("echo", []), ("wait a moment", []), ("echo", [])]
)
@given(st.booleans(), st.lists(STEPS, max_size=25))
def test_connection_answers_any_sequence_as_the_model_does(is_logged_in: bool, steps: list[Step]) -> None:
    with network() as world:
        peer, model = world.log_in(), Model()
        for number, (name, cuts) in enumerate([*(LOGIN if is_logged_in else []), *steps], 1000):
            now_ms = round(world.loop.time() * 1000)
            if name == "answer":
                if world.later and not peer.is_closed:
                    model.answer(world.answer())
            elif name in WAITS_MS:
                world.loop.advance(WAITS_MS[name])
            elif not peer.is_closed and (model.is_over or model.under_way < _MOST_UNDER_WAY):
                data = FRAMES[name] or frame(LATER if name == "later" else ECHO, number)
                peer.send_cut(data, cuts)
                model.take(name, number, now_ms)
            world.loop.turn()
            model.elapse(round(world.loop.time() * 1000))
            assert peer.answered == model.sent
            assert peer.is_closed == model.is_closed
    assert set(world.principals) <= {"User:alice", "User:bob", "User:ANONYMOUS"}

"""Tests of the debug lines that say why a connection is not read. Operators search for them: see operations.md."""

import asyncio
import logging
import struct
from collections.abc import Callable, Iterator

import pytest
from pybroker.broker.network.admission.read_pause import ReadPause
from pybroker.broker.network.frame_gate import GateReply
from pybroker.broker.network.frame_reader import FIRST_READ, FREE_TINY_READS
from pybroker.broker.network.request import LaterReply, Reply, ReplyPart, Request
from pybroker.broker.network.settings import NetworkSettings
from support.in_process.network_peer import ECHO, PRODUCE, frame
from support.in_process.scripted_gate import ScriptedGate
from support.time.virtual_network import VirtualNetwork, VirtualPeer

LOGGER = "pybroker.broker.network.admission.read_pause"


@pytest.fixture
def peer(caplog: pytest.LogCaptureFixture) -> VirtualPeer:
    """A client of a broker that answers PRODUCE half a second later, and has one produce request in work at most."""

    def handler(request: Request) -> Reply:
        parts: list[ReplyPart] = [struct.pack(">i", request.correlation_id)]
        if request.api_key != PRODUCE:
            return parts
        future: asyncio.Future[None] = network.loop.create_future()
        network.loop.call_later(0.5, future.set_result, None)
        return LaterReply(future, lambda: parts)

    network = VirtualNetwork(NetworkSettings(max_idle_ms=-1, max_queued_requests=1), handler)
    caplog.set_level(logging.DEBUG, LOGGER)
    return network.connect()


def send(peer: VirtualPeer, *pieces: bytes) -> None:
    for piece in pieces:
        peer.send(piece)
        peer.deliver(len(piece))


def wait_for_admission(peer: VirtualPeer) -> Iterator[None]:
    peer.connection.wait_for_admission()
    yield
    peer.connection.admit()


def do_not_read_responses(peer: VirtualPeer) -> Iterator[None]:
    peer.reads_answers = False
    send(peer, frame(ECHO, 1))
    yield
    peer.read_answers()


def send_more_produce_requests_than_may_be_in_work(peer: VirtualPeer) -> Iterator[None]:
    send(peer, frame(PRODUCE, 1), frame(PRODUCE, 2))
    yield


def send_more_than_is_read_in_one_iteration(peer: VirtualPeer) -> Iterator[None]:
    send(peer, frame(PRODUCE, 1, bytes(2 * FIRST_READ))[:FIRST_READ])
    yield


def send_single_bytes(peer: VirtualPeer) -> Iterator[None]:
    send(peer, *(bytes([byte]) for byte in frame(ECHO, 1)[: FREE_TINY_READS + 1]))
    yield


def take_a_step_of_the_login(peer: VirtualPeer) -> Iterator[None]:
    decided = peer.network.loop.create_future()
    gate = ScriptedGate(peer.connection.info)
    gate.answer = lambda _frame: GateReply(LaterReply(decided, lambda: [struct.pack(">i", 1)]))
    peer.connection._requests.frame_gate = gate
    send(peer, frame(ECHO, 1))
    yield
    decided.set_result(None)


REASONS: dict[ReadPause, Callable[[VirtualPeer], Iterator[None]]] = {
    ReadPause.CONNECTION_LIMIT: wait_for_admission,
    ReadPause.RESPONSES: do_not_read_responses,
    ReadPause.MEMORY: send_more_produce_requests_than_may_be_in_work,
    ReadPause.QUEUED: send_more_than_is_read_in_one_iteration,
    ReadPause.THROTTLED: send_single_bytes,
    ReadPause.LOGIN: take_a_step_of_the_login,
}
"""Each makes the broker stop reading until its ``yield``. The rest ends the pause, if time alone does not."""


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.name)
def test_each_reason_not_to_read_is_logged_when_it_begins_and_when_it_ends(
    peer: VirtualPeer, caplog: pytest.LogCaptureFixture, reason: ReadPause
) -> None:
    caplog.clear()
    steps = REASONS[reason](peer)
    next(steps)
    of_peer = f"Reading of {peer.connection.info}"
    assert caplog.messages[-1] == f"{of_peer} is paused; all reasons now: {reason!r}"
    next(steps, None)
    peer.network.loop.advance(1000)
    assert f"{of_peer}: {reason!r} ended; reasons left: {ReadPause(0)!r}" in caplog.messages


def test_closing_is_logged_as_a_reason_not_to_read(peer: VirtualPeer, caplog: pytest.LogCaptureFixture) -> None:
    peer.connection.abort()
    line = f"Reading of {peer.connection.info} is paused; all reasons now: {ReadPause.CLOSING!r}"
    assert line in caplog.messages


def test_each_reason_has_a_test() -> None:
    assert set(REASONS) | {ReadPause.CLOSING} == set(ReadPause)


def test_reasons_are_not_logged_above_debug_level(peer: VirtualPeer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.clear()
    caplog.set_level(logging.INFO, LOGGER)
    peer.connection.wait_for_admission()
    assert caplog.messages == []

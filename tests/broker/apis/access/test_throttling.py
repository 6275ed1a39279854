"""A throttled client is told for how long at once, and its connection is not read meanwhile (KIP-219)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.broker.network.admission.read_pause import ReadPause
from pybroker.broker.network.request import CloseConnectionError, ConnectionInfo, LaterReply, Request
from pybroker.broker.network.settings import NetworkSettings
from pybroker.broker.requests.context import EncodedResponse, RequestContext
from pybroker.broker.requests.dispatch import Dispatcher
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import decode
from pybroker.protocol.errors import GroupAuthorizationError
from pybroker.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from pybroker.protocol.messages.produce import ProduceRequest
from support.clients.wire_frames import request_frame
from support.examples import examples
from support.time.virtual_network import VirtualNetwork, VirtualPeer

VERSION = 2
TOLD_MS = 250


class Encoded(EncodedResponse):
    def encode_body(self, throttle_time_ms: int) -> bytes:
        return throttle_time_ms.to_bytes(4, "big")


def dispatched(handler: Callable[[RequestContext, Any], Any], key: ApiKey, frame: bytes) -> tuple[Any, list[float]]:
    """The reply, and for how long the connection was not read, each time that this was said."""
    muted: list[float] = []
    info = ConnectionInfo("CLIENTS", "PLAINTEXT", ("here", 9092), ("there", 1))
    info.throttle = muted.append
    version = int.from_bytes(frame[6:8], "big")
    request = Request(int(key), version, 7, "c", 11, bytearray(frame[4:]), info, 0)
    return Dispatcher({key: handler})(request), muted


def list_groups(handler: Callable[[RequestContext, Any], Any]) -> tuple[Any, list[float]]:
    return dispatched(handler, ApiKey.LIST_GROUPS, request_frame(ListGroupsRequest(), VERSION, 7, "c"))


def told_ms(parts: list[Any]) -> int:
    body = b"".join(bytes(part) for part in parts)[4:]
    return int(decode(ListGroupsResponse, body, VERSION).throttle_time_ms)


@given(st.lists(st.integers(0, 10_000), max_size=4))
def test_longest_throttle_time_is_told_and_kept(times_ms: list[int]) -> None:
    def handler(context: RequestContext, _request: Any) -> ListGroupsResponse:
        for each in times_ms:
            context.throttle(each)
        return ListGroupsResponse()

    parts, muted = list_groups(handler)
    longest_ms = max(times_ms, default=0)
    assert told_ms(parts) == longest_ms
    assert muted == ([longest_ms / 1000] if longest_ms else [])


def test_error_response_throttles_too() -> None:
    def handler(context: RequestContext, _request: Any) -> ListGroupsResponse:
        context.throttle(TOLD_MS)
        raise GroupAuthorizationError

    parts, muted = list_groups(handler)
    assert (told_ms(parts), muted) == (TOLD_MS, [TOLD_MS / 1000])


def test_response_that_its_handler_encodes_throttles_too() -> None:
    def handler(context: RequestContext, _request: Any) -> Encoded:
        context.throttle(TOLD_MS)
        return Encoded()

    parts, muted = list_groups(handler)
    assert parts[0][-4:] == TOLD_MS.to_bytes(4, "big")
    assert muted == [TOLD_MS / 1000]


async def test_late_response_throttles_when_it_is_there() -> None:
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def handler(context: RequestContext, _request: Any) -> Any:
        answer.add_done_callback(lambda _done: context.throttle(TOLD_MS))
        return answer

    reply, muted = list_groups(handler)
    assert isinstance(reply, LaterReply)
    assert muted == []
    answer.set_result(ListGroupsResponse())
    await asyncio.sleep(0)
    parts = reply.settle()
    assert parts is not None
    assert (told_ms(parts), muted) == (TOLD_MS, [TOLD_MS / 1000])


async def test_response_of_a_coroutine_throttles_too() -> None:
    async def handler(context: RequestContext, _request: Any) -> ListGroupsResponse:
        context.throttle(TOLD_MS)
        return ListGroupsResponse()

    reply, muted = list_groups(handler)
    assert told_ms(await reply) == TOLD_MS
    assert muted == [TOLD_MS / 1000]


def test_request_without_a_response_throttles_too() -> None:
    """Produce with acks=0."""

    def handler(context: RequestContext, _request: Any) -> None:
        context.throttle(TOLD_MS)

    frame = request_frame(ProduceRequest(acks=0, timeout_ms=1), 7, 7, "c")
    assert dispatched(handler, ApiKey.PRODUCE, frame) == (None, [TOLD_MS / 1000])


def test_request_that_closes_its_connection_throttles_nothing() -> None:
    def handler(context: RequestContext, _request: Any) -> None:
        context.throttle(TOLD_MS)
        raise CloseConnectionError("as the test wants")

    with pytest.raises(CloseConnectionError):
        list_groups(handler)


def throttling_peer(times_ms: list[int]) -> tuple[VirtualPeer, list[float]]:
    """A client whose requests are throttled in turn; and when each was carried out, in ms."""
    started_ms: list[float] = []

    def handler(context: RequestContext, _request: Any) -> ListGroupsResponse:
        started_ms.append(network.loop.time() * 1000)
        context.throttle(times_ms[len(started_ms) - 1])
        return ListGroupsResponse()

    network = VirtualNetwork(NetworkSettings(max_idle_ms=-1), Dispatcher({ApiKey.LIST_GROUPS: handler}))
    return network.connect(), started_ms


@settings(max_examples=examples(50))
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=6), st.booleans())
def test_next_request_is_carried_out_no_earlier_than_told_and_none_is_lost(times_ms: list[int], at_once: bool) -> None:
    peer, started_ms = throttling_peer(times_ms)
    frames = [request_frame(ListGroupsRequest(), VERSION, number, "c") for number in range(len(times_ms))]
    for frame in [b"".join(frames)] if at_once else frames:
        peer.send(frame)
    while len(peer.answered) < len(times_ms):
        if peer.is_readable:
            peer.deliver(65_536)
        else:
            peer.network.loop.next_timer()
    assert peer.answered == list(range(len(times_ms)))
    for told, before_ms, after_ms in zip(times_ms, started_ms, started_ms[1:], strict=False):
        assert after_ms >= before_ms + told - 0.001


def test_response_is_sent_before_the_throttle_time_begins() -> None:
    peer, _ = throttling_peer([60_000])
    peer.send(request_frame(ListGroupsRequest(), VERSION, 3, "c"))
    peer.deliver(65_536)
    assert peer.answered == [3]
    assert ReadPause.THROTTLED in peer.connection.read_pause

"""Tests that responses to requests of one read leave together."""

import pytest
from pybroker.broker.network.request_timer import RequestTimer
from pybroker.broker.requests.request_times import RequestTimes
from support.in_process.network_peer import ECHO, frame, serving


class Recording:
    """A transport that remembers the size of each write."""

    def __init__(self, write: object, writes: list[int]) -> None:
        self._write = write
        self._writes = writes

    def write(self, data: bytes) -> None:
        self._writes.append(len(data))
        self._write(data)  # type: ignore[operator]


@pytest.mark.parametrize("timer", [None, RequestTimes()], ids=["untimed", "timed"])
async def test_pipelined_requests_are_answered_in_one_write(timer: RequestTimer | None) -> None:
    async with serving(timer=timer) as server:
        peer = await server.connect()
        await server.settle()
        (connection,) = server.listeners.connections()
        writes: list[int] = []
        write = connection._transport.write
        connection._writer._transport = Recording(write, writes)  # type: ignore[assignment]
        peer.send(*(frame(ECHO, number, b"x" * 10) for number in range(30)))
        assert await peer.answers(30) == list(range(30))
        assert len(writes) == 1

"""Tests of the memory limits for requests and responses, over real sockets."""

import struct
from itertools import count

import pytest
from pybroker.broker.network.admission.gate import LARGE_BYTES
from pybroker.broker.network.admission.memory import DECODED_BYTES_PER_BYTE
from pybroker.broker.network.admission.read_pause import ReadPause
from pybroker.broker.network.frame_reader import FIRST_ALLOCATION
from pybroker.broker.network.settings import NetworkSettings
from pybroker.broker.network.socket_states import closed_by_peer
from support.in_process.network_peer import ECHO, LATER, PRODUCE, STUCK, WORK, frame, serving, until, warnings

MIB = 1024 * 1024


async def test_huge_announced_size_takes_at_most_128_kib() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(struct.pack(">i", 100 * MIB) + b"some bytes, then silence")
        await until(lambda: server.listeners.request_bytes > 0)
        await server.settle()
        assert server.listeners.request_bytes <= 128 * 1024
        await peer.close()
        await until(lambda: server.listeners.connection_count == 0)
        assert server.listeners.request_bytes == 0


async def test_produce_request_counts_as_memory_until_it_is_answered() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(PRODUCE, 1, b"x" * MIB), frame(LATER, 2, b"x" * MIB))
        await server.handler.has_started(2)
        assert MIB < server.listeners.request_bytes < 2 * MIB  # only produce handlers use the frame itself
        server.handler.answer(1)
        server.handler.answer(2)
        await peer.answers(2)
        assert server.listeners.request_bytes == 0


async def test_connections_that_hold_memory_are_not_read_over_queued_max_request_bytes() -> None:
    async with serving(NetworkSettings(max_queued_bytes=3 * MIB)) as server:
        peers = [await server.connect() for _ in range(3)]
        for number, peer in enumerate(peers):
            peer.send(*(frame(PRODUCE, 10 * number + turn, b"x" * MIB) for turn in range(4)))
        await server.handler.has_started(3)
        await server.settle()
        # Each had at most one more frame on its way when the limit was reached.
        assert 3 * MIB < server.listeners.request_bytes < 8 * MIB
        started = len(server.handler.requests)
        assert started < 8
        other = await server.connect()
        other.send(frame(ECHO, 77))  # a follower's fetch, for example, must get through
        assert await other.answers(1) == [77]
        done = 0
        while done < 12:
            await server.handler.has_started(done + 2)  # the ECHO counts too
            server.handler.answer(server.handler.started_of(PRODUCE)[done])
            done += 1
        for number, peer in enumerate(peers):
            assert await peer.answers(4) == [10 * number + turn for turn in range(4)]
        assert server.listeners.request_bytes == 0


async def test_connection_is_not_read_over_queued_max_requests() -> None:
    async with serving(NetworkSettings(max_queued_requests=3)) as server:
        peer = await server.connect()
        for number in range(4):
            peer.send(frame(PRODUCE, number))
            await server.handler.has_started(number + 1)
        await server.settle()
        assert server.listeners.connections()[0].read_pause == ReadPause.MEMORY
        peer.send(frame(PRODUCE, 4))
        await server.settle()
        assert len(server.handler.requests) == 4
        server.handler.answer(0)
        await server.handler.has_started(5)
        assert await peer.answers(1) == [0]


async def test_responses_behind_a_pending_response_count_as_unsent(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(NetworkSettings(max_unsent_bytes=4 * MIB)) as server:
        peer = await server.connect()
        unsent = server.listeners._resources.memory.responses
        peer.send(frame(LATER, 1), *(frame(ECHO, number, bytes(MIB)) for number in (2, 3)))
        await server.handler.has_started(3)
        assert 2 * MIB <= unsent.used_bytes < 3 * MIB
        server.handler.answer(1)
        assert await peer.answers(3) == [1, 2, 3]
        await until(lambda: unsent.used_bytes == 0)
        peer.send(frame(LATER, 4), *(frame(ECHO, number, bytes(MIB)) for number in range(5, 10)))
        assert await peer.is_closed()
        assert "pybroker.unsent.max.bytes" in warnings(caplog.records)[0]
        await until(lambda: unsent.used_bytes == 0)


async def test_response_that_is_ready_before_an_earlier_one_counts_until_it_is_sent() -> None:
    async with serving() as server:
        peer = await server.connect()
        unsent = server.listeners._resources.memory.responses
        peer.send(frame(LATER, 1), frame(LATER, 2))
        await server.handler.has_started(2)
        server.handler.answer(2, bytes(MIB))
        await until(lambda: unsent.used_bytes >= MIB)
        server.handler.answer(1)
        assert await peer.answers(2) == [1, 2]
        await until(lambda: unsent.used_bytes == 0)


async def test_partial_frames_that_fill_the_memory_are_completed_one_after_another() -> None:
    async with serving(NetworkSettings(max_queued_bytes=2 * MIB)) as server:
        peers = [await server.connect() for _ in range(4)]
        whole = frame(ECHO, 1, b"x" * (4 * MIB))
        for peer in peers:
            peer.send(whole[: MIB + 1])
        await until(lambda: server.listeners.request_bytes > 2 * MIB)
        for peer in peers:
            peer.send(whole[MIB + 1 :])
        for peer in peers:
            assert await peer.answers(1) == [1]
        assert server.listeners.request_bytes == 0


async def test_requests_that_wait_for_a_future_do_not_count_as_decoded_memory() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(LATER, 1))
        await server.handler.has_started(1)
        memory = server.listeners._resources.memory
        assert memory.decoded.used_bytes == memory.administration.used_bytes == 0
        peer.send(frame(STUCK, 2))
        await server.handler.has_started(2)
        assert memory.decoded.used_bytes > 0
        server.listeners._resources.kill_tasks()


async def test_partial_request_behind_long_polls_counts_in_the_account_of_responses() -> None:
    calls = count()
    async with serving(NetworkSettings(max_parked_requests=2), work_time_s=lambda: next(calls) * 0.0003) as server:
        peer = await server.connect()
        unsent = server.listeners._resources.memory.responses
        peer.send(frame(LATER, 1) + frame(LATER, 2) + frame(ECHO, 3, bytes(20_000))[:10_000])
        await server.handler.has_started(2)
        await until(lambda: unsent.used_bytes >= 10_000)
        assert server.listeners.request_bytes == 0


@pytest.mark.parametrize("is_large", [True, False])
async def test_request_that_waits_for_memory_is_dropped_when_its_client_hangs_up(is_large: bool) -> None:
    """Nobody would read the response."""
    size = LARGE_BYTES + 1000 if is_large else LARGE_BYTES - 1000
    async with serving(NetworkSettings(max_decoded_bytes=size * DECODED_BYTES_PER_BYTE)) as server:
        first, second, third, gone, patient = [await server.connect() for _ in range(5)]
        await until(lambda: len(server.listeners.connections()) == 5)  # the server accepts them later
        before = [first] if is_large else [first, second, third]  # small ones wait only over twice the limit
        for number, peer in enumerate(before):
            peer.send(frame(STUCK, number, bytes(size)))
            await server.handler.has_started(number + 1)
        for number, peer in enumerate((gone, patient), 3):
            peer.send(frame(STUCK, number, bytes(size)))
        await server.settle()
        connections = len(server.listeners.connections())
        await gone.close()
        await until(lambda: len(server.listeners.connections()) < connections)
        server.listeners._resources.kill_tasks()
        await until(lambda: 4 in server.handler.started)
        assert 3 not in server.handler.started


async def test_large_request_waits_over_the_limit_of_decoded_requests_until_another_ends() -> None:
    size = LARGE_BYTES + 1000
    async with serving(NetworkSettings(max_decoded_bytes=2 * size * DECODED_BYTES_PER_BYTE)) as server:
        first, second, third, other = [await server.connect() for _ in range(4)]
        for number, peer in enumerate((first, second, third)):
            peer.send(frame(STUCK, number, bytes(size)))
            await server.settle()
        other.send(frame(WORK, 3, bytes(2000)))
        assert await other.answers(1) == [3]
        assert server.handler.started_of(STUCK) == [0, 1]
        assert size <= server.listeners.request_bytes < size + 1000
        server.listeners._resources.kill_tasks()
        await until(lambda: server.handler.started_of(STUCK) == [0, 1, 2])
        assert server.listeners.request_bytes == 0


@pytest.mark.parametrize("is_whole", [True, False])
async def test_complete_request_sent_before_a_hang_up_is_served_when_memory_is_free(is_whole: bool) -> None:
    """The client asked for no response (acks=0)."""
    async with serving(NetworkSettings(max_queued_bytes=MIB)) as server:
        request = frame(PRODUCE, 2, b"x" * 300_000)
        full = 4 + FIRST_ALLOCATION
        other, peer = await server.connect(), await server.connect()
        filler = await server.connect()
        for each in (other, peer):
            each.send(request[:full])
        await until(lambda: all(c.partial_bytes == FIRST_ALLOCATION for c in server.listeners.connections()[:2]))
        filler.send(frame(PRODUCE, 1, b"x" * MIB))
        await server.handler.has_started(1)
        reading, connection = server.listeners.connections()[:2]
        other.send(request[full : full + FIRST_ALLOCATION])  # one at a time may exceed the limit
        await until(lambda: reading.partial_bytes == 2 * FIRST_ALLOCATION)
        peer.send(request[full : full + FIRST_ALLOCATION])
        await until(lambda: connection.read_pause == ReadPause.MEMORY)
        peer.send(request[full + FIRST_ALLOCATION :] if is_whole else request[full + FIRST_ALLOCATION : -1])
        await peer.close()
        await until(lambda: bool(closed_by_peer([connection.descriptor])))
        connection.peer_has_closed()
        assert connection.read_pause == ReadPause.MEMORY
        server.handler.answer(1)
        if is_whole:
            await server.handler.has_started(2)
            server.handler.answer(2)
        await until(lambda: server.listeners.connection_count == 2)

"""queued.max.request.bytes and queued.max.requests, over real sockets."""

import struct
from itertools import count

import pytest
from pybroker.broker.network.decoded_requests import DECODED_FOR_A_BYTE
from pybroker.broker.network.heavy_requests import HEAVY_BYTES
from pybroker.broker.network.holds import Hold
from pybroker.broker.network.settings import NetworkSettings
from pybroker.broker.network.socket_states import hung_up
from support.in_process.network_peer import ECHO, LATER, PRODUCE, STUCK, WORK, frame, serving, until, warnings

MIB = 1024 * 1024


async def test_a_huge_announcement_takes_no_memory() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(struct.pack(">i", 100 * MIB) + b"some bytes, then silence")
        await until(lambda: server.listeners.request_bytes > 0)
        await server.settle()
        assert server.listeners.request_bytes <= 128 * 1024
        await peer.close()
        await until(lambda: server.listeners.connection_count == 0)
        assert server.listeners.request_bytes == 0


async def test_a_request_counts_until_it_is_answered() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(PRODUCE, 1, b"x" * MIB), frame(LATER, 2, b"x" * MIB))
        await server.handler.has_started(2)
        assert MIB < server.listeners.request_bytes < 2 * MIB  # only a produce request is worked with where it lies
        server.handler.answer(1)
        server.handler.answer(2)
        await peer.answers(2)
        assert server.listeners.request_bytes == 0


async def test_over_the_limit_those_who_hold_memory_are_not_read() -> None:
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
        other.send(frame(ECHO, 77))  # a fetch of a follower, say: it must get through
        assert await other.answers(1) == [77]
        done = 0
        while done < 12:
            await server.handler.has_started(done + 2)  # with the ECHO
            server.handler.answer(server.handler.started_of(PRODUCE)[done])
            done += 1
        for number, peer in enumerate(peers):
            assert await peer.answers(4) == [10 * number + turn for turn in range(4)]
        assert server.listeners.request_bytes == 0


async def test_over_the_limit_of_requests_they_are_not_read_either() -> None:
    async with serving(NetworkSettings(max_queued_requests=3)) as server:
        peer = await server.connect()
        for number in range(4):
            peer.send(frame(PRODUCE, number))
            await server.handler.has_started(number + 1)
        await server.settle()
        assert server.listeners.connections()[0].held == Hold.MEMORY
        peer.send(frame(PRODUCE, 4))
        await server.settle()
        assert len(server.handler.requests) == 4
        server.handler.answer(0)
        await server.handler.has_started(5)
        assert await peer.answers(1) == [0]


async def test_answers_behind_one_that_is_waited_for_count_as_not_sent(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(NetworkSettings(max_unsent_bytes=4 * MIB)) as server:
        peer = await server.connect()
        unsent = server.listeners._resources.unsent
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


async def test_an_answer_that_comes_before_its_turn_counts_until_it_leaves() -> None:
    async with serving() as server:
        peer = await server.connect()
        unsent = server.listeners._resources.unsent
        peer.send(frame(LATER, 1), frame(LATER, 2))
        await server.handler.has_started(2)
        server.handler.answer(2, bytes(MIB))
        await until(lambda: unsent.used_bytes >= MIB)
        server.handler.answer(1)
        assert await peer.answers(2) == [1, 2]
        await until(lambda: unsent.used_bytes == 0)


async def test_half_frames_that_fill_the_memory_are_finished_one_after_another() -> None:
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


async def test_a_request_that_has_had_its_turn_as_a_heavy_one_needs_no_other_when_there_is_room_for_it() -> None:
    """Else it might wait for either, whenever it has the other, for ever."""
    now_s = 0.0

    def work() -> None:
        nonlocal now_s
        now_s += 1.0

    limits = NetworkSettings(max_decoded_bytes=21_000 * DECODED_FOR_A_BYTE)
    async with serving(limits, work_time_s=lambda: now_s) as server:
        server.handler.work = work
        zeroth, first, second, slow, third = [await server.connect() for _ in range(5)]
        zeroth.send(frame(STUCK, 0, bytes(15_000)))
        first.send(frame(STUCK, 1, bytes(15_000)))
        await server.handler.has_started(2)
        second.send(frame(STUCK, 2, bytes(20_000)))
        await server.settle()
        slow.send(frame(WORK, 3))
        assert await slow.answers(1) == [3]
        third.send(frame(ECHO, 4, bytes(20_000)))
        server.listeners._resources.kill_tasks()
        await until(lambda: server.handler.started_of(STUCK)[2:] == [2])
        assert 4 not in server.handler.started


async def test_fetches_and_members_that_wait_are_in_no_account_of_what_is_decoded() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(LATER, 1))
        await server.handler.has_started(1)
        decoded = server.listeners._resources.decoded
        assert not list(decoded)
        peer.send(frame(STUCK, 2))
        await server.handler.has_started(2)
        assert [account.used_bytes > 0 for account in decoded] == [True]
        server.listeners._resources.kill_tasks()


async def test_half_a_request_behind_long_polls_that_took_two_turns_to_start_counts_as_what_waits() -> None:
    calls = count()
    async with serving(NetworkSettings(max_parked_requests=2), work_time_s=lambda: next(calls) * 0.0003) as server:
        peer = await server.connect()
        unsent = server.listeners._resources.unsent
        peer.send(frame(LATER, 1) + frame(LATER, 2) + frame(ECHO, 3, bytes(20_000))[:10_000])
        await server.handler.has_started(2)
        await until(lambda: unsent.used_bytes >= 10_000)
        assert server.listeners.request_bytes == 0


async def test_a_large_request_that_goes_on_lets_no_other_large_one_begin() -> None:
    async with serving() as server:
        first, second, small = [await server.connect() for _ in range(3)]
        first.send(frame(STUCK, 1, bytes(20_000)))
        await server.handler.has_started(1)
        second.send(frame(ECHO, 2, bytes(20_000)))
        small.send(frame(ECHO, 3))
        assert await small.answers(1) == [3]
        await server.settle()
        assert server.handler.started == [1, 3]
        server.listeners._resources.kill_tasks()
        assert await second.answers(1) == [2]


@pytest.mark.parametrize("size", [20_000, 2000])
async def test_what_waits_for_its_turn_is_dropped_when_its_peer_hangs_up(size: int) -> None:
    """As a large one, or because those of its API fill their account. Nobody would read the answer."""
    async with serving(NetworkSettings(max_decoded_bytes=size * DECODED_FOR_A_BYTE)) as server:
        first, second, gone, patient = [await server.connect() for _ in range(4)]
        first.send(frame(STUCK, 1, bytes(size - 100)))
        await server.handler.has_started(1)
        if size < HEAVY_BYTES:
            second.send(frame(STUCK, 2, bytes(size - 100)))
            await server.handler.has_started(2)
        for number, peer in enumerate((gone, patient), 3):
            peer.send(frame(STUCK, number, bytes(size - 100)))
        await server.settle()
        connections = len(server.listeners.connections())
        await gone.close()
        await until(lambda: len(server.listeners.connections()) < connections)
        server.listeners._resources.kill_tasks()
        await until(lambda: 4 in server.handler.started)
        assert 3 not in server.handler.started


async def test_over_the_limit_of_what_is_decoded_a_request_waits_until_another_of_its_api_is_done() -> None:
    async with serving(NetworkSettings(max_decoded_bytes=3000 * DECODED_FOR_A_BYTE)) as server:
        first, second, third, other = [await server.connect() for _ in range(4)]
        for number, peer in enumerate((first, second, third)):
            peer.send(frame(STUCK, number, bytes(2000)))
            await server.settle()
        other.send(frame(WORK, 3, bytes(2000)))
        assert await other.answers(1) == [3]
        assert server.handler.started_of(STUCK) == [0, 1]
        assert 2000 <= server.listeners.request_bytes < 3000
        server.listeners._resources.kill_tasks()
        await until(lambda: server.handler.started_of(STUCK) == [0, 1, 2])
        assert server.listeners.request_bytes == 0


@pytest.mark.parametrize("is_whole", [True, False])
async def test_of_a_client_that_hung_up_what_came_whole_is_served_when_there_is_memory(is_whole: bool) -> None:
    """It has asked for no answer (acks=0)."""
    async with serving(NetworkSettings(max_queued_bytes=MIB)) as server:
        request = frame(PRODUCE, 2, b"x" * 50_000)
        other, peer = await server.connect(), await server.connect()
        filler = await server.connect()
        for each in (other, peer):
            each.send(request[:20_000])
        await until(lambda: all(each.half_frame_bytes for each in server.listeners.connections()[:2]))
        filler.send(frame(PRODUCE, 1, b"x" * MIB))
        await server.handler.has_started(1)
        reading, connection = server.listeners.connections()[:2]
        other.send(request[20_000:20_001])  # one at a time is read on
        await until(lambda: reading.frame_bytes > 20_000 - 4)
        peer.send(request[20_000:20_001])
        await until(lambda: connection.held == Hold.MEMORY)
        peer.send(request[20_001:] if is_whole else request[20_001:-1])
        await peer.close()
        await until(lambda: bool(hung_up([connection.descriptor])))
        connection.peer_has_hung_up()
        assert (Hold.CLOSING in connection.held) is not is_whole
        server.handler.answer(1)
        if is_whole:
            await server.handler.has_started(2)
            server.handler.answer(2)
        await until(lambda: server.listeners.connection_count == 2)

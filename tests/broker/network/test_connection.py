"""Tests of the requests and responses of one connection, over real sockets."""

import asyncio
import gc
import logging
import struct
import weakref
from pathlib import Path

import pytest
from pybroker.broker.network.admission.fair_queue import QUANTUM_S
from pybroker.broker.network.admission.read_pause import ReadPause
from pybroker.broker.network.settings import NetworkSettings
from support.in_process.network_peer import (
    CLOSE,
    COROUTINE,
    ECHO,
    FAIL,
    LATER,
    PRODUCE,
    REGIONS,
    SILENT,
    UNKNOWN,
    WORK,
    Server,
    Stretch,
    frame,
    serving,
    until,
    warnings,
    write_file,
)


def held(server: Server) -> ReadPause:
    return server.listeners.connections()[0].read_pause


async def test_handler_receives_a_request_with_its_header_body_and_connection_details() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(ECHO, 17, b"body", client_id="Zoë".encode()))
        assert await peer.answer() == (17, b"body")
        (request,) = server.handler.requests
        assert (request.api_key, request.api_version, request.correlation_id) == (ECHO, 0, 17)
        assert request.client_id == "Zoë"
        assert bytes(request.body) == b"body"
        assert request.frame[request.header_size :] == b"body"
        assert request.received_ms == 1_700_000_000_000
        connection = request.connection
        assert (connection.peer_host, connection.local_host) == ("127.0.0.1", "127.0.0.1")
        assert connection.local_port == server.endpoint.port
        assert connection.peer_port == peer.writer.get_extra_info("sockname")[1]
        assert (connection.listener_name, connection.security_protocol) == ("TEST", "PLAINTEXT")
        assert str(connection.principal) == "User:ANONYMOUS"


async def test_handler_can_modify_the_request_body_in_place() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(PRODUCE, 1, b"body"))
        await server.handler.has_started(1)
        request = server.handler.requests[0]
        request.body[:2] = b"BO"
        server.handler.answer(1, request.body)
        assert await peer.answer() == (1, b"BOdy")


async def test_client_id_can_be_null_can_change_and_has_invalid_utf8_replaced() -> None:
    async with serving() as server:
        peer = await server.connect()
        for number, name in enumerate([b"a", None, b"", b"\xff", b"a"]):
            peer.send(frame(ECHO, number, client_id=name))
        await peer.answers(5)
        assert [request.client_id for request in server.handler.requests] == ["a", None, "", "\ufffd", "a"]


async def test_long_client_ids_reach_the_handler_and_are_not_kept_by_the_connection() -> None:
    async with serving() as server:
        peer = await server.connect()
        names = [b"a", b"x" * 257, b"x" * 30_000, b"x" * 257, b"a", b"y" * 256]
        for number, name in enumerate(names):
            peer.send(frame(ECHO, number, client_id=name))
            await peer.answers(1)
            (connection,) = server.listeners.connections()
            assert connection._requests.client_id in (None, "a", "y" * 256)
        assert [request.client_id for request in server.handler.requests] == [name.decode() for name in names]


@pytest.mark.parametrize("size", [0, 1, 4000, 65_536, 300_000, 5_000_000])
async def test_requests_and_responses_of_any_size_are_transferred_unchanged(size: int) -> None:
    body = bytes(range(251)) * (size // 251 + 1)
    async with serving() as server:
        peer = await server.connect()
        for number in range(3):
            peer.send(frame(ECHO, number, body[:size]))
            assert await peer.answer() == (number, body[:size])


async def test_request_that_arrives_byte_by_byte_is_answered() -> None:
    async with serving() as server:
        peer = await server.connect()
        for byte in frame(ECHO, 1, b"slow"):
            peer.send(bytes([byte]))
            await asyncio.sleep(0)
        assert await peer.answer() == (1, b"slow")


async def test_responses_leave_in_the_order_of_the_requests() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(LATER, 1), frame(ECHO, 2), frame(LATER, 3), frame(COROUTINE, 4), frame(ECHO, 5))
        await server.handler.has_started(5)
        server.handler.answer(3)
        await server.settle()
        server.handler.answer(1)
        assert await peer.answers(5) == [1, 2, 3, 4, 5]


async def test_requests_start_while_earlier_requests_are_parked() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(*(frame(LATER, number) for number in range(5)))
        await server.handler.has_started(5)
        for number in reversed(range(5)):
            server.handler.answer(number)
        assert await peer.answers(5) == list(range(5))


async def test_requests_without_a_response_are_skipped_in_the_order_of_responses() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(ECHO, 1), frame(SILENT, 2), frame(LATER, 3), frame(SILENT, 4), frame(ECHO, 5))
        await server.handler.has_started(5)
        server.handler.answer(3)
        assert await peer.answers(3) == [1, 3, 5]


async def test_future_that_resolves_to_no_response_is_skipped_in_the_order_of_responses() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(LATER, 1), frame(ECHO, 2))
        await server.handler.has_started(2)
        server.handler.later[1].set_result(None)
        assert await peer.answers(1) == [2]


async def test_connection_must_queue_its_next_request_after_a_coroutine_that_held_the_loop() -> None:
    """It does not matter in which of its steps the coroutine holds the loop."""
    now_s = 0.0

    def work() -> None:
        nonlocal now_s
        now_s += 0.01

    async with serving(stopwatch_s=lambda: now_s, work_time_s=lambda: now_s) as server:
        server.handler.work = work
        peer, other = await server.connect(), await server.connect()
        other.send(frame(ECHO, 99))
        await other.answers(1)
        peer.send(frame(WORK, 1))
        assert await peer.answers(1) == [1]
        peer.send(frame(ECHO, 2))
        for number in range(20):
            other.send(frame(ECHO, 100 + number))
            await other.answers(1)
        assert 2 not in server.handler.started
        now_s += 0.021  # twice the time that the coroutine took
        assert await peer.answers(1) == [2]
        peer.send(frame(ECHO, 3))
        assert await peer.answers(1) == [3]


async def test_request_of_many_short_steps_puts_its_connection_in_debt() -> None:
    now_s = 0.0

    def work() -> None:
        nonlocal now_s
        now_s += 0.0002

    async with serving(work_time_s=lambda: now_s) as server:
        server.handler.work, server.handler.steps = work, 10
        peer, other = await server.connect(), await server.connect()
        peer.send(frame(WORK, 1))
        assert await peer.answers(1) == [1]
        other.send(frame(WORK, 2))
        assert await other.answers(1) == [2]
        queue = server.listeners._resources.gate.queue
        assert [queue.is_in_debt(connection.share) for connection in server.listeners.connections()] == [True, True]


@pytest.mark.parametrize(
    ("api_key", "lasted_s", "work_s", "is_heavy"),
    [
        (WORK, 1.0, 0.0009, False),
        (WORK, 0.0, 0.0011, True),
        (REGIONS, 1.0, 0.0049, False),
        (REGIONS, 0.0, 0.0051, True),
    ],
)
async def test_request_is_charged_for_its_work_time_and_not_for_its_wall_time(
    api_key: int, lasted_s: float, work_s: float, is_heavy: bool
) -> None:
    times_s = {"wall": 0.0, "work": 0.0}

    def work() -> None:
        times_s["wall"] += lasted_s
        times_s["work"] += work_s

    async with serving(stopwatch_s=lambda: times_s["wall"], work_time_s=lambda: times_s["work"]) as server:
        server.handler.work = work
        peer = await server.connect()
        peer.send(frame(api_key, 1))
        assert await peer.answers(1) == [1]
        peer.send(frame(ECHO, 2))
        if not is_heavy:
            assert await peer.answers(1) == [2]
        else:
            await server.settle()
            assert 2 not in server.handler.started
            times_s["wall"] += 1.0
            assert await peer.answers(1) == [2]


async def test_steps_of_many_coroutines_are_spread_over_iterations_of_the_loop() -> None:
    loop = asyncio.get_running_loop()
    now_s = 0.0
    steps_of_turns = [0]

    def work() -> None:
        nonlocal now_s
        now_s += QUANTUM_S
        steps_of_turns[-1] += 1

    def next_turn() -> None:
        steps_of_turns.append(0)
        loop.call_soon(next_turn)

    async with serving(work_time_s=lambda: now_s) as server:
        server.handler.work, server.handler.steps = work, 10
        peers = [await server.connect() for _ in range(20)]
        next_turn()
        for peer in peers:
            peer.send(frame(WORK, 1))
        for peer in peers:
            assert await peer.answers(1) == [1]
    assert sum(steps_of_turns) == 20 * 10
    assert max(steps_of_turns) <= 2  # one queued step, and one that starts at once in a new iteration


async def test_coroutine_begins_before_the_next_request_starts() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(COROUTINE, 1), frame(ECHO, 2))
        assert await peer.answers(2) == [1, 2]
        assert server.handler.began == 1


async def test_reading_stops_at_max_parked_requests_and_resumes_when_responses_leave() -> None:
    async with serving(NetworkSettings(max_parked_requests=3)) as server:
        peer = await server.connect()
        peer.send(*(frame(LATER, number) for number in range(10)))
        await server.handler.has_started(3)
        await server.settle()
        assert server.handler.started == [0, 1, 2]
        assert held(server) == ReadPause.RESPONSES
        server.handler.answer(1)  # not the first: its response frees no place before it has left
        await server.settle()
        assert len(server.handler.requests) == 3
        server.handler.answer(0)
        await server.handler.has_started(5)
        await server.settle()
        assert server.handler.started == [0, 1, 2, 3, 4]
        for number in range(2, 10):
            await server.handler.has_started(number + 1)
            server.handler.answer(number)
        assert await peer.answers(10) == list(range(10))
        assert held(server) == ReadPause(0)


async def test_connection_at_its_limit_of_parked_requests_is_not_read() -> None:
    async with serving(NetworkSettings(max_parked_requests=1)) as server:
        peer = await server.connect()
        peer.send(frame(LATER, 1))
        await server.handler.has_started(1)
        peer.send(*[frame(ECHO, 2, b"x" * 1_000_000)] * 20)
        await server.settle()
        (connection,) = server.listeners.connections()
        assert server.listeners.request_bytes == 0
        assert peer.writer.transport.get_write_buffer_size() > 10_000_000  # everything is still in the client
        server.handler.answer(1)
        assert await peer.answers(21) == [1] + [2] * 20
        assert connection.read_pause == ReadPause(0)


async def test_client_that_reads_no_responses_is_not_read() -> None:
    async with serving() as server:
        peer = await server.connect(receive_buffer_bytes=4096)
        peer.send(*(frame(ECHO, number, b"x" * 100_000) for number in range(200)))
        await until(lambda: bool(server.listeners.connections()) and ReadPause.RESPONSES in held(server))
        await server.settle()
        (connection,) = server.listeners.connections()
        assert connection._transport.get_write_buffer_size() < 500_000
        assert len(server.handler.requests) < 100
        assert await peer.answers(200) == list(range(200))
        await until(lambda: held(server) == ReadPause(0))


@pytest.mark.parametrize(
    ("garbage", "words"),
    [
        (frame(UNKNOWN, 1), "no API with key 999"),
        (struct.pack(">i", 100 * 1024 * 1024 + 1) + b"x", "socket.request.max.bytes"),
        (struct.pack(">i", -5), "socket.request.max.bytes"),
        (struct.pack(">i", 3) + b"abc", "too few"),
        (struct.pack(">i", 12) + bytes([0, 3, 0, 0, 0, 0, 0, 1, 0, 9, 1, 1]), "client id"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "TLS hello"),
        (b"GET / HTTP/1.1\r\n\r\n", "HTTP request"),
    ],
)
async def test_garbage_closes_the_connection_and_logs_one_warning(
    garbage: bytes, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as server:
        other = await server.connect()
        peer = await server.connect()
        peer.send(garbage)
        await peer.reader.read()
        (line,) = warnings(caplog.records)
        assert words in line
        assert "127.0.0.1:" in line
        assert "listener TEST" in line
        other.send(frame(ECHO, 1))
        assert await other.answers(1) == [1]


async def test_requests_before_garbage_are_answered_before_the_connection_closes() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(LATER, 1), frame(ECHO, 2), struct.pack(">i", -1))
        await server.handler.has_started(2)
        server.handler.answer(1)
        assert await peer.answers(2) == [1, 2]
        assert await peer.is_closed()


async def test_requests_after_one_of_an_unknown_api_are_not_handled() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(ECHO, 1), frame(UNKNOWN, 2), frame(ECHO, 3))
        assert await peer.answers(1) == [1]
        assert await peer.is_closed()
        assert server.handler.started == [1]


async def test_http_request_gets_a_400_response_that_names_kafka() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = await peer.reader.read()
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"Kafka" in answer
        head, _, body = answer.partition(b"\r\n\r\n")
        assert f"Content-Length: {len(body)}".encode() in head


async def test_http_request_after_a_kafka_request_closes_the_connection() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(ECHO, 1))
        await peer.answer()
        peer.send(b"GET / HTTP/1.1\r\n\r\n")
        assert await peer.is_closed()


async def test_repeated_offences_of_one_host_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as server:
        for _ in range(20):
            peer = await server.connect()
            peer.send(struct.pack(">i", -1))
            assert await peer.is_closed()
        assert len(warnings(caplog.records)) == 1


async def test_failing_handler_closes_only_its_own_connection(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as server:
        peer, other = await server.connect(), await server.connect()
        peer.send(frame(LATER, 1), frame(FAIL, 2), frame(ECHO, 3))
        await server.handler.has_started(2)
        server.handler.answer(1)
        assert await peer.answers(1) == [1]
        assert await peer.is_closed()
        (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
        assert "API 7" in record.getMessage()
        assert "client id test" in record.getMessage()
        assert record.exc_info is not None
        other.send(frame(ECHO, 1))
        assert await other.answers(1) == [1]


async def test_failed_future_closes_the_connection_after_the_responses_before_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(LATER, 1), frame(LATER, 2), frame(LATER, 3))
        await server.handler.has_started(3)
        server.handler.later[2].set_exception(ValueError("as the test wants"))
        server.handler.answer(3)
        server.handler.answer(1)
        assert await peer.answers(1) == [1]
        assert await peer.is_closed()
        assert len(warnings(caplog.records)) == 1


async def test_cancelled_future_closes_the_connection() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(LATER, 1))
        await server.handler.has_started(1)
        server.handler.later[1].cancel()
        assert await peer.is_closed()


async def test_handler_can_close_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(ECHO, 1), frame(CLOSE, 2), frame(ECHO, 3))
        assert await peer.answers(1) == [1]
        assert await peer.is_closed()
        (line,) = warnings(caplog.records)
        assert "as the test wants" in line


async def test_responses_to_a_disconnected_client_are_dropped_and_their_memory_is_freed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(LATER, 1), frame(PRODUCE, 2, b"x" * 1000))
        await server.handler.has_started(2)
        await peer.close()
        await until(lambda: server.listeners.connection_count == 0)
        assert server.listeners.request_bytes > 1000  # the produce handler still uses its frame
        server.handler.answer(1)
        server.handler.answer(2)
        await server.settle()
        assert server.listeners.request_bytes == 0
        assert warnings(caplog.records) == []


async def test_requests_sent_before_a_hang_up_are_still_handled() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(*(frame(SILENT, number) for number in range(100)))
        await peer.close()
        await server.handler.has_started(100)


async def test_queued_produce_requests_sent_before_a_hang_up_are_still_handled() -> None:
    """The client expects no responses (acks=0)."""
    async with serving(NetworkSettings(max_parked_requests=2)) as server:
        peer = await server.connect()
        peer.send(*(frame(PRODUCE, number) for number in range(1, 6)))
        await server.handler.has_started(2)
        (connection,) = server.listeners.connections()
        await peer.close()
        for number in range(1, 6):
            connection.peer_has_closed()
            await server.handler.has_started(number)
            server.handler.later.pop(number).set_result(None)
        await until(lambda: server.listeners.connection_count == 0)


async def test_throttled_connection_gets_its_responses_but_is_not_read() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(LATER, 1))
        await server.handler.has_started(1)
        connection = server.listeners.connections()[0]
        server.handler.requests[0].connection.throttle(3600)
        peer.send(frame(ECHO, 2))
        server.handler.answer(1)
        assert await peer.answers(1) == [1]
        await server.settle()
        assert server.handler.started == [1]
        assert connection.read_pause == ReadPause.THROTTLED
        server.handler.requests[0].connection.throttle(0)  # a shorter throttle time does not end a longer one
        await server.settle()
        assert connection.read_pause == ReadPause.THROTTLED


async def test_throttled_connection_is_read_again_when_its_throttle_time_is_over() -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(ECHO, 1))
        await peer.answer()
        server.handler.requests[0].connection.throttle(0.001)
        peer.send(frame(ECHO, 2))
        assert await peer.answers(1) == [2]


@pytest.mark.parametrize("api_key", [ECHO, COROUTINE, WORK, REGIONS])
async def test_closed_connection_is_freed_without_a_garbage_collection(api_key: int, tmp_path: Path) -> None:
    """Attackers open thousands of connections a second, and each garbage collection would have to look for them."""
    async with serving() as server:
        write_file(tmp_path / "file", 100_000)
        with (tmp_path / "file").open("rb") as file:
            server.handler.regions = [Stretch(file.fileno(), 0, 100_000)]
            peer = await server.connect()
            peer.send(frame(api_key, 1, bytes(100)))
            assert await peer.answers(1) == [1]
            (connection,) = map(weakref.ref, server.listeners.connections())
            gc.collect()
            gc.disable()
            try:
                await peer.close()
                await until(lambda: server.listeners.connection_count == 0)
                server.handler.requests.clear()
                await until(lambda: connection() is None)
            finally:
                gc.enable()


async def test_closed_connection_is_freed_when_its_last_request_fails(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL + 1)  # the traceback of a log record would refer to the connection
    async with serving() as server:
        peer = await server.connect()
        peer.send(frame(LATER, 1))
        await server.handler.has_started(1)
        (connection,) = map(weakref.ref, server.listeners.connections())
        await peer.close()
        await until(lambda: server.listeners.connection_count == 0)
        server.handler.requests.clear()
        server.handler.later.pop(1).set_exception(ValueError("as the test wants"))
        await settled()
        gc.collect()
        assert connection() is None


async def settled() -> None:
    """Let the callbacks that are ready run, and the callbacks that they schedule."""
    for _ in range(5):
        await asyncio.sleep(0)

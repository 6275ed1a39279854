"""The times of requests in their phases, over real sockets. The clock moves on by 1 with each reading."""

import math
from itertools import count
from pathlib import Path

import pytest
from pybroker.broker.network.request import Request
from pybroker.broker.network.request_timer import NOT_PROMPT
from pybroker.broker.requests.request_times import ApiTimes, RequestTimes
from support.in_process.network_peer import (
    COROUTINE,
    ECHO,
    FAIL,
    LATER,
    PRODUCE,
    REGIONS,
    SILENT,
    Stretch,
    frame,
    serving,
    until,
    write_file,
)

NAMES = {
    PRODUCE: "Produce",
    REGIONS: "FetchConsumer",
    ECHO: "Metadata",
    LATER: "LeaderAndIsr",
    COROUTINE: "StopReplica",
    SILENT: "UpdateMetadata",
}


class Times(RequestTimes):
    def __init__(self) -> None:
        ticks = count(1)
        super().__init__(lambda: float(next(ticks)))

    def __getitem__(self, api_key: int) -> ApiTimes:
        (found,) = (times for times in self.apis() if times.name == NAMES[api_key])
        return found

    @property
    def counts(self) -> dict[str, int]:
        return {times.name: times.total.count for times in self.apis()}


def check_phases_add_up(times: RequestTimes) -> None:
    for api in times.apis():
        phases = (api.queue, api.local, api.remote, api.response_queue, api.send)
        assert math.isclose(sum(phase.sum for phase in phases), api.total.sum), api.name
        assert api.total.count == api.local.count == api.send.count == api.request_bytes.count


async def test_request_answered_at_once_has_a_local_and_a_send_time_alone() -> None:
    times = Times()
    async with serving(timer=times) as server:
        peer = await server.connect()
        sent = frame(ECHO, 1, b"body")
        peer.send(sent)
        await peer.answer()
        await until(lambda: bool(times.counts))
        api = times[ECHO]
        assert (api.local.sum, api.send.sum, api.total.sum) == (1, 1, 2)
        assert [each.count for each in (api.queue, api.remote, api.response_queue, api.throttle)] == [0, 0, 0, 0]
        assert api.request_bytes.sum == len(sent) - 4


async def test_request_that_waits_has_a_remote_time_until_it_is_answered() -> None:
    times = Times()
    async with serving(timer=times) as server:
        peer = await server.connect()
        peer.send(frame(PRODUCE, 1))
        await server.handler.has_started(1)
        for _ in range(100):
            times.now_s()
        server.handler.answer(1)
        await peer.answer()
        await until(lambda: bool(times.counts))
        api = times[PRODUCE]
        assert api.local.sum == 1
        assert api.remote.sum == 101
        check_phases_add_up(times)


async def test_response_behind_an_unanswered_request_waits_in_the_response_queue() -> None:
    times = Times()
    async with serving(timer=times) as server:
        peer = await server.connect()
        peer.send(frame(LATER, 1), frame(ECHO, 2))
        await server.handler.has_started(2)
        for _ in range(100):
            times.now_s()
        server.handler.answer(1)
        assert await peer.answers(2) == [1, 2]
        await until(lambda: len(times.counts) == 2)
        assert times[LATER].remote.sum > 100
        assert times[LATER].response_queue.count <= 1
        assert times[ECHO].response_queue.sum > 100
        assert times[ECHO].queue.count == 1, "it came with the first one, and was started after it"
        check_phases_add_up(times)


async def test_large_response_is_sent_when_its_client_has_read_most_of_it(tmp_path: Path) -> None:
    content = write_file(tmp_path / "records", 8 << 20)
    times = Times()
    async with serving(timer=times) as server:
        with (tmp_path / "records").open("rb") as file:
            server.handler.regions = [Stretch(file.fileno(), 0, len(content))]
            peer = await server.connect(receive_buffer_bytes=4096)
            peer.send(frame(REGIONS, 1))
            await server.handler.has_started(1)
            await server.settle()
            assert "FetchConsumer" not in times.counts
            assert await peer.answer() == (1, content)
            await until(lambda: "FetchConsumer" in times.counts)
    assert times[REGIONS].send.sum > 5
    assert times.counts["Fetch"] == 1
    check_phases_add_up(times)


async def test_request_without_a_response_is_finished_when_it_is_handled() -> None:
    times = Times()
    async with serving(timer=times) as server:
        peer = await server.connect()
        peer.send(frame(SILENT, 1), frame(COROUTINE, 2), frame(PRODUCE, 3))
        await server.handler.has_started(3)
        server.handler.later.pop(3).set_result(None)
        assert await peer.answers(1) == [2]
        await until(lambda: len(times.counts) == 3)
        assert times.counts == {"UpdateMetadata": 1, "StopReplica": 1, "Produce": 1}
        assert times[SILENT].send.sum == 0
        check_phases_add_up(times)


async def test_failed_request_and_a_lost_connection_are_not_counted() -> None:
    times = Times()
    async with serving(timer=times) as server:
        peer = await server.connect()
        peer.send(frame(FAIL, 1))
        assert await peer.is_closed()
        other = await server.connect()
        other.send(frame(PRODUCE, 2))
        await server.handler.has_started(2)
        await other.close()
        await until(lambda: not server.listeners.connections())
        server.handler.answer(2)
        await server.settle()
        assert set(times.counts) == {"ApiVersions"}


async def test_observers_see_slow_requests_and_each_request_with_their_sizes() -> None:
    times = Times()
    slow: list[Request] = []
    each: list[Request] = []
    times.watch_slow(50_000, lambda request, sent_s: slow.append(request))
    async with serving(timer=times) as server:
        peer = await server.connect()
        peer.send(frame(ECHO, 1), frame(LATER, 2))
        await server.handler.has_started(2)
        times.watch_all(lambda request, sent_s: each.append(request))
        for _ in range(50):
            times.now_s()
        server.handler.answer(2, b"answer")
        assert await peer.answers(2) == [1, 2]
        await until(lambda: bool(each))
        times.watch_all(None)
        peer.send(frame(ECHO, 3))
        await peer.answer()
    assert [request.correlation_id for request in slow] == [2]
    assert [request.correlation_id for request in each] == [2]
    assert (slow[0].frame_bytes, slow[0].response_bytes) == (len(frame(LATER, 2)) - 4, 10)
    assert not slow[0].frame, "the frame is freed"


@pytest.mark.parametrize("replica_id", [True, False])
def test_fetches_count_by_their_sender_and_together(replica_id: bool) -> None:
    times = RequestTimes(lambda: 0.0)
    request = Request(1, 12, 1, "c", 0, bytearray(), None, 0)  # type: ignore[arg-type]
    request.is_from_follower = replica_id
    times.finished([(request, 1.0, 1.0, 2.0, 10, 20)], 4.0)
    found = {api.name: api.total.sum for api in times.apis()}
    assert found == {"FetchFollower" if replica_id else "FetchConsumer": 3.0, "Fetch": 3.0}


def test_many_prompt_requests_count_as_the_same_requests_one_by_one() -> None:
    prompt, late = RequestTimes(lambda: 0.0), RequestTimes(lambda: 0.0)
    for number in range(3000):
        request = Request(3, 12, number, "c", 0, bytearray(), None, 0)  # type: ignore[arg-type]
        received_s, started_s, handled_s = 1.0, 1.0 + number % 2, 2.0 + number % 7
        entry = (request, received_s, started_s, handled_s, 10 + number % 3, 20)
        prompt.finished([entry], 12.0)
        request.received_s, request.started_s = received_s, started_s
        request.handled_s = request.answered_s = request.sending_s = handled_s
        request.frame_bytes = 10 + number % 3
        late.finished([(request, NOT_PROMPT, 0.0, 0.0, 0, 0)], 12.0)
    (one,), (other,) = prompt.apis(), late.apis()
    for phase in ("total", "queue", "local", "send"):
        assert one.phase(phase).counts == other.phase(phase).counts
    assert one.request_bytes.counts == other.request_bytes.counts

"""Quotas of clients at the dispatcher: throttle times in responses, and throttled connections."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest
from pybroker.broker.network.request import ConnectionInfo, LaterReply, Request
from pybroker.broker.quotas.client_quotas import ClientQuotas
from pybroker.broker.quotas.quota_entity import DEFAULT, QuotaEntity
from pybroker.broker.quotas.quota_type import QuotaType
from pybroker.broker.quotas.sampled_rate import Windows
from pybroker.broker.requests.between_brokers import BetweenBrokers
from pybroker.broker.requests.context import Handler
from pybroker.broker.requests.dispatch import Dispatcher
from pybroker.broker.requests.throttling import EXEMPT_APIS, Throttling
from pybroker.broker.security.principal import USER, Principal
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import decode, encode
from pybroker.protocol.errors import ErrorCode, InvalidRequestError
from pybroker.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pybroker.protocol.messages.produce import ProduceRequest, ProduceResponse


class Client:
    """A client of a dispatcher whose stopwatch moves by ``work_s`` at each reading."""

    def __init__(self, user: str = "ann") -> None:
        self.quotas = ClientQuotas(Windows(), Windows())
        self.now_ms = 0
        self.work_s = 0.0
        self._worked_s = 0.0
        self.throttling = Throttling(self.quotas, lambda: self.now_ms, self._stopwatch_s)
        self.pauses_s: list[float] = []
        self.connection = ConnectionInfo("PLAINTEXT", "PLAINTEXT", ("127.0.0.1", 9092), ("127.0.0.1", 40000))
        self.connection.principal = Principal(USER, user)
        self.connection.throttle = self.pauses_s.append

    def limit(self, quota_type: QuotaType, bound: float) -> None:
        self.quotas.set_limits(QuotaEntity(DEFAULT), {quota_type: bound})

    def _stopwatch_s(self) -> float:
        self._worked_s += self.work_s
        return self._worked_s

    async def ask(self, key: ApiKey, version: int, message: Any, handler: Handler) -> Any:
        frame = bytearray(encode(message, version))
        reply: Any = Dispatcher({key: handler}, throttling=self.throttling)(
            Request(key, version, 7, "client", 0, frame, self.connection, 0)
        )
        if isinstance(reply, LaterReply):
            await asyncio.wait([reply.future])
            reply = reply.settle()
        if isinstance(reply, Awaitable):
            reply = await reply
        if reply is None:
            return None
        header_bytes = 5 if API_SPECS[key].response_header_version(version) else 4
        return decode(API_SPECS[key].response_type(), b"".join(reply)[header_bytes:], version)

    async def heartbeat(
        self, handler: Handler = lambda _context, _request: HeartbeatResponse(), version: int = 4
    ) -> Any:
        return await self.ask(ApiKey.HEARTBEAT, version, HeartbeatRequest(group_id="g", member_id="m"), handler)

    async def produce(self, response: ProduceResponse | None, acks: int = 1) -> Any:
        return await self.ask(ApiKey.PRODUCE, 9, ProduceRequest(acks=acks), lambda _context, _request: response)


def at_once(_context: object, _request: object) -> HeartbeatResponse:
    return HeartbeatResponse()


async def later(_context: object, _request: object) -> HeartbeatResponse:
    for _ in range(3):
        await asyncio.sleep(0)
    return HeartbeatResponse()


async def failing_later(_context: object, _request: object) -> HeartbeatResponse:
    await asyncio.sleep(0)
    raise InvalidRequestError()


def failing(_context: object, _request: object) -> HeartbeatResponse:
    raise InvalidRequestError()


async def test_nothing_is_throttled_without_quotas() -> None:
    client = Client()
    client.work_s = 1e6
    for _ in range(3):
        assert (await client.heartbeat()).throttle_time_ms == 0
    assert client.pauses_s == []


@pytest.mark.parametrize("handler", [at_once, later, failing, failing_later])
async def test_time_on_the_loop_throttles_the_client_from_its_next_response_on(handler: Handler) -> None:
    client = Client()
    client.limit(QuotaType.REQUEST, 50.0)
    client.work_s = 6.0
    await client.heartbeat(handler)
    client.now_ms += 5
    assert (await client.heartbeat(handler)).throttle_time_ms == 1_000, "one window at most"
    assert client.pauses_s[-1] == 1.0


async def test_work_counts_at_its_own_time_and_not_at_that_of_a_later_response() -> None:
    client = Client()
    client.limit(QuotaType.REQUEST, 50.0)
    client.work_s = 0.02
    for _ in range(300):
        await client.produce(None, acks=0)
        client.now_ms += 1_000
    assert (await client.heartbeat()).throttle_time_ms == 0, "2 % of the time"
    client.work_s = 6.0
    await client.heartbeat()
    client.now_ms += 3_600_000
    client.work_s = 0.0
    assert (await client.heartbeat()).throttle_time_ms == 0, "an hour later"


async def test_each_step_of_a_coroutine_counts_once() -> None:
    client = Client()
    client.limit(QuotaType.REQUEST, 1e9)
    client.work_s = 0.1
    await client.heartbeat(later)
    client.work_s = 0.0
    await client.heartbeat(at_once)  # records what the request before it has used
    (rate,) = client.quotas.rates[QuotaType.REQUEST]._rates._counters.values()
    assert rate.measure(0, Windows()).per_second * 10 == pytest.approx(5 * 10.0), "the call, and four steps"


async def test_a_version_without_the_field_is_throttled_all_the_same() -> None:
    client = Client()
    client.limit(QuotaType.REQUEST, 0.0)
    client.work_s = 1.0
    await client.heartbeat(version=0)
    await client.heartbeat(version=0)
    assert client.pauses_s == [1.0]


async def test_the_bytes_of_a_produce_request_throttle_its_own_response() -> None:
    client = Client()
    client.limit(QuotaType.PRODUCE, 0.1)
    size_bytes = len(encode(ProduceRequest(acks=1), 9))
    response = await client.produce(ProduceResponse())
    assert response.throttle_time_ms == pytest.approx((size_bytes / 10 - 0.1) / 0.1 * 10_000, abs=1)
    assert client.pauses_s == [response.throttle_time_ms / 1000]


async def test_a_produce_request_without_acks_is_throttled_for_its_bytes_only() -> None:
    client = Client()
    client.quotas.set_limits(QuotaEntity("ann"), {QuotaType.REQUEST: 0.0})
    client.work_s = 1.0
    for _ in range(3):
        assert await client.produce(None, acks=0) is None
    assert client.pauses_s == []
    client.quotas.set_limits(QuotaEntity("ann"), {QuotaType.PRODUCE: 0.1})
    client.now_ms = 1
    assert await client.produce(None, acks=0) is None
    assert len(client.pauses_s) == 1


async def test_the_longer_of_two_throttle_times_counts() -> None:
    client = Client()
    client.quotas.set_limits(QuotaEntity("ann"), {QuotaType.REQUEST: 0.0, QuotaType.PRODUCE: 0.1})
    client.work_s = 1.0
    times_ms = [(await client.produce(ProduceResponse())).throttle_time_ms for _ in range(2)]
    assert min(times_ms) > 1_000
    client.quotas.set_limits(QuotaEntity("ann"), {QuotaType.REQUEST: 0.0, QuotaType.PRODUCE: 1e9})
    assert (await client.produce(ProduceResponse())).throttle_time_ms == 1_000


async def test_another_user_is_not_throttled() -> None:
    client = Client("bob")
    client.quotas.set_limits(QuotaEntity("ann"), {QuotaType.PRODUCE: 0.0})
    assert (await client.produce(ProduceResponse())).throttle_time_ms == 0


@pytest.mark.parametrize("key", sorted(EXEMPT_APIS))
async def test_requests_of_brokers_are_exempt(key: ApiKey) -> None:
    client = Client()
    client.limit(QuotaType.REQUEST, 0.0)
    client.work_s = 1.0
    spec = API_SPECS[key]
    request, response = spec.request_type()(), spec.response_type()()
    handler = BetweenBrokers(lambda _context, _request: response, ("PLAINTEXT",))
    for _ in range(2):
        await client.ask(key, spec.max_version, request, handler)
    assert client.pauses_s == []
    assert not client.quotas.rates[QuotaType.REQUEST]._rates._counters


async def test_a_client_that_sends_requests_of_brokers_is_throttled() -> None:
    client = Client()
    client.limit(QuotaType.REQUEST, 0.0)
    client.work_s = 1.0
    key = ApiKey.STOP_REPLICA
    spec = API_SPECS[key]
    handler = BetweenBrokers(lambda _context, _request: spec.response_type()(), ("BROKERS",))
    for _ in range(2):
        response = await client.ask(key, spec.max_version, spec.request_type()(), handler)
        assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert client.pauses_s == [1.0]

"""Fetches of consumers over their quota: empty responses, sessions that go on, bytes that do not count."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.broker.quotas.quota_type import QuotaType
from pybroker.broker.security.principal import ANONYMOUS
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from support.in_process.fetching_consumer import Consumer, values_by_partition
from support.in_process.quotas import Limited
from support.in_process.replicas import Replicas

VERSION = 12


class LimitedConsumer(Limited):
    def __init__(self, replicas: Replicas) -> None:
        super().__init__()
        self.consumer = Consumer(replicas, throttling=self.throttling)

    def limit_fetches(self, bound: float) -> None:
        self.limit({QuotaType.FETCH: bound})

    def values(self, *, session: tuple[int, int] = (0, -1), replica_id: int = -1) -> list[list[bytes | None]]:
        offsets = [0] if session[1] <= 0 else []
        self.response = self.consumer.answer(
            *offsets,
            version=VERSION,
            session=session,
            replica_id=replica_id,
            context=self.context(ApiKey.FETCH, VERSION),
        )
        return values_by_partition(self.response)


@pytest.fixture
async def limited(tmp_path: Path) -> AsyncIterator[LimitedConsumer]:
    replicas = Replicas(tmp_path)
    await replicas.order()
    yield LimitedConsumer(replicas)
    replicas.close()


async def test_a_fetch_over_the_quota_is_empty_and_its_bytes_do_not_count(limited: LimitedConsumer) -> None:
    size_bytes = limited.consumer.produce(b"x" * 1000)
    limited.limit_fetches((size_bytes + 100) / 10)
    assert limited.values() == [[b"x" * 1000]]
    assert limited.request.throttle_time_ms == 0
    limited.now_ms += 1_500
    for _ in range(3):
        assert limited.values() == []
        assert limited.response.error_code == ErrorCode.NONE
        assert limited.request.throttle_time_ms > 0
    limited.now_ms += 9_500
    assert limited.values() == [[b"x" * 1000]]


async def test_a_throttled_session_goes_on_where_it_was(limited: LimitedConsumer) -> None:
    limited.consumer.produce(b"a" * 100)
    assert limited.values(session=(0, 0)) == [[b"a" * 100]]
    session_id = limited.response.session_id
    limited.limit_fetches(0.0)
    for epoch in (1, 2):
        assert limited.values(session=(session_id, epoch)) == []
        assert (limited.response.error_code, limited.response.session_id) == (ErrorCode.NONE, session_id)
        assert limited.request.throttle_time_ms > 0
    limited.limit_fetches(1e9)
    assert limited.values(session=(session_id, 3)) == [[b"a" * 100]]


async def test_a_throttled_first_fetch_opens_no_session(limited: LimitedConsumer) -> None:
    limited.consumer.produce(b"a")
    limited.limit_fetches(0.0)
    assert limited.values(session=(0, 0)) == []
    assert (limited.response.error_code, limited.response.session_id) == (ErrorCode.NONE, 0)


async def test_an_error_of_a_session_is_told_to_a_throttled_client(limited: LimitedConsumer) -> None:
    limited.limit_fetches(0.0)
    limited.values(session=(77, 1))
    assert limited.response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


async def test_a_follower_has_no_quota(limited: LimitedConsumer) -> None:
    limited.consumer.produce(b"a")
    limited.limit({QuotaType.REQUEST: 0.0})
    user = ANONYMOUS
    limited.quotas.rates[QuotaType.REQUEST].record(user.name, "client", 1.0, 0)
    assert limited.values(replica_id=2) != []
    assert limited.request.throttle_time_ms == 0
    assert limited.values() == []


async def test_a_fetch_takes_no_more_bytes_than_the_quota_permits_at_once(limited: LimitedConsumer) -> None:
    sizes = [limited.consumer.produce(b"x" * 1000) for _ in range(3)]
    limited.limit_fetches((sizes[0] + sizes[1] + 100) / 10)
    ((*values,),) = limited.values()
    assert values == [b"x" * 1000] * 2
    assert limited.request.throttle_time_ms == 0


async def test_a_client_that_used_too_much_time_gets_an_empty_response(limited: LimitedConsumer) -> None:
    limited.consumer.produce(b"a")
    limited.limit({QuotaType.REQUEST: 1.0})
    limited.quotas.rates[QuotaType.REQUEST].record(ANONYMOUS.name, "client", 1e6, 0)
    assert limited.values() == []
    assert limited.request.throttle_time_ms == 1_000

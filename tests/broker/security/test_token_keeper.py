"""Tests of the keeper of a broker's token: one fetch at a time, renewals, failures. No test waits for a clock."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable

import pytest
from pybroker.broker.security.sasl.token_keeper import TokenKeeper
from pybroker.broker.security.sasl.token_renewal import RenewalTimes
from pybroker.client.oauth.own_token import OwnToken
from pybroker.client.oauth.token_source import TokenError
from pybroker.protocol.client import BearerToken
from support.in_process.broker_cluster import until

TIMES = RenewalTimes(0.8, 0.05, 60, 300, 100, 10_000)
LIFE_MS = 3_600_000


class Clock:
    def __init__(self) -> None:
        self.now_ms = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now_ms


class Provider:
    """``fetch`` waits for ``goes_on`` in its thread, then raises the next of ``errors``; after them it gives tokens."""

    def __init__(self, clock: Callable[[], int], *errors: Exception) -> None:
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.life_ms = LIFE_MS
        self.calls = 0
        self.in_progress = 0
        self.most_in_progress = 0
        self.threads: set[str] = set()
        self.errors = list(errors)
        self._clock = clock

    def fetch(self) -> OwnToken:
        self.threads.add(threading.current_thread().name)
        self.in_progress += 1
        self.most_in_progress = max(self.most_in_progress, self.in_progress)
        self.goes_on.wait()
        self.in_progress -= 1
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        now_ms = self._clock()
        return OwnToken(BearerToken(f"token{self.calls}"), "broker", now_ms, now_ms + self.life_ms)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def keeper_of(provider: Provider, clock: Clock) -> TokenKeeper:
    return TokenKeeper(provider.fetch, TIMES, clock, lambda: 0.5)


async def test_a_hundred_links_wait_for_one_fetch_outside_the_event_loop(clock: Clock) -> None:
    provider = Provider(clock)
    provider.goes_on.clear()
    keeper = keeper_of(provider, clock)
    links = [asyncio.create_task(keeper.token()) for _ in range(100)]
    await until(lambda: provider.in_progress, "the fetch is under way and the loop goes on")
    provider.goes_on.set()
    assert {token.token for token in await asyncio.gather(*links)} == {"token1"}
    assert (provider.calls, provider.most_in_progress) == (1, 1)
    assert provider.threads == {"pybroker-token"}


async def test_link_that_is_given_up_does_not_end_the_fetch_of_the_others(clock: Clock) -> None:
    provider = Provider(clock)
    provider.goes_on.clear()
    keeper = keeper_of(provider, clock)
    first, second = (asyncio.create_task(keeper.token()) for _ in range(2))
    await until(lambda: provider.in_progress, "the fetch is under way")
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    provider.goes_on.set()
    assert (await second).token == "token1"


async def test_failure_is_told_to_links_at_once_until_the_next_try_is_due(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    provider = Provider(clock, TokenError("the server answered with status 503"))
    keeper = keeper_of(provider, clock)
    for _ in range(3):
        with pytest.raises(ConnectionError, match="no token to log in with: the server answered with status 503"):
            await keeper.token()
    assert provider.calls == 1
    clock.now_ms += 100
    with caplog.at_level(logging.INFO):
        assert (await keeper.token()).token == "token2"
    assert "has a token again to log in to other brokers as 'broker'" in caplog.text


async def test_unexpected_error_is_told_without_its_text(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    keeper = keeper_of(Provider(clock, ValueError("secret")), clock)
    with pytest.raises(ConnectionError, match="ValueError while fetching it"):
        await keeper.token()
    assert "cannot log in to other brokers before it gets a token" in caplog.text
    assert "secret" not in caplog.text


async def test_token_that_arrives_expired_is_a_failure_that_names_the_clocks(clock: Clock) -> None:
    provider = Provider(clock)
    provider.life_ms = 0
    keeper = keeper_of(provider, clock)
    with pytest.raises(ConnectionError, match="expired already; compare the clocks"):
        await keeper.token()
    clock.now_ms += 9_999
    with pytest.raises(ConnectionError):
        await keeper.token()
    assert provider.calls == 1


async def test_token_at_hand_is_used_until_it_ends_while_renewals_fail(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    provider = Provider(clock)
    keeper = keeper_of(provider, clock)
    await keeper.token()
    provider.errors.append(TokenError("away", is_final=True))
    clock.now_ms += LIFE_MS - 10_000
    task = asyncio.create_task(keeper.run())
    await until(lambda: "ends in 10 s and is not renewed yet" in caplog.text, "a warning")
    assert (await keeper.token()).token == "token1"
    clock.now_ms += 10_000
    assert (await keeper.token()).token == "token3"
    task.cancel()


async def test_token_is_renewed_before_it_ends_without_a_link_that_asks() -> None:
    """On the real clock: a token of two seconds is renewed after 1.7."""

    def wall_clock_ms() -> int:
        return time.time_ns() // 1_000_000

    provider = Provider(wall_clock_ms)
    provider.life_ms = 2000
    keeper = TokenKeeper(provider.fetch, TIMES, wall_clock_ms, lambda: 1.0)
    task = asyncio.create_task(keeper.run())
    await until(lambda: provider.calls > 1, "a second token")
    task.cancel()


async def test_thread_that_cannot_start_is_a_failure_like_others(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    keeper = keeper_of(Provider(clock), clock)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(ConnectionError, match="RuntimeError while fetching it"):
        await keeper.token()

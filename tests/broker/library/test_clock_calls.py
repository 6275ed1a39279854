"""Calls of a broker's clock: from coroutines and threads, and with wrong arguments."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from pybroker import Broker
from pybroker.broker.clock.clocks import BlockingClock
from pybroker.broker.library.broker import BlockingBroker

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@pytest.fixture
def broker() -> Iterator[BlockingBroker]:
    with Broker() as broker:
        yield broker


async def test_clock_is_moved_by_coroutines() -> None:
    async with Broker() as broker:
        before_ms = broker.clock.clock_ms()
        await broker.clock.advance(days=1)
        await broker.clock.advance_timers(seconds=46)
        await broker.clock.freeze(before_ms + 2 * DAY_MS)
        assert broker.clock.clock_ms() == before_ms + 2 * DAY_MS
        broker.clock.unfreeze()


@pytest.mark.parametrize("days", [-1, float("nan"), float("inf")])
def test_clock_does_not_go_back(broker: BlockingBroker, days: float) -> None:
    before_ms = broker.clock.clock_ms()
    with pytest.raises(ValueError, match=r"moves ahead only|is a number up to"):
        broker.clock.advance(days=days)
    with pytest.raises(ValueError, match="moves ahead only"):
        broker.clock.advance_timers(-1)
    assert before_ms <= broker.clock.clock_ms() < before_ms + DAY_MS


def test_timers_move_by_a_day_at_most(broker: BlockingBroker) -> None:
    before_ms = broker.clock.clock_ms()
    with pytest.raises(ValueError, match="timers move by one day at most, not by 86400001 ms"):
        broker.clock.advance_timers(ms=DAY_MS + 1)
    assert broker.clock.clock_ms() < before_ms + DAY_MS


def test_text_is_refused_in_place_of_a_tuple_of_silent_members(broker: BlockingBroker) -> None:
    with pytest.raises(TypeError, match="a tuple of ids is wanted"):
        broker.clock.advance_timers(46, silent="client")


def test_time_out_tells_that_the_clock_has_moved(broker: BlockingBroker) -> None:
    before_ms = broker.clock.clock_ms()
    with pytest.raises(TimeoutError, match="the clock has moved, but"):
        broker.clock.advance(days=1, wait_s=0)
    assert broker.clock.clock_ms() >= before_ms + DAY_MS


async def test_blocking_clock_is_refused_on_the_loop_of_its_broker() -> None:
    async with Broker() as broker:
        clock = BlockingClock(broker.clock)
        with pytest.raises(RuntimeError, match="awaiting the methods of TestClock"):
            clock.advance(days=1)
        await asyncio.to_thread(clock.advance, days=1)


def test_moves_from_several_threads_add_up(broker: BlockingBroker) -> None:
    before_ms = broker.clock.clock_ms()
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: broker.clock.advance(days=1), range(4)))
        list(threads.map(lambda _: broker.clock.advance_timers(3600), range(4)))
    assert broker.clock.clock_ms() >= before_ms + 4 * DAY_MS + 4 * HOUR_MS

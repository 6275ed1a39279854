"""Tests of the event loop of virtual time: it runs code as any other loop, but never waits."""

import asyncio
from collections.abc import Iterator

import pytest
from simulation.machines.virtual_loop import CURRENT_HOST, DeadlockError, VirtualLoop, on_host


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


def test_virtual_time_advances_to_the_next_timer(loop: VirtualLoop) -> None:
    async def sleep() -> list[float]:
        times = []
        for seconds in (3600.0, 0.25, 1e6):
            await asyncio.sleep(seconds)
            times.append(loop.time())
        return times

    assert loop.run_until_complete(sleep()) == pytest.approx([3600, 3600.25, 1_003_600.25])


def test_timers_run_in_the_order_of_their_times(loop: VirtualLoop) -> None:
    order: list[int] = []
    for number in (3, 1, 2):
        loop.call_later(number, order.append, number)
    loop.run_until_complete(asyncio.sleep(5))
    assert order == [1, 2, 3]


def test_timeout_ends_a_wait_in_virtual_time(loop: VirtualLoop) -> None:
    async def wait() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await loop.create_future()
        return loop.time()

    assert loop.run_until_complete(wait()) == pytest.approx(10)


def test_waiting_for_an_event_that_never_comes_raises_a_deadlock_error(loop: VirtualLoop) -> None:
    with pytest.raises(DeadlockError):
        loop.run_until_complete(loop.create_future())


def test_virtual_loop_refuses_threads(loop: VirtualLoop) -> None:
    with pytest.raises(NotImplementedError):
        loop.run_in_executor(None, lambda: None)


def test_tasks_and_timers_stay_on_their_machine(loop: VirtualLoop) -> None:
    seen: list[str] = []

    async def work() -> None:
        loop.call_later(1, lambda: seen.append(CURRENT_HOST.get()))
        await asyncio.sleep(2)
        seen.append(CURRENT_HOST.get())

    tasks = [loop.create_task(work(), context=on_host(name)) for name in ("a", "b")]
    loop.run_until_complete(asyncio.gather(*tasks))
    assert seen == ["a", "b", "a", "b"]

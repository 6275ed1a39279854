"""Long work in the worker pool gets few threads and does not delay other steps for long."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest
from pybroker.storage.workers.long_work_queue import LongWorkSource
from pybroker.storage.workers.worker_pool import PoolClosedError, WorkerPool
from support.time.patience import HANGS_AFTER_S, await_that, await_thread


class Gate:
    """A gate at which steps wait until they are let through."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.opened = threading.Event()

    def step(self) -> None:
        self.entered.release()
        assert self.opened.wait(HANGS_AFTER_S)

    def await_entered(self, count: int) -> None:
        for _ in range(count):
            assert self.entered.acquire(timeout=HANGS_AFTER_S)


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    pool = WorkerPool(asyncio.get_running_loop(), 8)
    yield pool
    pool.close()


async def test_other_steps_run_during_long_work(pool: WorkerPool) -> None:
    gate, ran = Gate(), threading.Event()
    for _ in range(100):
        pool.submit_long(gate.step, LongWorkSource())
    gate.await_entered(2)  # a quarter of eight threads
    for _ in range(6):  # as many as would be left at least
        pool.submit(gate.step)
    gate.await_entered(6)
    assert not gate.entered.acquire(blocking=False)
    gate.opened.set()
    pool.submit(ran.set)
    assert ran.wait(HANGS_AFTER_S)


async def test_long_work_alternates_with_other_steps_on_a_single_thread() -> None:
    pool = WorkerPool(asyncio.get_running_loop(), 1)
    gate = Gate()
    pool.submit(gate.step)
    gate.await_entered(1)
    order: list[str] = []
    for _ in range(3):
        pool.submit_long(lambda: order.append("bulk"), LongWorkSource())
    for _ in range(2):
        pool.submit(lambda: order.append("other"))
    done = threading.Event()
    pool.submit_long(done.set, LongWorkSource())
    gate.opened.set()
    assert done.wait(HANGS_AFTER_S)
    pool.close()
    assert order == ["bulk", "other", "other", "bulk", "bulk"]


async def test_source_with_little_work_does_not_wait_for_one_with_much() -> None:
    """Three logs always have records to recompress, and a fourth one sometimes."""
    clock_s = [0.0]
    pool = WorkerPool(asyncio.get_running_loop(), 1, now_s=lambda: clock_s[0])
    order: list[str] = []
    done = threading.Event()

    def add(name: str, source: LongWorkSource, took_s: float, times: int) -> None:
        def step() -> None:
            clock_s[0] += took_s
            order.append(name)
            if times > 1:
                add(name, source, took_s, times - 1)
            elif name == "little":
                done.set()

        pool.submit_long(step, source)

    gate = Gate()
    pool.submit(gate.step)
    gate.await_entered(1)
    for _ in range(3):
        add("much", LongWorkSource(), 1.0, 10)
    add("little", LongWorkSource(), 0.01, 10)
    gate.opened.set()
    assert done.wait(HANGS_AFTER_S)
    pool.close()
    assert order == ["much"] * 3 + ["little"] * 10 + ["much"] * 27


async def test_closing_a_pool_finishes_long_work_and_takes_no_more() -> None:
    pool = WorkerPool(asyncio.get_running_loop(), 4)
    gate = Gate()
    for _ in range(50):
        pool.submit_long(gate.entered.release, LongWorkSource())
    pool.close()
    gate.await_entered(50)
    with pytest.raises(PoolClosedError):
        pool.submit_long(gate.step, LongWorkSource())


async def test_long_work_submitted_while_the_pool_closes_is_refused_and_never_run() -> None:
    pool = WorkerPool(asyncio.get_running_loop(), 8)
    gate, ran = Gate(), threading.Event()
    pool.submit_long(gate.step, LongWorkSource())
    gate.await_entered(1)
    closing = threading.Thread(target=pool.close)
    closing.start()
    await_that(lambda: not pool._threads, "the pool takes nothing")
    with pytest.raises(PoolClosedError):
        pool.submit_long(ran.set, LongWorkSource())
    gate.opened.set()
    await_thread(closing, "closing the pool")
    assert not ran.is_set()


async def test_failing_long_step_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    pool = WorkerPool(asyncio.get_running_loop(), 1)
    ran = threading.Event()

    def fail() -> None:
        raise RuntimeError("on purpose")

    pool.submit_long(fail, LongWorkSource())
    pool.submit_long(ran.set, LongWorkSource())
    assert ran.wait(HANGS_AFTER_S)
    pool.close()
    assert "a step failed" in caplog.text


async def test_killing_a_pool_drops_queued_long_work() -> None:
    pool = WorkerPool(asyncio.get_running_loop(), 1)
    gate, ran = Gate(), threading.Event()
    pool.submit_long(gate.step, LongWorkSource())
    gate.await_entered(1)
    pool.submit_long(ran.set, LongWorkSource())
    killing = threading.Thread(target=pool.kill)  # it waits for the step that runs
    killing.start()
    await_that(lambda: not pool._threads, "what waits is dropped")
    gate.opened.set()
    await_thread(killing, "killing the pool")
    assert not ran.is_set()


async def test_pool_runs_with_as_many_threads_as_the_system_gives(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start, free = threading.Thread.start, 3

    def start_if_a_thread_is_free(thread: threading.Thread) -> None:
        nonlocal free
        if not free:
            raise RuntimeError("can't start new thread")
        free -= 1
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_if_a_thread_is_free)
    pool = WorkerPool(asyncio.get_running_loop(), 2)
    pool.resize(100)
    gate, done = Gate(), threading.Event()
    for _ in range(4):
        pool.submit(gate.step)
    gate.await_entered(3)
    assert "only 3 of 100 threads" in caplog.text
    assert pool.thread_count == 3
    pool.submit(done.set)
    gate.opened.set()
    pool.close()
    assert done.is_set()


async def test_pool_starts_a_thread_only_for_a_step_that_no_thread_is_free_for(pool: WorkerPool) -> None:
    assert len(pool._threads) == 1
    gate = Gate()
    for count in range(1, 11):
        pool.submit(gate.step)
        assert len(pool._threads) == min(count, 8) == min(pool.thread_count, count)
    gate.await_entered(8)
    gate.opened.set()

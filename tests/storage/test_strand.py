"""The strand of a log: the order of its steps, and which of them run on the event loop."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pybroker.protocol.errors import CorruptRecordError, KafkaStorageError, NotLeaderOrFollowerError
from pybroker.protocol.records.compression import Codec
from pybroker.storage.log.inline_append import LARGE_APPEND_BYTES, InlineBudget
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_append import LeaderAppend, LogAppendInfo
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.log.strand import Strand
from pybroker.storage.log_config import LogConfig
from pybroker.storage.producers.producer_state import AppendOrigin
from pybroker.storage.workers.worker_pool import PoolClosedError, WorkerPool
from support.logs.storage_logs import NOW_MS, batch_of, open_log, records_from
from support.logs.storage_pools import ManualPool
from support.time.loop_errors import loop_errors, on_purpose


class Clock:
    def __init__(self) -> None:
        self.now = 100.0
        self.step = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


BIG = "x" * (LARGE_APPEND_BYTES)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return open_log(tmp_path)


@pytest.fixture
def pool() -> ManualPool:
    return ManualPool()


def offset_of(result: LogAppendInfo | Exception) -> int:
    assert isinstance(result, LogAppendInfo)
    return result.first_offset


def append(value: str, leader_epoch: int = 0) -> LeaderAppend:
    return LeaderAppend(batch_of(value), leader_epoch, NOW_MS)


def test_small_append_to_an_idle_strand_is_done_at_once(log: Log, pool: ManualPool) -> None:
    results: list[Any] = []
    Strand(log, pool).append(append("a"), results.append)
    assert isinstance(results[0], LogAppendInfo)
    assert not pool.steps


def test_append_that_needs_a_new_segment_goes_to_the_pool(tmp_path: Path, pool: ManualPool) -> None:
    one = len(append("a").records)
    log = open_log(tmp_path, LogConfig(segment_bytes=2 * one, segment_ms=1000))
    results: list[Any] = []
    strand = Strand(log, pool)
    for _ in range(2):
        strand.append(append("a"), results.append)
    assert not pool.steps
    strand.append(append("a"), results.append)  # there is no space for a third one
    assert pool.steps
    pool.run()
    later = batch_of("a", timestamp_ms=NOW_MS + 2000)
    strand.append(LeaderAppend(later, 0, NOW_MS), results.append)
    assert pool.steps
    pool.run()
    assert [offset_of(result) for result in results] == [0, 1, 2, 3]
    assert [segment.base_offset for segment in log.segments] == [0, 2, 3]


def full_log(tmp_path: Path) -> Log:
    """Return a log whose next append needs a new segment."""
    log = open_log(tmp_path, LogConfig(segment_bytes=len(append("a").records)))
    log.append(append("a"))
    return log


def test_steps_wait_behind_an_append_that_needs_a_new_segment(tmp_path: Path, pool: ManualPool) -> None:
    order: list[Any] = []
    strand = Strand(full_log(tmp_path), pool)
    strand.append(append("b"), lambda result: order.append(offset_of(result)))
    strand.submit(lambda log: log.log_end_offset, lambda end: order.append(("end", end)))
    strand.append(append("c"), lambda result: order.append(offset_of(result)))
    pool.run()
    assert order == [1, ("end", 2), 2]
    assert [value for _, value in records_from(strand.log)] == [b"a", b"b", b"c"]


def test_append_fails_when_the_log_is_closed_before_its_new_segment(tmp_path: Path, pool: ManualPool) -> None:
    results: list[Any] = []
    strand = Strand(full_log(tmp_path), pool)
    strand.append(append("b"), results.append)
    strand.run_now(lambda log: log.close())
    pool.run()
    assert [type(result) for result in results] == [KafkaStorageError]
    assert len(strand.log.segments) == 1


def test_big_append_goes_to_the_pool_and_small_ones_wait_behind_it(log: Log, pool: ManualPool) -> None:
    results: list[Any] = []
    strand = Strand(log, pool)
    for value in (BIG, "b", "c"):
        strand.append(append(value), results.append)
    assert (results, strand.is_idle) == ([], False)
    pool.run()
    assert ([result.first_offset for result in results], strand.is_idle) == ([0, 1, 2], True)
    assert [value for _, value in records_from(log)][1:] == [b"b", b"c"]


def test_steps_keep_their_order_among_appends(log: Log, pool: ManualPool) -> None:
    order: list[Any] = []
    strand = Strand(log, pool)
    strand.append(append(BIG), lambda result: order.append(offset_of(result)))
    strand.submit(lambda log: log.log_end_offset, lambda end: order.append(("end", end)))
    strand.append(append("b"), lambda result: order.append(offset_of(result)))
    strand.submit(lambda log: log.log_end_offset, lambda end: order.append(("end", end)))
    pool.run()
    assert order == [0, ("end", 1), 1, ("end", 2)]


def test_fence_applies_from_its_place_in_the_queue(log: Log, pool: ManualPool) -> None:
    results: list[Any] = []
    strand = Strand(log, pool)
    strand.append(append(BIG, 1), results.append)
    strand.fence(2)
    strand.append(append("late", 1), results.append)
    strand.append(append("new", 2), results.append)
    pool.run()
    assert isinstance(results[0], LogAppendInfo)
    assert isinstance(results[1], NotLeaderOrFollowerError)
    assert isinstance(results[2], LogAppendInfo)
    strand.fence(3)
    strand.append(append("late", 2), results.append)
    assert isinstance(results[3], NotLeaderOrFollowerError)


def test_refused_append_does_not_affect_others(log: Log, pool: ManualPool) -> None:
    results: list[Any] = []
    strand = Strand(log, pool)
    broken = append("b")
    broken.records[30] ^= 1  # type: ignore[index]
    for item in (append(BIG), broken, append("c")):
        strand.append(item, results.append)
    pool.run()
    assert isinstance(results[1], CorruptRecordError)
    assert (results[0].first_offset, results[2].first_offset) == (0, 1)


async def test_failing_callback_does_not_keep_later_callbacks_waiting(log: Log, pool: ManualPool) -> None:
    """The appends are written together."""
    errors = loop_errors()
    results: list[Any] = []
    strand = Strand(log, pool)
    for value, callback in ((BIG, on_purpose), ("b", results.append)):
        strand.append(append(value), callback)
    pool.run()
    assert ([offset_of(result) for result in results], errors) == ([1], ["on purpose"])


def packed(size: int) -> LeaderAppend:
    """Return a batch that a topic with another codec recompresses."""
    return LeaderAppend(batch_of("x" * size, codec=Codec.GZIP), 0, NOW_MS)


def test_appends_that_are_recompressed_are_long_work_one_group_at_a_time(tmp_path: Path, pool: ManualPool) -> None:
    log = open_log(tmp_path, LogConfig(compression_type="lz4"))
    results: list[Any] = []
    strand = Strand(log, pool)
    for _ in range(3):
        strand.append(packed(1 << 16), lambda result: results.append(offset_of(result)))
    strand.append(append("plain"), lambda result: results.append(offset_of(result)))
    strand.submit(lambda log: "a step", results.append)
    strand.append(packed(1 << 16), lambda result: results.append(offset_of(result)))
    for expected in ([0, 1, 2], [0, 1, 2, 3, "a step"], [0, 1, 2, 3, "a step", 4]):
        [step] = pool.steps
        pool.steps.clear()
        step()
        pool.run_posted()
        assert results == expected
    assert (pool.long_count, strand.is_idle) == (2, True)


def test_appends_of_the_broker_itself_are_never_long_work(tmp_path: Path, pool: ManualPool) -> None:
    """Whole consumer groups wait for them."""
    log = open_log(tmp_path, LogConfig(compression_type="lz4"))
    results: list[Any] = []
    Strand(log, pool).append(packed(1 << 16)._replace(origin=AppendOrigin.COORDINATOR), results.append)
    pool.run()
    assert (pool.long_count, offset_of(results[0])) == (0, 0)


class Ending(ManualPool):
    is_closed = False

    def submit(self, step: Callable[[], None]) -> None:
        if self.is_closed:
            raise PoolClosedError
        super().submit(step)


def test_queued_steps_fail_when_log_and_pool_are_closed_meanwhile(log: Log) -> None:
    pool = Ending()
    results: list[Any] = []
    strand = Strand(log, pool)
    strand.submit(lambda log: log.close())
    pool.steps.pop()()  # done, but the strand is not handed back yet
    strand.append(append("a"), results.append)
    pool.is_closed = True
    pool.run()
    assert (str(results[0]), strand.is_idle) == ("topic-0: the log is closed", True)


def test_steps_submitted_after_log_and_pool_are_closed_fail(log: Log) -> None:
    """For example the result of a background sync that the stop did not wait for."""
    pool = Ending()
    results: list[Any] = []
    strand = Strand(log, pool)
    log.close()
    pool.is_closed = True
    strand.submit(lambda log: truncate_to(log, 0, NOW_MS), results.append)
    pool.run()
    assert (str(results[0]), strand.is_idle) == ("topic-0: the log is closed", True)


def test_exception_of_a_step_reaches_its_callback(log: Log, pool: ManualPool, caplog: pytest.LogCaptureFixture) -> None:
    results: list[Any] = []
    strand = Strand(log, pool)
    strand.submit(lambda log: 1 // 0, results.append)
    pool.run()
    assert isinstance(results[0], ZeroDivisionError)
    assert "a step failed" in caplog.text
    strand.append(append("a"), results.append)
    assert isinstance(results[1], LogAppendInfo)


def test_slow_disk_sends_appends_to_the_pool_for_a_while(log: Log, pool: ManualPool) -> None:
    clock = Clock()
    budget = InlineBudget(clock)
    strand = Strand(log, pool, budget)
    results: list[Any] = []
    strand.append(append("fast"), results.append)
    assert len(results) == 1
    be_slow(budget, clock)
    strand.append(append("pool"), results.append)
    assert len(results) == 1
    pool.run()
    assert len(results) == 2
    clock.now += 60
    strand.append(append("again"), results.append)
    assert len(results) == 3


def be_slow(budget: InlineBudget, clock: Clock) -> None:
    for _ in range(2):
        budget.spent(clock.now, clock.now + 0.01)


def pause_of(budget: InlineBudget, clock: Clock) -> float:
    """Return how long appends do not run on the loop from now on, in ms."""
    return next(ms for ms in range(100_000) if clock.now + ms / 1000 >= budget.paused_until) / 1000


def test_repeated_slow_appends_lengthen_the_pause_up_to_a_bound_and_fast_ones_reset_it() -> None:
    clock = Clock()
    budget = InlineBudget(clock)
    pauses = []
    for _ in range(15):
        be_slow(budget, clock)
        pauses.append(pause_of(budget, clock))
    assert pauses[0] > 0
    assert pauses[1] > 1.5 * pauses[0]
    assert max(pauses) < 31
    clock.now += 200
    budget.spent(clock.now, clock.now + 0.0001)
    assert pause_of(budget, clock) == 0
    be_slow(budget, clock)
    assert pause_of(budget, clock) == pytest.approx(pauses[0], abs=0.002)


def test_append_from_a_callback_is_not_run_inside_the_current_step(log: Log, pool: ManualPool) -> None:
    results: list[Any] = []
    strand = Strand(log, pool)

    def again(result: Any) -> None:
        results.append(result.first_offset)
        if len(results) < 3:
            strand.append(append("more"), again)

    strand.append(append("first"), again)
    assert results == [0, 1, 2]


class TestWithThreads:
    @pytest.fixture
    async def pool(self) -> AsyncIterator[WorkerPool]:
        pool = WorkerPool(asyncio.get_running_loop(), 3)
        yield pool
        pool.close()

    async def test_many_appends_to_many_logs_are_all_done_in_order(self, pool: WorkerPool, tmp_path: Path) -> None:
        loop_thread = threading.get_ident()
        logs = [open_log(tmp_path / str(number)) for number in range(4)]
        strands = [Strand(log, pool) for log in logs]
        results: list[list[int]] = [[] for _ in logs]
        done = asyncio.get_running_loop().create_future()
        left = 4 * 200

        def came(number: int, result: Any) -> None:
            nonlocal left
            assert threading.get_ident() == loop_thread
            results[number].append(result.first_offset)
            left -= 1
            if left == 0:
                done.set_result(None)

        for count in range(200):
            for number, strand in enumerate(strands):
                value = BIG if count % 3 == 0 else f"{count}"
                strand.append(append(value), partial(came, number))
            if count % 20 == 0:
                await asyncio.sleep(0)
        await done
        assert all(offsets == list(range(200)) for offsets in results)
        for log in logs:
            assert [offset for offset, _ in records_from(log)] == list(range(200))

    async def test_reads_work_while_the_log_changes(self, pool: WorkerPool, log: Log) -> None:
        """Every read returns whole batches with the requested offsets, whatever the strand does meanwhile."""
        strand = Strand(log, pool)
        done = asyncio.get_running_loop().create_future()
        strand.append(append(BIG), lambda result: None)
        for _ in range(300):
            strand.append(append("y" * 500), lambda result: None)
            strand.submit(lambda log: log.roll(NOW_MS) if log.log_end_offset % 40 == 0 else None)
        strand.submit(lambda log: None, done.set_result)
        reads = 0
        while not done.done():
            end = log.log_end_offset
            if end > 0:
                result = log.read(end - 1, 1 << 20, end, min_one_batch=True)
                assert result.region is not None
                assert int.from_bytes(result.region.read()[:8], "big") == end - 1
                reads += 1
            await asyncio.sleep(0)
        assert reads > 0
        assert log.log_end_offset == 301

    async def test_worker_pool_can_be_resized_and_closed(self, pool: WorkerPool) -> None:
        pool.resize(1)
        pool.resize(4)
        assert pool.thread_count == 4
        ran: list[int] = []
        for number in range(20):
            pool.submit(partial(ran.append, number))
        pool.close()
        assert sorted(ran) == list(range(20))
        with pytest.raises(RuntimeError):
            pool.submit(lambda: None)

    async def test_closing_a_pool_waits_for_a_busy_surplus_thread(self, pool: WorkerPool) -> None:
        pool.resize(3)
        busy, go_on = [threading.Event() for _ in range(3)], threading.Event()
        ran: list[int] = []

        def work(number: int) -> None:
            busy[number].set()
            go_on.wait()
            sum(range(1_000_000 * number))  # so that they do not end together
            ran.append(number)

        for number in range(3):
            pool.submit(partial(work, number))
        for event in busy:
            event.wait()
        pool.resize(1)
        assert len(pool._threads) == 1
        closing = threading.Thread(target=pool.close)
        closing.start()
        go_on.set()
        closing.join()
        assert sorted(ran) == [0, 1, 2]

    async def test_posted_callbacks_run_in_order_and_a_failing_one_stops_no_other(self, pool: WorkerPool) -> None:
        loop = asyncio.get_running_loop()
        failures: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda loop, context: failures.append(context))
        came: list[int] = []
        done = loop.create_future()

        def fail() -> None:
            raise ValueError("on purpose")

        def work() -> None:
            for number in range(5):
                pool.post(came.append, number)
                pool.post(fail)
            pool.post(done.set_result, None)

        pool.submit(work)
        await done
        assert came == [0, 1, 2, 3, 4]
        assert len(failures) == 5

"""Idle shares and stalls of the event loop, with clocks that the test moves."""

import asyncio
from collections.abc import Callable

import pytest
from pybroker.broker.requests.loop_watch import LoopWatch, PoolUse
from pybroker.broker.requests.recent_counts import RecentCounts


class Clocks:
    """The loop's timer, both clocks and the pool of a `LoopWatch`."""

    def __init__(self) -> None:
        self.now_s = 10.0
        self.cpu_s = 3.0
        self.use = PoolUse(0, 4, 0)
        self.due: Callable[[], None] | None = None
        self.looks = 0
        self.delay_s = 0.0
        self.watch = LoopWatch(
            self,  # type: ignore[arg-type]
            lambda: self.use,
            self.looked,
            lambda: self.now_s,
            lambda: self.cpu_s,
        )

    def looked(self) -> None:
        self.looks += 1

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        self.due, self.delay_s = callback, delay_s
        return None  # type: ignore[return-value]

    def pass_by(self, wall_s: float, cpu_s: float) -> None:
        self.now_s += wall_s
        self.cpu_s += cpu_s
        assert self.due is not None
        self.due()


def test_loop_is_idle_for_the_share_of_time_in_which_its_thread_did_not_run() -> None:
    clocks = Clocks()
    assert clocks.watch.loop_idle == 1.0
    clocks.watch.start()
    for _ in range(10):
        clocks.pass_by(0.1, 0.03)
    assert clocks.watch.loop_idle == pytest.approx(0.7)
    for _ in range(400):
        clocks.pass_by(0.1, 0.1)
    assert clocks.watch.loop_idle == pytest.approx(0.0)
    assert clocks.looks == 411


def test_pool_is_idle_by_the_mean_share_of_threads_without_a_step() -> None:
    clocks = Clocks()
    clocks.watch.start()
    clocks.use = PoolUse(1, 4, 0)
    clocks.pass_by(0.1, 0.0)
    clocks.use = PoolUse(3, 4, 7)
    clocks.pass_by(0.1, 0.0)
    assert clocks.watch.pool_idle == pytest.approx(0.5)


def test_longest_stall_is_told_once() -> None:
    clocks = Clocks()
    clocks.watch.start()
    clocks.pass_by(0.1, 0.0)
    clocks.pass_by(0.35, 0.0)
    clocks.pass_by(0.1, 0.0)
    assert clocks.watch.take_longest_stall_s() == pytest.approx(0.25)
    assert clocks.watch.take_longest_stall_s() == pytest.approx(0.0)


def test_looks_come_every_two_milliseconds_while_the_loop_works_and_ten_times_a_second_while_it_is_idle() -> None:
    clocks = Clocks()
    clocks.watch.start()
    assert clocks.delay_s == 0.1
    clocks.pass_by(0.1, 0.02)
    assert clocks.delay_s == 0.002
    clocks.watch.take_longest_stall_s()
    clocks.pass_by(0.007, 0.0)
    assert clocks.watch.take_longest_stall_s() == pytest.approx(0.005)
    noted = clocks.looks
    for _ in range(50):
        clocks.pass_by(0.002, 0.0)
    assert clocks.looks == noted + 1, "shares are noted as rarely as before"
    assert clocks.delay_s == 0.1


def test_recent_counts_forget_what_is_older_than_their_window() -> None:
    now_s = 0.0
    recent = RecentCounts(lambda: now_s)
    counts = [0, 0]
    for _ in range(20):
        counts[0] += 1
        found = recent.of("a", counts)
        now_s += 100
    assert found == [3, 0], "the last three pictures are 100, 200 and 300 s old"
    assert recent.of("b", [5, 6]) == [5, 6]

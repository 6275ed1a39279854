"""Requests of many parts take turns."""

from collections.abc import Callable

import pytest
from pybroker.broker.network.heavy_requests import LONGEST_WORK_S, HeavyRequests


class Timer:
    def __init__(self, when: float, callback: Callable[[], None]) -> None:
        self.when = when
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[Timer] = []

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        timer = Timer(self.now + delay, callback)
        self.timers.append(timer)
        return timer

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        due = [timer for timer in self.timers if timer.when <= self.now + 1e-9]
        self.timers = [timer for timer in self.timers if timer not in due]
        for timer in due:
            if not timer.is_cancelled:
                timer.callback()


class User:
    def __init__(self, name: str, heavy: HeavyRequests, clock: Clock, log: list[str]) -> None:
        self.name, self.heavy, self.clock, self.log = name, heavy, clock, log

    def ask(self, seconds: float = 0.1) -> bool:
        if not self.heavy.may_start(self):
            return False
        self.log.append(self.name)
        self.clock.now += seconds
        self.heavy.took(seconds)
        return True

    def heavy_turn_has_come(self) -> None:
        assert self.ask()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def heavy(clock: Clock) -> HeavyRequests:
    return HeavyRequests(clock.call_later, lambda: clock.now)


def test_after_a_long_request_the_next_waits_for_twice_its_time(heavy: HeavyRequests, clock: Clock) -> None:
    log: list[str] = []
    first, second = (User(name, heavy, clock, log) for name in "ab")
    assert first.ask()
    assert not second.ask()
    clock.pass_time(0.19)
    assert log == ["a"]
    clock.pass_time(0.02)
    assert log == ["a", "b"]


def test_those_who_wait_come_in_order_and_newcomers_after_them(heavy: HeavyRequests, clock: Clock) -> None:
    log: list[str] = []
    first, second, third = (User(name, heavy, clock, log) for name in "abc")
    assert first.ask()
    assert not second.ask()
    assert not third.ask()
    assert not first.ask()
    for _ in range(30):
        clock.pass_time(0.1)
    assert log == ["a", "b", "c", "a"]


def test_short_requests_wait_for_nobody(heavy: HeavyRequests, clock: Clock) -> None:
    log: list[str] = []
    user = User("a", heavy, clock, log)
    for _ in range(10):
        assert user.ask(0.001)


def test_one_that_is_gone_keeps_nobody_waiting(heavy: HeavyRequests, clock: Clock) -> None:
    log: list[str] = []
    first, second, third = (User(name, heavy, clock, log) for name in "abc")
    assert first.ask()
    assert not second.ask()
    assert not third.ask()
    heavy.forget(second)
    clock.pass_time(0.3)
    assert log == ["a", "c"]


def test_a_request_that_goes_on_has_the_turn_until_it_is_done(heavy: HeavyRequests, clock: Clock) -> None:
    log: list[str] = []
    first, second, third = (User(name, heavy, clock, log) for name in "abc")
    assert first.ask(0.001)
    ended = heavy.work_goes_on()
    assert not second.ask()
    heavy.took(0.01)  # another's, short and slow
    assert not heavy.may_start(third, waits_for_work=False)
    heavy.forget(third)
    clock.pass_time(LONGEST_WORK_S / 2)
    assert log == ["a"]
    assert heavy.may_start(third, waits_for_work=False), "a fetch, say"
    ended()
    clock.pass_time(0.0)
    assert log == ["a", "b"]
    assert not third.ask()
    clock.pass_time(0.2)
    assert log == ["a", "b", "c"]


def test_a_request_that_goes_on_for_very_long_loses_the_turn(heavy: HeavyRequests, clock: Clock) -> None:
    log: list[str] = []
    first, second, third = (User(name, heavy, clock, log) for name in "abc")
    assert first.ask(0.001)
    first_ended = heavy.work_goes_on()
    assert not second.ask()
    clock.pass_time(LONGEST_WORK_S)
    assert log == ["a", "b"]
    heavy.work_goes_on()
    first_ended()
    clock.pass_time(LONGEST_WORK_S / 2)
    assert not third.ask(), "it is the second one's turn, whatever became of the first"

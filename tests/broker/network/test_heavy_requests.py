"""Requests of many parts take turns."""

from collections.abc import Callable

import pytest
from pybroker.broker.network.heavy_requests import HeavyRequests


class Clock:
    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def call_later(self, delay: float, callback: Callable[[], None]) -> None:
        self.timers.append((self.now + delay, callback))

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        due = [timer for timer in self.timers if timer[0] <= self.now + 1e-9]
        self.timers = [timer for timer in self.timers if timer not in due]
        for _, callback in due:
            callback()


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

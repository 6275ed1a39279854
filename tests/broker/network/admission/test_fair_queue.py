"""Tests that queued connections get equal shares of loop time, and at most a third of the loop together."""

import asyncio
from collections.abc import Callable
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.broker.network.admission.fair_queue import (
    LONG_S,
    LONGEST_REST_S,
    QUANTUM_S,
    STANDSTILL_S,
    FairQueue,
    Lane,
)
from pybroker.broker.network.admission.memory import DecodedMemory
from pybroker.broker.network.loop_share import LoopShare
from support.examples import examples
from support.in_process.fake_connection import FakeConnection
from support.time.virtual_network import VirtualLoop


class World:
    def __init__(self) -> None:
        self.loop = VirtualLoop()
        self.queue = FairQueue(
            cast("asyncio.AbstractEventLoop", self.loop),
            lambda delay_s, callback: self.loop.call_later(max(delay_s, 0.001), callback),
            self.loop.time,
        )
        self.started: list[str] = []

    def user(self, name: str, cost: Callable[[], float], *, is_backlogged: bool = True) -> "User":
        return User(self, name, cost, is_backlogged)


class User(FakeConnection):
    """A connection whose requests cost ``cost()`` seconds each."""

    def __init__(self, world: World, name: str, cost: Callable[[], float], is_backlogged: bool) -> None:
        super().__init__(name, [])
        self.world, self.cost, self.is_backlogged = world, cost, is_backlogged
        self.used_s = 0.0

    def ask(self, lane: Lane | None = None) -> None:
        self.world.queue.wait(lane or self.world.queue.requests, self)

    def start_queued(self) -> None:
        cost_s, queue = self.cost(), self.world.queue
        self.world.started.append(self.name)
        self.world.loop.take(cost_s)
        self.used_s += cost_s
        queue.used(self.share, cost_s)
        if cost_s > LONG_S:
            queue.rest(cost_s)
            queue.put_in_debt(self.share, cost_s)
        if self.is_backlogged:
            self.ask()


COSTS = st.lists(st.sampled_from((0.0005, 0.0009, 0.002, 0.02, 0.1)), min_size=1, max_size=5)


@settings(max_examples=examples(40), deadline=None)
@given(costs=st.lists(COSTS, min_size=2, max_size=8), newcomers=st.integers(0, 3))
def test_no_backlogged_connection_gets_less_than_its_share(costs: list[list[float]], newcomers: int) -> None:
    world = World()
    users = []
    for number, of_one in enumerate(costs):
        turns = iter(of_one * 100_000)
        users.append(world.user(str(number), lambda turns=turns: next(turns)))  # type: ignore[misc]
    for user in users:
        user.ask()
    for _ in range(50):
        for _ in range(newcomers):  # each sends one request and leaves
            world.user("new", lambda: 0.002, is_backlogged=False).ask()
        world.loop.advance(100)
    used_s = [user.used_s for user in users]
    longest_s = max(max(each) for each in costs)
    assert max(used_s) - min(used_s) <= 4 * longest_s, used_s


def test_long_requests_get_a_third_of_the_loop_together() -> None:
    world = World()
    users = [world.user(str(number), lambda: 0.01) for number in range(5)]
    for user in users:
        user.ask()
    world.loop.advance(3000)
    assert 0.9 <= sum(user.used_s for user in users) <= 1.1


def run_steps(world: World, step_s: float, *, is_expensive: bool, requests: int, duration_ms: float) -> float:
    """Let requests of endless steps run side by side. Returns how long their steps took together, in seconds."""
    share, used_s = LoopShare(0), 0.0

    def step(_: object = None) -> None:
        nonlocal used_s
        world.loop.take(step_s)
        used_s += step_s
        world.queue.stepped(share, step_s)
        if step_s > LONG_S:
            world.queue.rest(step_s)
        world.queue.step_permit(share, is_expensive=is_expensive).add_done_callback(step)

    for _ in range(requests):
        world.queue.step_permit(share, is_expensive=is_expensive).add_done_callback(step)
    world.loop.advance(duration_ms)
    return used_s


def test_long_steps_of_requests_that_may_be_expensive_get_a_third_of_the_loop_together() -> None:
    assert 0.9 <= run_steps(World(), 0.002, is_expensive=True, requests=30, duration_ms=3000) <= 1.1


def test_steps_of_cheap_requests_run_while_the_queue_rests() -> None:
    world = World()
    world.queue.rest(0.1)
    assert run_steps(world, 0.0001, is_expensive=False, requests=1, duration_ms=1) > 0
    assert world.queue.is_resting


def test_request_and_step_that_wait_both_go_on_after_a_rest() -> None:
    world = World()
    for number in range(3):
        world.user(str(number), lambda: 0.002).ask()
    assert run_steps(world, 0.002, is_expensive=True, requests=3, duration_ms=300) >= 0.02
    assert len(world.started) >= 10


def test_short_requests_share_one_quantum_per_loop_iteration() -> None:
    world = World()
    for number in range(10):
        world.user(str(number), lambda: QUANTUM_S / 2, is_backlogged=False).ask()
    world.loop.turn()
    assert world.started == ["0", "1"]
    world.loop.turn()
    assert world.started == ["0", "1", "2", "3"]


def test_rest_after_a_very_long_request_is_capped() -> None:
    world = World()
    world.user("first", lambda: 10.0, is_backlogged=False).ask()
    world.loop.turn()
    world.user("second", lambda: 0.0, is_backlogged=False).ask()
    assert not world.queue.is_free(world.queue.requests)
    world.loop.advance(LONGEST_REST_S * 1000 + 2)
    assert world.started == ["first", "second"]


def test_queued_request_starts_although_other_requests_keep_starting_new_rests() -> None:
    world = World()
    world.queue.rest(0.01)
    world.user("waits", lambda: 0.0, is_backlogged=False).ask()
    for _ in range(100):
        world.loop.advance(0.7)
        world.queue.rest(0.001)  # a step of some request, again and again
    assert world.started == ["waits"]


def test_new_connection_goes_before_connections_that_used_much_loop_time() -> None:
    world = World()
    users = [world.user(f"old {number}", lambda: 0.01) for number in range(50)]
    for user in users:
        user.ask()
    world.loop.advance(2000)
    world.started.clear()
    world.user("new", lambda: 0.001, is_backlogged=False).ask()
    world.loop.advance(100)
    assert "new" in world.started[:3]


def test_forgotten_connection_is_not_started() -> None:
    world = World()
    users = [world.user(name, lambda: 0.0, is_backlogged=False) for name in "abc"]
    for user in users:
        user.ask()
    world.queue.forget(users[0])
    world.queue.forget(users[1])
    assert not world.queue.holds(users[0])
    world.loop.advance(10)
    assert world.started == ["c"]
    assert world.queue.waiting_count == 0


def full_lane(world: World) -> tuple[DecodedMemory, Lane, int]:
    account = DecodedMemory("decoded", 1000)
    lane = world.queue.new_lane(account)
    return account, lane, account.take(100_000)


def test_lane_of_a_full_account_is_closed_while_other_lanes_are_served() -> None:
    world = World()
    account, lane, taken = full_lane(world)
    world.user("waits", lambda: 0.0, is_backlogged=False).ask(lane)
    world.user("goes", lambda: 0.0, is_backlogged=False).ask()
    world.loop.advance(100)
    assert world.started == ["goes"]
    account.give_back(taken)
    world.loop.advance(1)
    assert world.started == ["goes", "waits"]


def test_full_account_starts_one_waiting_request_after_each_standstill() -> None:
    world = World()
    full_lane(world)
    _, lane, _ = full_lane(world)
    for name in "abc":
        world.user(name, lambda: 0.0, is_backlogged=False).ask(lane)
    world.loop.advance(STANDSTILL_S * 1000 + 1)
    assert world.started == ["a"]
    world.loop.advance(STANDSTILL_S * 2000)
    assert world.started == ["a", "b", "c"]


def test_no_request_of_a_full_account_starts_while_another_one_progresses() -> None:
    world = World()
    account = DecodedMemory("decoded", 1000)
    lane = world.queue.new_lane(account)
    account.take(100_000)
    world.user("a", lambda: 0.0, is_backlogged=False).ask(lane)
    for _ in range(10):
        world.loop.advance(STANDSTILL_S * 900)
        lane.has_moved = True
    assert world.started == []
    world.loop.advance(STANDSTILL_S * 2000 + 1)
    assert world.started == ["a"]

"""The clock of a broker in a process. The broker of most tests is in this process, because the clock asks over HTTP."""

import inspect
import time
from collections.abc import Iterator

import pytest
from pybroker import Broker
from pybroker.broker.clock.clocks import BlockingClock
from pybroker.broker.library.broker import BlockingBroker
from pybroker.broker.library.cluster.kit_client import KitClient
from pybroker.broker.test_kit.act_error import ActError
from pybroker.testkit.process_clock import ProcessClock

DAY_MS = 86_400_000
WITH_KIT = {"pybroker.http.listeners": "HTTP://127.0.0.1:0", "pybroker.test.kit": "true"}


@pytest.fixture
def broker() -> Iterator[BlockingBroker]:
    with Broker(WITH_KIT) as broker:
        yield broker


@pytest.fixture
def clock(broker: BlockingBroker) -> ProcessClock:
    return ProcessClock(lambda: kit_of(broker))


def kit_of(broker: BlockingBroker) -> KitClient:
    assert broker.http_url is not None
    return KitClient("broker 0", int(broker.http_url.rpartition(":")[2]))


def system_ms() -> int:
    return time.time_ns() // 1_000_000


def test_move_returns_when_the_broker_has_deleted_what_became_too_old(
    broker: BlockingBroker, clock: ProcessClock
) -> None:
    broker.append("t", b"old")
    clock.advance(days=8)
    assert broker.records("t") == []
    assert broker.clock.clock_ms() >= clock.clock_ms() >= system_ms() + 8 * DAY_MS


def test_move_of_the_timers_aborts_overdue_transactions(broker: BlockingBroker, clock: ProcessClock) -> None:
    broker.append("t", b"before")
    broker.acts.leave_open("id", "t")
    broker.append("t", b"after")
    assert [record.value for record in broker.records("t")] == [b"before"]
    clock.advance_timers(61)
    assert [record.value for record in broker.records("t")] == [b"before", b"after"]


def test_frozen_clock_stands_where_that_of_the_broker_stands(broker: BlockingBroker, clock: ProcessClock) -> None:
    clock.freeze()
    assert clock.clock_ms() == broker.clock.clock_ms() == broker.clock.clock_ms()
    goal_ms = clock.clock_ms() + DAY_MS
    clock.freeze(goal_ms)
    assert clock.clock_ms() == broker.clock.clock_ms() == goal_ms
    clock.advance(days=1)
    assert clock.clock_ms() == broker.clock.clock_ms() == goal_ms + DAY_MS
    clock.unfreeze()
    assert system_ms() + 3 * DAY_MS > broker.clock.clock_ms() >= clock.clock_ms() >= goal_ms + DAY_MS


def test_broker_that_starts_anew_gets_the_time_of_the_clock(broker: BlockingBroker) -> None:
    running = [broker]
    clock = ProcessClock(lambda: kit_of(running[0]))
    clock.advance(days=1)
    clock.advance_timers(minutes=1440)
    with Broker(WITH_KIT) as running[0]:
        clock.broker_started()
        assert system_ms() + 2 * DAY_MS <= running[0].clock.clock_ms() < system_ms() + 3 * DAY_MS


def test_moves_of_a_broker_that_does_not_run_take_effect_at_its_start() -> None:
    running: list[BlockingBroker] = []
    clock = ProcessClock(lambda: kit_of(running[0]) if running else None)
    clock.advance(days=1)
    clock.advance_timers(minutes=1)
    clock.freeze(clock.clock_ms() + DAY_MS)
    goal_ms = clock.clock_ms()
    assert goal_ms >= system_ms() + 2 * DAY_MS
    with Broker(WITH_KIT) as broker:
        running.append(broker)
        clock.broker_started()
        assert broker.clock.clock_ms() == clock.clock_ms() == goal_ms


def test_frozen_time_that_has_passed_at_a_start_gives_way_to_the_time_of_the_broker() -> None:
    running: list[BlockingBroker] = []
    clock = ProcessClock(lambda: kit_of(running[0]) if running else None)
    clock.freeze()
    before_ms = clock.clock_ms()
    with Broker(WITH_KIT) as broker:
        running.append(broker)
        clock.broker_started()
        assert clock.clock_ms() == broker.clock.clock_ms() >= before_ms


def test_refused_moves_change_nothing_and_late_ones_have_moved(broker: BlockingBroker, clock: ProcessClock) -> None:
    with pytest.raises(ValueError, match="ahead only"):
        clock.advance(days=-1)
    with pytest.raises(ValueError, match="ahead only"):
        clock.freeze(1)
    with pytest.raises(ValueError, match="100 years"):
        clock.advance(days=40_000)
    with pytest.raises(ValueError, match="silent: a list of texts"):
        clock.advance_timers(1, silent=[1])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="advance_timers_ms"):
        clock.advance_timers(minutes=1441)
    assert clock.clock_ms() < system_ms() + DAY_MS
    with pytest.raises(TimeoutError, match="the clock has moved, but"):
        clock.advance(days=2, wait_s=0)
    assert min(clock.clock_ms(), broker.clock.clock_ms()) >= system_ms() + 2 * DAY_MS


def test_broker_that_does_not_answer_is_named(broker: BlockingBroker) -> None:
    kit = kit_of(broker)
    clock = ProcessClock(lambda: kit)
    broker.stop()
    with pytest.raises(ActError, match="broker 0 does not answer over HTTP"):
        clock.advance(days=1)


@pytest.mark.parametrize("method", ["clock_ms", "advance", "advance_timers", "freeze", "unfreeze"])
def test_methods_take_what_those_of_a_broker_on_a_thread_take(broker: BlockingBroker, method: str) -> None:
    signatures = [
        [each.replace(annotation=None) for each in inspect.signature(getattr(clock, method)).parameters.values()]
        for clock in (ProcessClock(lambda: None), BlockingClock(broker._broker.clock))
    ]
    assert signatures[0] == signatures[1]

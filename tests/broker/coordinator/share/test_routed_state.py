"""Calls for the state of share partitions: which broker gets them, and when they are tried again."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from pybroker.broker.coordinator.share.ports import SharePartitionKey
from pybroker.broker.coordinator.share.routed_state import RoutedShareState, Routes
from pybroker.broker.coordinator.transaction.retry_delays import RetryDelays
from pybroker.protocol.errors import ErrorCode
from support.time.virtual_timers import VirtualTimers

KEY = SharePartitionKey("g", UUID(int=1), 0)
TIMEOUT_MS = 1_000
NOT_HERE, DONE = ErrorCode.NOT_COORDINATOR, ErrorCode.NONE


class Coordinator:
    """Answers with the codes of a list, the last one again and again."""

    def __init__(self, *codes: ErrorCode) -> None:
        self.codes = list(codes)
        self.calls = 0

    def delete(self, key: SharePartitionKey, done: Callable[[ErrorCode], None]) -> None:
        self.calls += 1
        done(self.codes.pop(0) if len(self.codes) > 1 else self.codes[0])


class World:
    def __init__(self, here: Coordinator, other: Coordinator | None = None) -> None:
        self.timers = VirtualTimers()
        self.asked_for_topic = 0
        elsewhere: Any = other
        local: Any = here
        routes = Routes(local, lambda key: elsewhere, self._ensure_topic)
        self.states = RoutedShareState(routes, self.timers, RetryDelays(20, 200, lambda: 0.5), TIMEOUT_MS)
        self.answers: list[ErrorCode] = []

    def delete(self) -> None:
        self.states.delete(KEY, self.answers.append)

    def _ensure_topic(self) -> None:
        self.asked_for_topic += 1


def test_coordinator_on_this_broker_answers_at_once() -> None:
    other = Coordinator(DONE)
    world = World(Coordinator(DONE), other)
    world.delete()
    assert (world.answers, other.calls) == ([DONE], 0)


def test_coordinator_on_another_broker_is_asked_when_it_is_not_here() -> None:
    world = World(Coordinator(NOT_HERE), Coordinator(DONE))
    world.delete()
    assert (world.answers, world.asked_for_topic) == ([DONE], 0)


@pytest.mark.parametrize(
    "code",
    [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NETWORK_EXCEPTION, ErrorCode.NOT_COORDINATOR],
    ids=lambda code: code.name,
)
def test_call_is_tried_again_while_the_coordinator_moves(code: ErrorCode) -> None:
    world = World(Coordinator(NOT_HERE), Coordinator(code, code, DONE))
    world.delete()
    assert world.answers == []
    world.timers.advance(TIMEOUT_MS)
    assert world.answers == [DONE]


def test_error_that_lasts_is_answered_when_the_time_is_over() -> None:
    here = Coordinator(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    world = World(here)
    world.delete()
    world.timers.advance(TIMEOUT_MS)
    assert world.answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert 5 < here.calls < 20


def test_fenced_call_is_not_tried_again() -> None:
    world = World(Coordinator(ErrorCode.FENCED_STATE_EPOCH))
    world.delete()
    assert world.answers == [ErrorCode.FENCED_STATE_EPOCH]


def test_topic_is_created_when_nobody_coordinates() -> None:
    world = World(Coordinator(NOT_HERE, DONE))
    world.delete()
    assert world.asked_for_topic == 1
    world.timers.advance(TIMEOUT_MS)
    assert world.answers == [DONE]


def test_calls_fail_when_the_broker_stops() -> None:
    world = World(Coordinator(NOT_HERE))
    world.delete()
    world.states.close()
    world.delete()
    assert world.answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
    assert not world.timers.pending

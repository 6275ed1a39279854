"""Leaderships are suspended while the session may be over, in virtual time."""

from typing import Any, cast

import pytest
from pybroker.broker.inter_broker.contact_watch import ContactWatch
from pybroker.controller.tree.metadata_store import SessionEvent
from support.time.virtual_timers import VirtualTimers

SESSION_MS = 6_000
LAG_MS = 30_000


class Store:
    """A session whose state the test sets."""

    def __init__(self) -> None:
        self.session_id = 1
        self.session_timeout_ms = SESSION_MS
        self.is_session_lost = False
        self.listeners: list[Any] = []

    def on_session_event(self, listener: Any) -> None:
        self.listeners.append(listener)

    def tell(self, event: SessionEvent) -> None:
        for listener in self.listeners:
            listener(event)


class Suspension:
    """Suspends one partition when it is asked to."""

    def __init__(self) -> None:
        self.suspended: list[str] = []
        self.silences_ms: list[int] = []

    def suspend_silent(self, silence_ms: int) -> None:
        self.suspended = ["t-0"]
        self.silences_ms.append(silence_ms)

    def resume(self, partitions: list[str]) -> None:
        self.suspended = [each for each in self.suspended if each not in partitions]


class Scene:
    def __init__(self, lag_max_ms: int = LAG_MS) -> None:
        self.loop = cast("Any", VirtualTimers())
        self.store = cast("Any", Store())
        self.suspension = cast("Any", Suspension())
        self.watch = ContactWatch(self.loop, self.store, self.suspension, lag_max_ms)

    def is_suspended_after(self, milliseconds: int) -> bool:
        self.loop.advance(milliseconds)
        return bool(self.suspension.suspended)


def test_leaderships_are_suspended_within_half_a_second_of_the_loss_and_resumed_as_soon() -> None:
    scene = Scene()
    assert not scene.is_suspended_after(60_000)
    scene.store.is_session_lost = True
    assert scene.is_suspended_after(500)
    scene.store.is_session_lost = False
    assert not scene.is_suspended_after(500)


def test_expiry_suspends_at_once_and_the_reconnection_of_the_same_session_resumes_at_once() -> None:
    scene = Scene()
    scene.store.is_session_lost = True
    scene.store.tell(SessionEvent.EXPIRED)
    assert scene.suspension.suspended
    scene.store.is_session_lost = False
    scene.store.tell(SessionEvent.CONNECTED)
    assert not scene.suspension.suspended


def test_new_session_resumes_nothing_because_the_controller_tells_the_roles() -> None:
    scene = Scene()
    scene.store.is_session_lost = True
    assert scene.is_suspended_after(500)
    scene.store.session_id, scene.store.is_session_lost = 2, False
    scene.store.tell(SessionEvent.RENEWED)
    assert scene.is_suspended_after(60_000)
    scene.store.is_session_lost = True
    assert scene.is_suspended_after(60_000)
    scene.store.is_session_lost = False
    assert scene.is_suspended_after(60_000)


@pytest.mark.parametrize(("lag_max_ms", "silence_ms"), [(LAG_MS, SESSION_MS), (2_000, 2_000)])
def test_followers_count_as_silent_after_the_shorter_of_the_lag_time_and_the_session(
    lag_max_ms: int, silence_ms: int
) -> None:
    scene = Scene(lag_max_ms)
    scene.store.is_session_lost = True
    scene.loop.advance(1_000)
    assert set(scene.suspension.silences_ms) == {silence_ms}


def test_follower_that_falls_silent_a_session_timeout_after_the_loss_does_not_count_as_elected() -> None:
    scene = Scene()
    scene.store.is_session_lost = True
    scene.loop.advance(60_000)
    lost_for_ms = 60_000 - 500
    assert scene.suspension.silences_ms[-1] == lost_for_ms - SESSION_MS
    scene.store.is_session_lost = False
    scene.loop.advance(500)
    scene.store.is_session_lost = True
    scene.loop.advance(500)
    assert scene.suspension.silences_ms[-1] == SESSION_MS


def test_ended_watch_suspends_nothing() -> None:
    scene = Scene()
    scene.watch.kill()
    scene.store.is_session_lost = True
    scene.store.tell(SessionEvent.EXPIRED)
    assert not scene.is_suspended_after(60_000)

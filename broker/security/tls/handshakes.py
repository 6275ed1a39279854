"""Limits how many TLS handshakes run at once, and how many steps of them one iteration of the loop takes.

**Why.** A step of a handshake signs with the private key, which takes the loop up to a millisecond (RSA, 2048 bits).
After a network failure thousands of clients connect together. A peer can also begin a handshake and never go on.

**How.** A step is done at once when it is one of the first in an iteration, else it queues. A new handshake waits while
``most_at_once`` are under way. Then the oldest one is given up when it has had ``LEAST_TIME_S``, so peers that stop
hold a place for that time only, and honest peers have that time at least.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from ....base.timers import CallLater, TimerHandle

__all__ = ["LEAST_TIME_S", "STEPS_PER_ITERATION", "Handshake", "HandshakeQueue"]

LEAST_TIME_S = 1.0
STEPS_PER_ITERATION = 8


class Handshake(Protocol):
    """A connection whose handshake is not complete."""

    def take_step(self) -> None:
        """The turn has come that `HandshakeQueue.may_step` refused."""

    def give_up(self) -> None:
        """Others wait, and this handshake is the oldest: close the connection."""


class HandshakeQueue:
    """Used on the event loop only."""

    def __init__(
        self,
        call_soon: Callable[[Callable[[], None]], object],
        call_later: CallLater,
        now_s: Callable[[], float],
        most_at_once: int,
    ) -> None:
        self._call_soon = call_soon
        self._call_later = call_later
        self._now_s = now_s
        self._most_at_once = most_at_once
        self._under_way: dict[Handshake, float] = {}  # with the time of its start, the oldest first
        self._going_on: OrderedDict[Handshake, None] = OrderedDict()  # under way, waiting for the next iteration
        self._new: OrderedDict[Handshake, None] = OrderedDict()
        self._steps_left = STEPS_PER_ITERATION
        self._turn_is_set = False
        self._timer: TimerHandle | None = None

    @property
    def under_way(self) -> int:
        """Handshakes that have begun and are not complete."""
        return len(self._under_way)

    @property
    def waiting(self) -> int:
        """Handshakes that wait for their turn."""
        return len(self._going_on) + len(self._new)

    def may_step(self, handshake: Handshake) -> bool:
        """Whether the handshake may take its next step now. If not, ``take_step`` is called later, unless it ends."""
        if handshake in self._under_way:
            queue = self._going_on
        elif self._new or not self._make_space():
            self._new[handshake] = None
            self._set_timer()
            return False
        else:
            queue = self._new
        if not self._use_step():
            queue[handshake] = None
            return False
        self._under_way.setdefault(handshake, self._now_s())
        return True

    def ended(self, handshake: Handshake) -> None:
        """The handshake is complete, or its connection is lost."""
        began = self._under_way.pop(handshake, None) is not None
        self._going_on.pop(handshake, None)
        self._new.pop(handshake, None)
        if not self._new:
            self._cancel_timer()
        elif began:
            self._set_turn()

    def _use_step(self) -> bool:
        self._set_turn()
        if not self._steps_left:
            return False
        self._steps_left -= 1
        return True

    def _set_turn(self) -> None:
        if not self._turn_is_set:
            self._turn_is_set = True
            self._call_soon(self._turn)

    def _turn(self) -> None:
        """The next iteration: those under way first, because each that ends makes space for a new one."""
        self._turn_is_set = False
        self._steps_left = STEPS_PER_ITERATION
        while self._steps_left and self._going_on:
            self._use_step()
            self._going_on.popitem(last=False)[0].take_step()
        while self._steps_left and self._new and self._make_space():
            self._use_step()
            handshake, _ = self._new.popitem(last=False)
            self._under_way[handshake] = self._now_s()
            handshake.take_step()
        if self._new:
            self._set_timer()
        else:
            self._cancel_timer()

    def _make_space(self) -> bool:
        """Whether another handshake may begin, perhaps after the oldest one was given up."""
        if self.under_way < self._most_at_once:
            return True
        oldest, began_s = next(iter(self._under_way.items()))
        if self._now_s() - began_s < LEAST_TIME_S:
            return False
        del self._under_way[oldest]
        oldest.give_up()
        return True

    def _set_timer(self) -> None:
        if self._timer is None and self._under_way:
            oldest_s = next(iter(self._under_way.values()))
            self._timer = self._call_later(max(0.001, oldest_s + LEAST_TIME_S - self._now_s()), self._time_is_over)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_is_over(self) -> None:
        self._timer = None
        if self._new:
            self._set_turn()

"""Shares the event loop among the TLS handshakes of one listener, and bounds those that wait for their clients.

**Why.** A step of a handshake signs with the private key, which takes the loop up to a millisecond (RSA, 2048 bits).
After a network failure thousands of clients connect together. A client can also begin a handshake and never go on.

**How.** A step is taken at once when it is one of the first in an iteration, else it queues. Addresses take turns, so
one that opens many connections delays the others by one step. A handshake that waits for its client delays nobody. When
more than ``most_unanswered`` wait so, the one that has waited longest is given up, if that was for `LEAST_TIME_S`.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

__all__ = ["LEAST_TIME_S", "STEPS_PER_ITERATION", "Handshake", "HandshakeQueue"]

LEAST_TIME_S = 1.0
STEPS_PER_ITERATION = 8


class Handshake(Protocol):
    """A connection whose handshake is not complete."""

    @property
    def peer_host(self) -> str:
        """The address of the client."""

    def take_step(self) -> None:
        """The turn has come that `HandshakeQueue.may_step` refused."""

    def give_up(self) -> None:
        """Too many handshakes wait for their clients, this one for the longest time: close the connection."""


class HandshakeQueue:
    """Used on the event loop only."""

    def __init__(
        self, call_soon: Callable[[Callable[[], None]], object], now_s: Callable[[], float], most_unanswered: int
    ) -> None:
        self._call_soon = call_soon
        self._now_s = now_s
        self._most_unanswered = most_unanswered
        self._unanswered: dict[Handshake, float] = {}  # with the time of the last step, the oldest first
        self._queued: OrderedDict[str, dict[Handshake, None]] = OrderedDict()  # by address, the next one first
        self._hosts: dict[Handshake, str] = {}  # the addresses of the queued ones: a lost connection forgets its own
        self._steps_left = STEPS_PER_ITERATION
        self._turn_is_set = False

    @property
    def unanswered(self) -> int:
        """Handshakes that wait for their clients after a step."""
        return len(self._unanswered)

    @property
    def waiting(self) -> int:
        """Handshakes that wait for their turn."""
        return len(self._hosts)

    def may_step(self, handshake: Handshake) -> bool:
        """Whether the handshake may take its next step now. If not, ``take_step`` is called later, unless it ends."""
        self._unanswered.pop(handshake, None)
        if self._queued or not self._steps_left:
            host = self._hosts[handshake] = handshake.peer_host
            self._queued.setdefault(host, {})[handshake] = None
            return False
        self._use_step(handshake)
        return True

    def ended(self, handshake: Handshake) -> None:
        """The handshake is complete, or its connection is lost."""
        self._unanswered.pop(handshake, None)
        host = self._hosts.pop(handshake, None)
        if host is not None:
            del self._queued[host][handshake]
            if not self._queued[host]:
                del self._queued[host]

    def _use_step(self, handshake: Handshake) -> None:
        self._steps_left -= 1
        self._set_turn()
        now_s = self._now_s()
        while self.unanswered >= self._most_unanswered:
            oldest, since_s = next(iter(self._unanswered.items()))
            if now_s - since_s < LEAST_TIME_S:
                break
            del self._unanswered[oldest]
            oldest.give_up()
        self._unanswered[handshake] = now_s

    def _set_turn(self) -> None:
        if not self._turn_is_set:
            self._turn_is_set = True
            self._call_soon(self._turn)

    def _turn(self) -> None:
        self._turn_is_set = False
        self._steps_left = STEPS_PER_ITERATION
        while self._steps_left and self._queued:
            handshake = self._take_next()
            self._use_step(handshake)
            handshake.take_step()

    def _take_next(self) -> Handshake:
        host, of_host = self._queued.popitem(last=False)
        handshake = next(iter(of_host))
        del of_host[handshake], self._hosts[handshake]
        if of_host:
            self._queued[host] = of_host
        return handshake

"""The fair queue for the event loop's time: requests that may be expensive wait here until they may start.

Order: the connection with the smallest virtual finish time is next. A connection's virtual time grows by the loop time
that its queued requests use, so all waiting connections get the same share. Rate: `QUANTUM_S` of queued work in one
iteration of the loop. After a request that used more than `LONG_S` the queue rests: no queued request starts for twice
that time. So long queued requests have at most a third of the loop, as long as each takes up to 0.25 s
(`LONGEST_REST_S`). Requests that wait for an account of memory stand in its lane, which is closed while the account is
over its limit. Steps of coroutines wait in the same order; steps of expensive requests do not run during a rest.
"""

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import TypeAlias

from ....base.timers import CallLater, TimerHandle
from ..loop_share import LoopShare
from ..managed_connection import ManagedConnection
from .memory import DecodedMemory

__all__ = ["DEBT_FACTOR", "LONG_S", "QUANTUM_S", "REST_FACTOR", "STANDSTILL_S", "DecodedLane", "FairQueue", "Lane"]

QUANTUM_S = 0.00025
LONG_S = 0.001
REST_FACTOR = 2.0
"""A rest (a time in which no queued request starts) lasts this many times the CPU time of a long request."""
LONGEST_REST_S = 0.5
DEBT_FACTOR = 100
"""A connection is in debt for this many times the CPU time of its long request: its requests count as expensive.

Produce is excepted. Without debt, a client could send cheap requests between its long ones, which would never queue.
"""
STANDSTILL_S = 2.0
"""If no request of a full account progressed for this long, start one more: all may be waiting for other brokers."""
_MAX_REQUESTS_PER_ITERATION = 32
_ESTIMATE_DECAY = 0.875
"""After each step the estimate of a step's time shrinks to this part, if the step was shorter."""
_Step: TypeAlias = "tuple[float, int, asyncio.Future[None]]"
"""Virtual finish time of its connection, a number that makes the order total, and the future that lets it run."""


class Lane:
    """A queue of requests; this class: those that wait only for loop time."""

    def __init__(self) -> None:
        self.waiting: list[tuple[float, int, ManagedConnection]] = []  # a heap by virtual finish time

    @property
    def is_open(self) -> bool:
        return True


class DecodedLane(Lane):
    """Requests that also wait for an account of memory: closed while the account is over its limit."""

    def __init__(self, account: DecodedMemory) -> None:
        super().__init__()
        self.account = account
        self.has_moved = False
        """A request of the account took a step, started or ended since the last look."""
        self.is_watched = False

    @property
    def is_open(self) -> bool:
        return not self.account.is_over


class FairQueue:
    """One per loop. ``now_s`` is a monotonic clock that moves on while a request is handled."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        call_later: CallLater,
        now_s: Callable[[], float],
    ) -> None:
        self._loop = loop
        self._call_later = call_later
        self._now_s = now_s
        self.requests = Lane()
        self._lanes: list[Lane] = [self.requests]
        self._places: dict[ManagedConnection, int] = {}  # the number of each connection's valid entry
        self._steps: list[_Step] = []
        self._expensive_steps: list[_Step] = []
        self._numbers = count()
        self._virtual_s = 0.0
        self._used_s = 0.0  # in this iteration
        self._rest_began_s = self._rest_until_s = float("-inf")
        self._is_start_due = False  # no request has started since the rest began
        self._step_s = 0.0  # estimate of a step's time
        self._is_scheduled = False
        self._timer: TimerHandle | None = None
        self.serving: Lane | None = None
        """The lane whose first request starts just now."""

    def new_lane(self, account: DecodedMemory) -> DecodedLane:
        lane = DecodedLane(account)
        self._lanes.append(lane)
        account.on_change = lambda: self._account_changed(lane)
        return lane

    @property
    def waiting_count(self) -> int:
        return len(self._places)

    # --- requests

    def is_free(self, lane: Lane) -> bool:
        """Whether a request of the lane may start without waiting."""
        return not lane.waiting and self._used_s < QUANTUM_S and not self.is_resting

    def wait(self, lane: Lane, connection: ManagedConnection) -> None:
        """``connection.start_queued`` is called when its request may start."""
        if connection in self._places:
            return
        share = connection.share
        finish_s = max(share.finish_s, self._virtual_s) + share.last_cost_s
        number = self._places[connection] = next(self._numbers)
        heappush(lane.waiting, (finish_s, number, connection))
        if isinstance(lane, DecodedLane):
            self._watch(lane)
        self._schedule()

    def holds(self, connection: ManagedConnection) -> bool:
        """Whether the connection's next request waits in the queue."""
        return connection in self._places

    def forget(self, connection: ManagedConnection) -> None:
        """The connection is gone, or drops its requests."""
        if self._places.pop(connection, None) is not None:
            self._drop_stale()

    def used(self, share: LoopShare, cost_s: float) -> None:
        """Charge loop time to a connection."""
        self._used_s += cost_s
        share.finish_s = max(share.finish_s, self._virtual_s) + cost_s
        # A new connection starts at the virtual time: after the first waiting request, and before most others.
        virtual_s = self._virtual_s + cost_s / (len(self._places) + len(self._steps) + 1)
        firsts_s = [lane.waiting[0][0] for lane in self._lanes if lane.waiting and lane.is_open]
        self._virtual_s = max(self._virtual_s, min(virtual_s, *firsts_s)) if firsts_s else virtual_s
        self._schedule()

    def rest(self, cost_s: float, *, adds: bool = False) -> None:
        """Start or extend a rest after a request that used ``cost_s``: no queued request starts until it is over.

        The rest lasts twice the longest use since it began; with ``adds``, twice the sum.
        No rest is longer than `LONGEST_REST_S`. Between two rests one request starts or one step runs, if any waits.
        """
        now_s = self._now_s()
        if now_s >= self._rest_until_s:
            if self._is_start_due and (self._places or self._expensive_steps):
                return
            self._rest_began_s, self._is_start_due = now_s, True
        from_s = max(self._rest_until_s, now_s) if adds else self._rest_began_s
        rest_until_s = max(self._rest_until_s, from_s + REST_FACTOR * cost_s)
        self._rest_until_s = min(rest_until_s, self._rest_began_s + LONGEST_REST_S)

    def put_in_debt(self, share: LoopShare, cost_s: float) -> None:
        """Count the connection's requests as expensive for a while, because one of them used ``cost_s``."""
        share.last_cost_s = cost_s
        share.debt_until_s = max(share.debt_until_s, self._now_s() + DEBT_FACTOR * cost_s)

    def is_in_debt(self, share: LoopShare) -> bool:
        if share.debt_until_s and self._now_s() >= share.debt_until_s:
            share.debt_until_s = share.last_cost_s = 0.0
        return share.debt_until_s > 0.0

    # --- steps of coroutines

    def may_step(self, *, is_expensive: bool) -> bool:
        """Whether a step may run without waiting. ``is_expensive``: of a request that may be expensive."""
        if is_expensive and (self._expensive_steps or self.is_resting):
            return False
        return self._used_s < QUANTUM_S and not self._steps

    def step_permit(self, share: LoopShare, *, is_expensive: bool) -> "asyncio.Future[None]":
        """A future that is done when the next step may run."""
        permit = self._loop.create_future()
        steps = self._expensive_steps if is_expensive else self._steps
        heappush(steps, (max(share.finish_s, self._virtual_s), next(self._numbers), permit))
        self._schedule()
        return permit

    def stepped(self, share: LoopShare, step_s: float) -> None:
        self._step_s = max(step_s, self._step_s * _ESTIMATE_DECAY)
        self.used(share, step_s)

    # --- the next ones

    def _schedule(self) -> None:
        """Serve the queue in the next iteration of the loop, or when the next request may start."""
        if self._is_scheduled:
            return
        rest_s = self._rest_until_s - self._now_s()
        if self._used_s or self._steps or (rest_s <= 0 and self._has_runnable()):
            self._is_scheduled = True
            self._loop.call_soon(self._serve)
        elif self._timer is None and self._has_runnable():
            self._timer = self._call_later(rest_s, self._rested)

    def _rested(self) -> None:
        self._timer = None
        self._schedule()

    def _has_runnable(self) -> bool:
        return bool(self._expensive_steps) or any(lane.waiting and lane.is_open for lane in self._lanes)

    @property
    def is_resting(self) -> bool:
        return self._now_s() < self._rest_until_s

    def _serve(self) -> None:
        self._is_scheduled = False
        self._used_s = 0.0
        self._release_steps()
        for _ in range(_MAX_REQUESTS_PER_ITERATION):
            if self._used_s >= QUANTUM_S or self.is_resting:
                break
            runnable = [lane for lane in self._lanes if lane.waiting and lane.is_open]
            if not runnable:
                break
            self._start_first(min(runnable, key=lambda lane: lane.waiting[0][:2]))
        self._schedule()

    def _release_steps(self) -> None:
        left_s = self._release(self._steps, QUANTUM_S)
        if left_s > 0 and self._expensive_steps and not self.is_resting:
            self._is_start_due = False
            self._release(self._expensive_steps, left_s)

    def _release(self, steps: list[_Step], left_s: float) -> float:
        """Let the first steps run for ``left_s``. Returns the seconds that are left."""
        while steps and left_s > 0:
            _, _, permit = heappop(steps)
            if not permit.done():  # otherwise the task was cancelled
                permit.set_result(None)
                left_s -= max(self._step_s, QUANTUM_S / 32)  # it runs in the next iteration: only an estimate
        return left_s

    def _start_first(self, lane: Lane) -> None:
        _, _, connection = heappop(lane.waiting)
        del self._places[connection]
        self._drop_stale()
        self._is_start_due = False
        self.serving = lane
        connection.start_queued()
        self.serving = None

    def _drop_stale(self) -> None:
        for lane in self._lanes:
            waiting = lane.waiting
            while waiting and self._places.get(waiting[0][2]) != waiting[0][1]:
                heappop(waiting)

    # --- lanes with an account

    def _account_changed(self, lane: DecodedLane) -> None:
        lane.has_moved = True
        if lane.waiting and lane.is_open:
            self._schedule()

    def _watch(self, lane: DecodedLane) -> None:
        if not lane.is_watched:
            lane.is_watched, lane.has_moved = True, False
            self._call_later(STANDSTILL_S, lambda: self._look(lane))

    def _look(self, lane: DecodedLane) -> None:
        lane.is_watched = False
        if lane.waiting and not lane.is_open and not lane.has_moved:
            self._start_first(lane)
        if lane.waiting:
            self._watch(lane)

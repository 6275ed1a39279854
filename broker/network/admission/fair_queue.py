"""A fair queue for the event loop's time: requests that may be expensive wait here for their turn.

Order: the connection with the smallest virtual finish time is next. A connection's virtual time grows by the loop time
that its queued requests use, so all connections that wait get the same share, whatever their requests cost.

Rate: `QUANTUM_S` of queued work in one iteration of the loop. After a request that used more than `LONG_S`, new ones
rest for twice that time. So queued work has at most a third of the loop when its requests are long.

Requests that wait for memory stand in a lane of their own, which is closed while their account is full. Steps of
coroutines wait in the same order, but do not rest: they are short, and each leaves the loop to others.
"""

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Protocol

from .memory import DecodedMemory

__all__ = ["DEBT_FACTOR", "LONG_S", "QUANTUM_S", "REST_FACTOR", "STANDSTILL_S", "DecodedLane", "FairQueue", "Lane",
           "LoopShare", "QueuedConnection"]  # fmt: skip

QUANTUM_S = 0.00025
LONG_S = 0.001
REST_FACTOR = 2.0
LONGEST_REST_S = 0.5
LONGEST_WORK_S = 0.25
DEBT_FACTOR = 100
"""A connection is in debt for this many times what its long request used: else short ones could come in between."""
STANDSTILL_S = 2.0
"""When no request of a full account took a step for so long, all may wait for other brokers: one more starts."""
_MAX_REQUESTS_PER_ITERATION = 32
_ESTIMATE_DECAY = 0.875
"""What is left, after each step, of the estimate of a step's time."""


class TimerHandle(Protocol):
    def cancel(self) -> None: ...


class QueuedConnection(Protocol):
    """A connection whose next request waits."""

    share: "LoopShare"

    def turn_has_come(self) -> None:
        """Start the request, unless something else keeps it: then the connection asks again later."""


class LoopShare:
    """How much loop time one connection has used, and what is known of its requests."""

    __slots__ = ("cheap_apis", "debt_until_s", "finish_s", "is_expensive", "last_cost_s", "used_s", "wastes_produce")

    def __init__(self, cheap_apis: int) -> None:
        self.cheap_apis = cheap_apis
        """A bit for each API: a request of it has been cheap on this connection, or is known to be."""
        self.debt_until_s = 0.0
        self.finish_s = 0.0
        """Virtual finish time of the last request that went through the queue."""
        self.last_cost_s = 0.0
        self.is_expensive = False
        """The request at hand went through the queue."""
        self.used_s = 0.0
        """Loop time used in this iteration, by all requests."""
        self.wastes_produce = False
        """The last large produce request was refused, or named partitions without records."""


class Lane:
    """Requests that wait for loop time only."""

    def __init__(self) -> None:
        self.waiting: list[tuple[float, int, QueuedConnection]] = []  # a heap by virtual finish time

    @property
    def is_open(self) -> bool:
        return True


class DecodedLane(Lane):
    """Requests that wait for an account, too: closed while that is full."""

    def __init__(self, account: DecodedMemory) -> None:
        super().__init__()
        self.account = account
        self.has_moved = False
        """Since the last look: a request of the account took a step, or ended."""
        self.is_watched = False

    @property
    def is_open(self) -> bool:
        return not self.account.is_over


class FairQueue:
    """One per loop. ``now_s`` is a monotonic clock that moves on while a request is handled."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        call_later: Callable[[float, Callable[[], None]], TimerHandle],
        now_s: Callable[[], float],
    ) -> None:
        self._loop = loop
        self._call_later = call_later
        self._now_s = now_s
        self.requests = Lane()
        self._lanes: list[Lane] = [self.requests]
        self._places: dict[QueuedConnection, int] = {}  # the number of each one's valid entry
        self._steps: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = count()
        self._virtual_s = 0.0
        self._used_s = 0.0  # in this iteration
        self._rest_began_s = self._rest_until_s = float("-inf")
        self._work_until_s = float("-inf")
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
        """A request may start without waiting."""
        return not lane.waiting and self._used_s < QUANTUM_S and self._now_s() >= self._free_s

    def wait(self, lane: Lane, connection: QueuedConnection) -> None:
        """``connection.turn_has_come`` is called when its request may start."""
        if connection in self._places:
            return
        share = connection.share
        finish_s = max(share.finish_s, self._virtual_s) + share.last_cost_s
        number = self._places[connection] = next(self._numbers)
        heappush(lane.waiting, (finish_s, number, connection))
        if isinstance(lane, DecodedLane):
            self._watch(lane)
        self._schedule()

    def holds(self, connection: QueuedConnection) -> bool:
        """Its next request waits here."""
        return connection in self._places

    def forget(self, connection: QueuedConnection) -> None:
        """The connection is gone, or drops its requests."""
        if self._places.pop(connection, None) is not None:
            self._drop_stale()

    def used(self, share: LoopShare, cost_s: float) -> None:
        """A queued request, or a step, has used so much loop time."""
        self._used_s += cost_s
        share.finish_s = max(share.finish_s, self._virtual_s) + cost_s
        # A newcomer starts at the virtual time: behind the first of those that wait, and before most of them.
        virtual_s = self._virtual_s + cost_s / (len(self._places) + len(self._steps) + 1)
        firsts_s = [lane.waiting[0][0] for lane in self._lanes if lane.waiting and lane.is_open]
        self._virtual_s = max(self._virtual_s, min(virtual_s, *firsts_s)) if firsts_s else virtual_s
        self._schedule()

    def rest(self, cost_s: float, *, adds: bool = False) -> None:
        """What was used just now was long: no request starts from the queue for a while.

        That is as long as the longest use since the rest began asks for, or, with ``adds``, as long as all together do.
        No rest is longer than `LONGEST_REST_S`, and between two rests a request starts if one waits.
        """
        now_s = self._now_s()
        if now_s >= self._rest_until_s:
            if self._is_start_due and self._places:
                return
            self._rest_began_s, self._is_start_due = now_s, True
        from_s = max(self._rest_until_s, now_s) if adds else self._rest_began_s
        rest_until_s = max(self._rest_until_s, from_s + REST_FACTOR * cost_s)
        self._rest_until_s = min(rest_until_s, self._rest_began_s + LONGEST_REST_S)

    def goes_on(self) -> Callable[[], None]:
        """A request that may be expensive goes on in later steps, whose cost is not known yet.

        No other starts until what is returned here is called, or for `LONGEST_WORK_S`: it may wait for another broker.
        """
        until_s = self._work_until_s = self._now_s() + LONGEST_WORK_S

        def ended() -> None:
            if self._work_until_s == until_s:
                self._work_until_s = float("-inf")
                self._stop_timer()
                self._schedule()

        return ended

    def put_in_debt(self, share: LoopShare, cost_s: float) -> None:
        """A request has used so much: the next ones of its connection count as expensive for a while."""
        share.last_cost_s = cost_s
        share.debt_until_s = max(share.debt_until_s, self._now_s() + DEBT_FACTOR * cost_s)

    def is_in_debt(self, share: LoopShare) -> bool:
        if share.debt_until_s and self._now_s() >= share.debt_until_s:
            share.debt_until_s = share.last_cost_s = 0.0
        return share.debt_until_s > 0.0

    # --- steps of coroutines

    @property
    def may_step(self) -> bool:
        return self._used_s < QUANTUM_S and not self._steps

    def step_turn(self, share: LoopShare) -> "asyncio.Future[None]":
        """Done when the next step may be taken."""
        turn = self._loop.create_future()
        heappush(self._steps, (max(share.finish_s, self._virtual_s), next(self._numbers), turn))
        self._schedule()
        return turn

    def stepped(self, share: LoopShare, step_s: float) -> None:
        self._step_s = max(step_s, self._step_s * _ESTIMATE_DECAY)
        self.used(share, step_s)

    # --- the next ones

    def _schedule(self) -> None:
        """Look again: in the next iteration, or when the rest is over."""
        if self._is_scheduled:
            return
        rest_s = self._free_s - self._now_s()
        if self._used_s or self._steps or (rest_s <= 0 and self._has_runnable()):
            self._is_scheduled = True
            self._loop.call_soon(self._serve)
        elif self._timer is None and self._has_runnable():
            self._timer = self._call_later(rest_s, self._rested)

    @property
    def _free_s(self) -> float:
        """When the next request may start."""
        return max(self._rest_until_s, self._work_until_s)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rested(self) -> None:
        self._timer = None
        self._schedule()

    def _has_runnable(self) -> bool:
        return any(lane.waiting and lane.is_open for lane in self._lanes)

    def _serve(self) -> None:
        self._is_scheduled = False
        self._used_s = 0.0
        self._release_steps()
        for _ in range(_MAX_REQUESTS_PER_ITERATION):
            if self._used_s >= QUANTUM_S or self._now_s() < self._free_s:
                break
            runnable = [lane for lane in self._lanes if lane.waiting and lane.is_open]
            if not runnable:
                break
            self._start_first(min(runnable, key=lambda lane: lane.waiting[0][:2]))
        self._schedule()

    def _release_steps(self) -> None:
        room_s = QUANTUM_S  # they run in the next iteration: what they will use can only be estimated
        while self._steps and room_s > 0:
            _, _, turn = heappop(self._steps)
            if not turn.done():  # else its task was cancelled
                turn.set_result(None)
                room_s -= max(self._step_s, QUANTUM_S / 32)

    def _start_first(self, lane: Lane) -> None:
        _, _, connection = heappop(lane.waiting)
        del self._places[connection]
        self._drop_stale()
        self._is_start_due = False
        self.serving = lane
        connection.turn_has_come()
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

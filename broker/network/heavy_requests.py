"""Requests of many parts keep the event loop for up to half a second each: they must not have it to themselves.

A request that is large may be one, and so may any that comes soon after one on its connection: 25 bytes can ask for
the metadata of all topics. So may the first of its API on a connection, until one was not: else a thousand newcomers
had the loop one after the other. Produce requests seldom are: their bytes are records, which nobody looks at here; but
one may name partitions by the thousand and have no records for them, or its records are refused: nobody is served by
what is spent on more of their kind. After one that took its time the next, whoever sends it, waits for twice as long
as that: so all together they have a third of the loop, and everybody else the rest. Those that produce in vain wait
for each other only: who sends the first request of a kind is not to wait behind hundreds of them. One that goes on in
later turns of the loop has them to itself for a while: it is done sooner, and so is the next, than if they took turns,
and less is in memory meanwhile.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

__all__ = [
    "HEAVY_BYTES",
    "HEAVY_FOR_ITS_TIME",
    "LONGEST_WORK_S",
    "LONG_FETCH_S",
    "LONG_S",
    "NOT_HEAVY_AT_FIRST",
    "OUTSIDE_TURNS",
    "HeavyRequests",
    "HeavyUser",
]

HEAVY_BYTES = 16 * 1024
LONG_S = 0.001
"""A request that takes more of the loop is heavy, whatever its size. It counts in ``work_time_s``: what happens
meanwhile by chance makes nobody heavy, who would wait behind all who are."""
HEAVY_FOR_ITS_TIME = 100
"""So many times as long as such a request took, all of its connection are heavy: else trifles could come between."""
LONG_FETCH_S = 0.005
"""The same for `OUTSIDE_TURNS`: a fetch of hundreds of partitions is well-behaved clients' daily work."""
_PAUSE_FACTOR = 2.0
LONGEST_WORK_S = 0.25
"""One that goes on for longer may wait for something else, other brokers say: then the next starts all the same."""
_FETCH = 1
_OF_BROKERS = (4, 5, 6, 7, 27, 56, 67)
OUTSIDE_TURNS = frozenset((_FETCH, *_OF_BROKERS))
"""APIs for which large requests that go on make nobody wait, and which do not wait for those: a fetch waits for as long
as its client likes, and what brokers ask of each other is not to be held up."""
_PRODUCE = 0
_API_VERSIONS = 18
NOT_HEAVY_AT_FIRST: int = sum(1 << api_key for api_key in (*OUTSIDE_TURNS, _PRODUCE, _API_VERSIONS))
"""A bit for each API of which the first request of a connection does not count as heavy for that alone."""
_S_FOR_A_BYTE_OF_ITS_ANSWER = 1.5e-7
"""What a produce request costs that names partitions by the thousand, and has no records for them."""
_S_FOR_A_REFUSED_BYTE = 1e-9
"""What it costs to read records and to look at them."""


class HeavyUser(Protocol):
    """A connection, as seen from here."""

    def heavy_turn_has_come(self) -> None: ...


class TimerHandle(Protocol):
    def cancel(self) -> None: ...


class HeavyRequests:
    """Whose turn it is. ``now_s`` is a monotonic clock that moves on while a request is handled."""

    def __init__(
        self,
        call_later: Callable[[float, Callable[[], None]], TimerHandle],
        now_s: Callable[[], float],
    ) -> None:
        self._call_later = call_later
        self._now_s = now_s
        self._paused_until = self._work_until = float("-inf")
        self._waiting: OrderedDict[HeavyUser, None] = OrderedDict()  # in the order they came
        self._turn: HeavyUser | None = None
        self._work: object | None = None
        self._timer: TimerHandle | None = None

    def may_start(self, user: HeavyUser, waits_for_work: bool = True) -> bool:
        """No: ``heavy_turn_has_come`` is called when it may. ``waits_for_work``: also for one that goes on."""
        if self._turn is user:
            self._turn = None
            return True
        now_s = self._now_s()
        if not waits_for_work and now_s < self._work_until and now_s >= self._paused_until:
            return True
        if not self._waiting and self._turn is None and now_s >= self._free_s():
            return True
        self._waiting[user] = None
        self._watch()
        return False

    def took(self, duration_s: float) -> None:
        """A request, or a step of one that goes on, has just kept the loop for so long."""
        if duration_s > LONG_S:
            self._pause_after(duration_s)

    def took_produce(self, frame_bytes: int, answer_bytes: int, *, is_refused: bool) -> bool:
        """A produce request was answered; its answer's last part, the body, has so many bytes. Whether the next one of
        its connection is heavy.

        It is when records were refused, or when many partitions were named without a batch, and a hundred thousand of
        them, if longer ones say so: an answer has thirty bytes for each, and a batch more than twice as many.
        """
        if answer_bytes > frame_bytes:
            self.took(answer_bytes * _S_FOR_A_BYTE_OF_ITS_ANSWER)
            return True
        if is_refused:
            self._pause_after(frame_bytes * _S_FOR_A_REFUSED_BYTE)
        return is_refused

    def work_goes_on(self) -> Callable[[], None]:
        """The request that was just handled is not done: nobody else's starts until what is returned here is called."""
        work = self._work = object()
        self._work_until = self._now_s() + LONGEST_WORK_S

        def ended() -> None:
            if self._work is work:
                self._work = None
                self._work_until = float("-inf")
                self._stop_watching()
                self._watch()

        return ended

    def forget(self, user: HeavyUser) -> None:
        """The connection is gone."""
        if self._turn is user:
            self._turn = None
        self._waiting.pop(user, None)

    def _pause_after(self, duration_s: float) -> None:
        self._paused_until = max(self._paused_until, self._now_s() + _PAUSE_FACTOR * duration_s)

    def _free_s(self) -> float:
        """When the next one may start."""
        return max(self._paused_until, self._work_until)

    def _watch(self) -> None:
        if self._timer is None and self._waiting:
            self._timer = self._call_later(self._free_s() - self._now_s(), self._give_turn)

    def _stop_watching(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_turn(self) -> None:
        self._timer = None
        if self._now_s() >= self._free_s() and self._waiting:
            self._turn = user = next(iter(self._waiting))
            del self._waiting[user]
            user.heavy_turn_has_come()
            self._turn = None  # it had its chance: it may be held for another reason, and asks again then
        self._watch()

"""What requests were decoded to whose handlers go on with them in later turns of the loop, or wait for a disk, with
their answers so far (``pybroker.decoded.requests.max.bytes``; Kafka bounds it by its heap). Each API has an account of
its own: who asks for very much of one kind keeps nobody's commits waiting. But all administration has one together for
the requests that would fill such an account alone, so that there is one at a time: one of each kind would be a
gigabyte, and the garbage collector would look through all of it, again and again.

Nobody knows what that takes: it is reckoned at so many bytes for each byte of the request. Over the limit, requests
wait for some of those under way to end: large ones, and any on a connection that has others under way. A small one of
a connection that has no other waits only at twice the limit: who comes, asks and goes leaves its request behind.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

from .heavy_requests import OUTSIDE_TURNS

__all__ = [
    "DECODED_FOR_A_BYTE",
    "LEAST_BYTES",
    "NOT_COUNTED",
    "SMALL_BYTES",
    "STANDSTILL_S",
    "DecodedAccounts",
    "DecodedRequests",
    "DecodedUser",
]

DECODED_FOR_A_BYTE = 64
"""An array's element is a few hundred bytes as an object, and as many in the answer; in the request it is twelve, or
four."""
LEAST_BYTES = 256
"""A request of fewer counts as one of so many: a handler at work is two kilobytes, whatever it was asked."""
SMALL_BYTES = 1024
STANDSTILL_S = 2.0
"""When none takes a step for so long, all wait for something else, other brokers say: then one more starts."""
_PRODUCE, _JOIN_GROUP, _SYNC_GROUP = 0, 11, 14
NOT_COUNTED = OUTSIDE_TURNS | {_PRODUCE, _JOIN_GROUP, _SYNC_GROUP}
"""APIs whose requests wait for as long as other clients like; what they keep meanwhile, their handlers count. Produce
requests have an account of another kind (`RequestMemory`)."""
_AT_WORK = frozenset((2, 3, 8, 9, 10, 15, 23, 24, 28, 61, 75))
"""Metadata, offsets, groups, transactions: what clients at work ask, of many partitions perhaps."""
_LARGE = -1
"""No API: the account of those of administration that would fill one alone."""


class DecodedUser(Protocol):
    """A connection, as seen from here."""

    def decoded_turn_has_come(self) -> None: ...


class DecodedRequests:
    """One account, and the queue of those who wait for it to shrink."""

    def __init__(
        self,
        max_bytes: int,
        call_soon: Callable[[Callable[[], None]], object],
        call_later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        self.max_bytes = max_bytes
        self.used_bytes = 0
        self.is_crowded = False
        """The limit is reached, or somebody waits."""
        self._call_soon = call_soon
        self._call_later = call_later
        self._waiting: OrderedDict[DecodedUser, None] = OrderedDict()  # in the order they came
        self._turn: DecodedUser | None = None
        self._is_waking = False
        self._is_watching = False
        self._has_moved = False  # since the watch began

    def may_start(self, user: DecodedUser, frame_bytes: int, *, has_others: bool) -> bool:
        """No: ``decoded_turn_has_come`` is called when it may. ``has_others``: requests under way."""
        if not self.is_crowded:
            return True
        if self._turn is user:
            self._turn = None
            return True
        if frame_bytes <= SMALL_BYTES and not has_others and self.used_bytes <= 2 * self.max_bytes:
            return True
        self._waiting[user] = None
        self._watch()
        self._judge()
        return False

    def take(self, frame_bytes: int) -> None:
        """A request of that size goes on."""
        self.used_bytes += max(frame_bytes, LEAST_BYTES) * DECODED_FOR_A_BYTE
        self._judge()

    def give_back(self, frame_bytes: int) -> None:
        """It is done."""
        self.used_bytes -= max(frame_bytes, LEAST_BYTES) * DECODED_FOR_A_BYTE
        self._judge()

    def moved(self) -> None:
        """One of those under way has taken a step."""
        self._has_moved = True

    def forget(self, user: DecodedUser) -> None:
        """The connection is gone."""
        if user in self._waiting:
            del self._waiting[user]
            self._judge()

    def _judge(self) -> None:
        is_over = self.used_bytes > self.max_bytes
        self.is_crowded = is_over or bool(self._waiting)
        if self._waiting and not is_over and not self._is_waking:
            self._is_waking = True
            self._call_soon(self._wake_one)

    def _wake_one(self) -> None:
        # One a turn of the loop: what it starts counts before the next one is let on.
        self._is_waking = False
        if self.used_bytes <= self.max_bytes:
            self._give_turn()
        self._judge()

    def _give_turn(self) -> None:
        if not self._waiting:
            return
        self._has_moved = True
        self._turn, _ = self._waiting.popitem(last=False)
        self._turn.decoded_turn_has_come()
        self._turn = None  # it had its chance: it may be held for another reason, and asks again then

    def _watch(self) -> None:
        if not self._is_watching:
            self._is_watching = True
            self._has_moved = False
            self._call_later(STANDSTILL_S, self._move_on)

    def _move_on(self) -> None:
        self._is_watching = False
        if not self._has_moved:
            self._give_turn()
        if self._waiting:
            self._watch()
        self._judge()


class DecodedAccounts:
    """All of a loop's. They are made when they are needed first."""

    def __init__(
        self,
        max_bytes: int,
        call_soon: Callable[[Callable[[], None]], object],
        call_later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        self._new_account = partial(DecodedRequests, max_bytes, call_soon, call_later)
        self._largest_frame = max_bytes // DECODED_FOR_A_BYTE
        self._accounts: dict[int, DecodedRequests] = {}

    def used(self, api_key: int, frame_bytes: int) -> DecodedRequests | None:
        """The account of a request, if there has ever been anything in it."""
        return self._accounts.get(self._key(api_key, frame_bytes))

    def of(self, api_key: int, frame_bytes: int) -> DecodedRequests:
        """The account of a request of an API that is served."""
        key = self._key(api_key, frame_bytes)
        account = self._accounts.get(key)
        if account is None:
            account = self._accounts[key] = self._new_account()
        return account

    def forget(self, user: DecodedUser) -> None:
        """The connection is gone."""
        for account in self:
            account.forget(user)

    def __iter__(self) -> Iterator[DecodedRequests]:
        return iter(self._accounts.values())

    def _key(self, api_key: int, frame_bytes: int) -> int:
        if frame_bytes <= self._largest_frame or api_key in _AT_WORK or api_key in NOT_COUNTED:
            return api_key
        return _LARGE

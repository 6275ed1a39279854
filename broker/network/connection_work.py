"""What one connection's requests took of the loop, and which of its next ones wait for a turn for that."""

from collections.abc import Callable

from .heavy_requests import (
    HEAVY_BYTES,
    HEAVY_FOR_ITS_TIME,
    LONG_FETCH_S,
    LONG_S,
    NOT_HEAVY_AT_FIRST,
    OUTSIDE_TURNS,
    HeavyRequests,
    HeavyUser,
)

__all__ = ["ConnectionWork"]

_PRODUCE = 0


class ConnectionWork:
    """Turns are given by `HeavyRequests`, which tells why."""

    __slots__ = ("_has_turn", "_heavy", "_heavy_until_s", "_in_vain", "_light", "_now_s", "_produces_in_vain")

    def __init__(self, heavy: HeavyRequests, produce_in_vain: HeavyRequests, now_s: Callable[[], float]) -> None:
        self._heavy = heavy
        self._in_vain = produce_in_vain
        self._now_s = now_s
        self._light = NOT_HEAVY_AT_FIRST  # a bit for each API: its next request is heavy for other reasons only
        self._heavy_until_s = 0.0  # so long after one that was heavy the others are, too
        self._produces_in_vain = False  # as far as the last large request tells
        self._has_turn = False  # the request that waits for something else

    def is_heavy(self, api_key: int, frame_bytes: int) -> bool:
        """Whether a request is, for its size or for what came before it."""
        if api_key == _PRODUCE:
            return self._produces_in_vain and frame_bytes > HEAVY_BYTES
        return frame_bytes > HEAVY_BYTES or (self._heavy_until_s > 0.0 and self._is_still_heavy())

    def may_start(self, user: HeavyUser, api_key: int, is_heavy: bool) -> bool:
        """No: ``user.heavy_turn_has_come`` is called when it may."""
        if self._has_turn or not (is_heavy or self._is_unknown(api_key)):
            return True
        if api_key == _PRODUCE:
            return self._in_vain.may_start(user)
        return self._heavy.may_start(user, waits_for_work=is_heavy and api_key not in OUTSIDE_TURNS)

    def keep_turn(self, api_key: int, is_heavy: bool) -> None:
        """It may start, and waits for something else."""
        self._has_turn = is_heavy or self._is_unknown(api_key)

    def starts(self) -> None:
        self._has_turn = False

    def request_took(self, api_key: int, took_s: float) -> None:
        """All of it, or its first step. Not for a produce request."""
        if took_s <= LONG_S and self._is_unknown(api_key):
            self._light |= 1 << api_key
        self.step_took(took_s, took_s, LONG_FETCH_S if api_key in OUTSIDE_TURNS else LONG_S)

    def step_took(self, step_s: float, took_s: float, long_s: float = LONG_S) -> None:
        """So long a step has kept the loop, and all of its request's so far. Between its steps others have theirs: only
        for one that is long the next heavy request waits."""
        if step_s > long_s:
            self._heavy.took(step_s)
        if took_s > long_s:
            self._heavy_until_s = max(self._heavy_until_s, self._now_s() + took_s * HEAVY_FOR_ITS_TIME)

    def produced(self, frame_bytes: int, answer_bytes: int, *, is_refused: bool) -> None:
        """A large produce request was answered; see `HeavyRequests.took_produce`."""
        self._produces_in_vain = self._in_vain.took_produce(frame_bytes, answer_bytes, is_refused=is_refused)

    def forget(self, user: HeavyUser) -> None:
        """The connection is gone: it waits for no turn."""
        self._heavy.forget(user)
        self._in_vain.forget(user)

    def _is_unknown(self, api_key: int) -> bool:
        """None of its requests was light yet, of those that may not be."""
        return not self._light >> api_key & 1

    def _is_still_heavy(self) -> bool:
        if self._now_s() >= self._heavy_until_s:
            self._heavy_until_s = 0.0
        return self._heavy_until_s > 0.0

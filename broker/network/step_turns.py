"""Requests whose handlers are coroutines, some hundred of them perhaps, share a part of each turn of the loop."""

import asyncio
from collections import deque

__all__ = ["TURN_S", "StepTurns"]

TURN_S = 0.00025
"""Of work in a turn of the loop, for all that go on together."""
_FORGOTTEN = 0.875
"""What is left, after each step, of how long a longer one was."""


class StepTurns:
    """Who may take its next step. They come in the order in which they have asked."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._used_s = 0.0  # in this turn
        self._long_s = 0.0  # one of the last steps that was long
        self._ends = False  # this turn, when what is ready now has run

    @property
    def is_free(self) -> bool:
        return self._used_s < TURN_S and not self._waiting

    def wait(self) -> "asyncio.Future[None]":
        """Done when it may."""
        turn = self._loop.create_future()
        self._waiting.append(turn)
        self._end_turn_soon()
        return turn

    def took(self, step_s: float) -> None:
        """A step has been taken."""
        self._used_s += step_s
        self._long_s = max(step_s, self._long_s * _FORGOTTEN)
        self._end_turn_soon()

    def _end_turn_soon(self) -> None:
        if not self._ends:
            self._ends = True
            self._loop.call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._ends = False
        self._used_s = 0.0
        # They run when this turn is over: what they will take can only be guessed.
        room_s = TURN_S
        while self._waiting and room_s > 0:
            turn = self._waiting.popleft()
            if not turn.done():  # else its task was cancelled
                turn.set_result(None)
                room_s -= max(self._long_s, TURN_S / 32)
        if self._waiting:
            self._end_turn_soon()

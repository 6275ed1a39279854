"""A costly result, shared by all viewers who ask for it at about the same time.

**Why.** Pages ask again every few seconds, and the list of a large cluster takes a good part of a second to make.
**How.** One question is under way at a time. Its result is kept for some seconds, at least for `_PACE` times the time
that it took, so that the questions of any number of viewers use a bounded share of the processor. A result that no
viewer has wanted for `UNUSED_S` is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)

UNUSED_S = 30.0
_PACE = 5
_AFTER_REPLY_S = 0.2


class Kept(Generic[T_co]):
    """Used on the event loop only. `ask`: gets a new result. `fresh_s`: how long a result is kept at least.

    `is_large`: the old result is dropped before a new result is asked for.
    """

    def __init__(self, ask: Callable[[], Awaitable[T_co]], fresh_s: float = 0.0, *, is_large: bool = False) -> None:
        self._ask = ask
        self._fresh_s = fresh_s
        self._is_large = is_large
        self._answer: asyncio.Future[T_co] | None = None
        self._asking: asyncio.Task[T_co] | None = None
        self._fresh_until_s = 0.0
        self._used_s = 0.0
        self._drop: asyncio.TimerHandle | None = None
        self._ask_later: asyncio.TimerHandle | None = None

    async def get(self) -> T_co:
        """A fresh result. Raises what the question raises."""
        self._use()
        if self._answer is not None and self._is_fresh():
            return self._answer.result()
        return await asyncio.shield(self._question())

    async def within(self, patience_s: float) -> T_co | None:
        """The newest result after `patience_s`, perhaps an old one; None if there is none yet.

        The question goes on meanwhile, so a later call finds its result. Without patience it begins a moment later,
        because it would take the broker's time and the console's from the reply. Raises what the question raises.
        """
        self._use()
        if self._answer is not None and self._is_fresh():
            return self._answer.result()
        if patience_s <= 0 and self._asking is None:
            if self._ask_later is None:
                self._ask_later = asyncio.get_running_loop().call_later(_AFTER_REPLY_S, self._question)
            return None if self._answer is None else self._answer.result()
        question = self._question()
        await asyncio.wait([question], timeout=patience_s)
        if question.done():
            return question.result()
        return None if self._answer is None else self._answer.result()

    def forget(self) -> None:
        """Drop the result, which is out of date, and do not keep that of the question under way."""
        self._answer = None
        self._asking = None

    def close(self) -> None:
        """Forget the result for good."""
        if self._drop is not None:
            self._drop.cancel()
            self._drop = None
        self._ask_no_more()
        self.forget()

    def _is_fresh(self) -> bool:
        return asyncio.get_running_loop().time() < self._fresh_until_s

    def _ask_no_more(self) -> None:
        if self._ask_later is not None:
            self._ask_later.cancel()
            self._ask_later = None

    def _question(self) -> asyncio.Task[T_co]:
        self._ask_no_more()
        if self._asking is None:
            if self._is_large:
                self._answer = None
            loop = asyncio.get_running_loop()
            began_s = loop.time()
            self._asking = loop.create_task(self._asked())
            self._asking.add_done_callback(lambda done: self._answered(done, loop.time() - began_s))
        return self._asking

    async def _asked(self) -> T_co:
        return await self._ask()

    def _answered(self, done: asyncio.Task[T_co], took_s: float) -> None:
        if done.cancelled() or done.exception() is not None:
            if self._asking is done:
                self._asking = None
            return
        if self._asking is not done:
            return
        self._asking, self._answer = None, done
        self._fresh_until_s = asyncio.get_running_loop().time() + max(self._fresh_s, _PACE * took_s)

    def _use(self) -> None:
        loop = asyncio.get_running_loop()
        self._used_s = loop.time()
        if self._drop is None:
            self._drop = loop.call_later(UNUSED_S, self._drop_if_unused)

    def _drop_if_unused(self) -> None:
        loop = asyncio.get_running_loop()
        rest_s = self._used_s + UNUSED_S - loop.time()
        if rest_s > 0:
            self._drop = loop.call_later(rest_s, self._drop_if_unused)
            return
        self._drop = None
        self._answer = None

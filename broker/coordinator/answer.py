"""An answer that is there at once or comes later."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

__all__ = ["Answer"]

Result = TypeVar("Result")
Response = TypeVar("Response")


class Answer(Generic[Result, Response]):
    """Takes a result as a reply callback and hands out a response: itself when known, else a future of it.

    Most requests are answered before their handler returns, and then cost neither a future nor a task.
    """

    __slots__ = ("_future", "_response", "_shape")

    def __init__(self, shape: Callable[[Result], Response]) -> None:
        self._shape: Callable[[Result], Response] | None = shape
        self._response: Response | None = None
        self._future: asyncio.Future[Response] | None = None

    def __call__(self, result: Result) -> None:
        """The result; only the first one counts."""
        if self._response is not None or self._shape is None:
            return
        self._response = self._shape(result)
        if self._future is not None and not self._future.done():  # a closed connection cancels it
            self._future.set_result(self._response)

    def abandon(self) -> None:
        """Nobody is there to be answered any more. Whoever holds on to this (a group waits for its members whether
        they have hung up or not) does not hold the request and its connection with it."""
        self._shape = None
        if self._future is not None:
            self._future.cancel()
            self._future = None

    def take(self) -> Response | Awaitable[Response]:
        """What the handler returns."""
        if self._response is not None:
            return self._response
        self._future = asyncio.get_running_loop().create_future()
        return self._future

"""The response of a handler whose result is known at once or later."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

__all__ = ["PendingResponse"]

Result = TypeVar("Result")
Response = TypeVar("Response")


class PendingResponse(Generic[Result, Response]):
    """A reply callback that turns its result into a response. The handler returns `take()`.

    Most results are known before the handler returns, and then no future and no task is made.
    """

    __slots__ = ("_future", "_response", "_to_response")

    def __init__(self, to_response: Callable[[Result], Response]) -> None:
        self._to_response: Callable[[Result], Response] | None = to_response
        self._response: Response | None = None
        self._future: asyncio.Future[Response] | None = None

    def __call__(self, result: Result) -> None:
        """Set the result; only the first call counts."""
        if self._response is not None or self._to_response is None:
            return
        self._response = self._to_response(result)
        if self._future is not None and not self._future.done():  # a closed connection cancels it
            self._future.set_result(self._response)

    def abandon(self) -> None:
        """The connection is closed. Drop the references to the request, because the group may keep this callback until
        its rebalance is over."""
        self._to_response = None
        if self._future is not None:
            self._future.cancel()
            self._future = None

    def take(self) -> Response | Awaitable[Response]:
        """The response, or a future of it."""
        if self._response is not None:
            return self._response
        self._future = asyncio.get_running_loop().create_future()
        return self._future

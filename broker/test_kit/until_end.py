"""Ends an act or a helper when its broker ends, because what it waits for never comes then."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from ...base.futures import set_done
from .act_error import ActError

__all__ = ["Guard", "until_end"]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_ENDED = "the broker ended meanwhile"


class Guard:
    """Knows the end of the broker that runs now. Used on the broker's loop."""

    def __init__(self) -> None:
        self._ended: asyncio.Future[None] | None = None

    def begin(self) -> Callable[[], None]:
        """A broker is about to start. Call the result when it has ended."""
        self._ended = ended = asyncio.get_running_loop().create_future()
        return partial(set_done, ended)

    async def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of ``work``. Raises ActError when no broker runs, or when it ends before."""
        ended = self._ended
        if ended is None or ended.done():
            work.close()
            raise ActError("the broker does not run")
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait((task, ended), return_when=asyncio.FIRST_COMPLETED)
            if not task.done() or (ended.done() and (task.cancelled() or task.exception() is not None)):
                raise ActError(_ENDED)
            return task.result()
        finally:
            task.cancel()


class Guarded(Protocol):
    guard: Guard


SelfT = TypeVar("SelfT", bound=Guarded)


def until_end(
    act: Callable[Concatenate[SelfT, Arguments], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[SelfT, Arguments], Coroutine[Any, Any, Result]]:
    """The act, which raises ActError when the broker does not run, or ends during it."""

    @wraps(act)
    async def guarded(self: SelfT, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        return await self.guard.run(act(self, *arguments, **named))

    return guarded

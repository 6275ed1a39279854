"""The open parts of a broker, each with the functions that close it and kill it."""

from collections.abc import Awaitable, Callable

from ..base.frozen import frozen

__all__ = ["OpenParts"]


def _nothing() -> None:
    pass


@frozen(eq=False)
class _Part:
    close: Callable[[], Awaitable[None] | None]
    kill: Callable[[], None]


class OpenParts:
    """Parts end in the reverse of the order in which they were added.

    A part is added before it opens anything, so that no open part is unknown here. Therefore its ``close`` and ``kill``
    must be harmless when it is half open or has ended.
    """

    def __init__(self) -> None:
        self._parts: list[_Part] = []

    def add(self, close: Callable[[], Awaitable[None] | None] = _nothing, kill: Callable[[], None] = _nothing) -> None:
        """``close`` may be a coroutine function. ``kill`` is also called when ``close`` fails or is cancelled."""
        self._parts.append(_Part(close, kill))

    async def close(self) -> None:
        """Close all parts, even if one fails; raises the first error at the end."""
        errors: list[BaseException] = []
        while self._parts:
            part = self._parts[-1]
            try:
                closing = part.close()
                if closing is not None:
                    await closing
            except BaseException as error:
                errors.append(error)
                part.kill()
            if part in self._parts:  # not killed meanwhile
                self._parts.remove(part)
        if errors:
            raise errors[0]

    def kill(self) -> None:
        """Kill all parts, including the one that is being closed."""
        while self._parts:
            self._parts.pop().kill()

"""What a broker has open, each part with how it is closed and how a crash would end it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

__all__ = ["OpenParts"]


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    close: Callable[[], Awaitable[None] | None]
    kill: Callable[[], None]


class OpenParts:
    """Parts end in the opposite of the order in which they were added.

    A part is added before it opens anything, so that there is no moment at which it is open and not known here:
    ``close`` and ``kill`` do no harm to one that is half open, or has ended.
    """

    def __init__(self) -> None:
        self._parts: list[_Part] = []

    def add(self, close: Callable[[], Awaitable[None] | None] = _nothing, kill: Callable[[], None] = _nothing) -> None:
        """``close``: at once, or awaited. ``kill`` is also for a part whose ``close`` fails or is broken off."""
        self._parts.append(_Part(close, kill))

    async def close(self) -> None:
        """Close all of them, whatever happens to one; the first error is raised at the end."""
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
        """Kill all of them, also the one that is being closed."""
        while self._parts:
            self._parts.pop().kill()

"""The timers of an event loop as its users see them; asyncio's loops and the simulation's loop of virtual time fit."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

__all__ = ["CallLater", "Scheduler", "TimerHandle"]


class TimerHandle(Protocol):
    """A pending call, as ``call_later`` and ``call_at`` return it."""

    def cancel(self) -> None: ...


class Scheduler(Protocol):
    """``time()`` is the clock of ``call_later`` and ``call_at``, in seconds."""

    def time(self) -> float: ...

    def call_later(self, delay: float, callback: Callable[..., Any], /, *args: Any) -> TimerHandle: ...

    def call_at(self, when: float, callback: Callable[..., Any], /, *args: Any) -> TimerHandle: ...

    def call_soon(self, callback: Callable[..., Any], /, *args: Any) -> object: ...


CallLater: TypeAlias = Callable[[float, Callable[[], None]], TimerHandle]
"""``(delay in seconds, callback) -> handle``: a `Scheduler`'s ``call_later``, where it is passed alone."""

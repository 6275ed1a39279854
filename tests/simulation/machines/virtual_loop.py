"""An event loop of virtual time: it never waits, but advances to the next timer when no callback is ready.

The order of callbacks depends only on how they were scheduled, so each run of a program is the same. The base class
runs tasks, handles and timers; this class provides the time, and connections of a `Network` in memory. Executors,
sockets and signals do not exist.
"""

import asyncio
from asyncio import base_events
from collections import deque
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import Any, NoReturn, Protocol, TypeVar

__all__ = ["CURRENT_HOST", "DeadlockError", "LoopNetwork", "VirtualLoop", "on_host"]

CURRENT_HOST: ContextVar[str] = ContextVar("host")
"""The machine on which the current code runs; tasks, timers and protocols inherit it."""

ResultT = TypeVar("ResultT")


class DeadlockError(Exception):
    """A task still waits, but no callback is ready and no timer is set."""


class LoopNetwork(Protocol):
    """The network that makes connections and servers for a loop."""

    async def create_server(
        self, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int, *, start_serving: bool
    ) -> Any: ...

    async def create_connection(
        self, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> tuple[Any, asyncio.BaseProtocol]: ...

    def addresses(self, host: str) -> list[str]:
        """Raises OSError for a name that is unknown."""


class VirtualLoop(base_events.BaseEventLoop):
    """An event loop whose `time()` begins at 0. The creator sets `network`.

    `errors`: exceptions of callbacks without a waiting task (`call_exception_handler`). `hosts_run`: the machines on
    which something ran since the reader last cleared it; None stands for code outside of machines.
    """

    network: LoopNetwork

    def __init__(self) -> None:
        super().__init__()
        self._now_s = 0.0
        self._clock_resolution = 1e-9
        self._selector = _Skip(self)
        self.hosts_run: dict[str | None, None] = {}
        self._ready = _Ready(self.hosts_run)
        self.errors: list[dict[str, Any]] = []
        self.turns = 0
        self.before_turn: Callable[[], None] | None = None
        """Called when all ready callbacks have run."""
        self._at_turn: tuple[int, Callable[[], None]] | None = None
        self.set_exception_handler(_note_error)

    def time(self) -> float:
        return self._now_s

    def call_at_turn(self, number: int, callback: Callable[[], None]) -> None:
        """Call a function when the loop has made this many iterations; replaces an earlier such call."""
        self._at_turn = number, callback

    def skip(self, seconds: float | None) -> None:
        """Advance the time by this many seconds; None raises DeadlockError, because no timer is set."""
        self.turns += 1
        if self.before_turn is not None:
            self.before_turn()
        if self._at_turn is not None and self.turns >= self._at_turn[0]:
            (_, callback), self._at_turn = self._at_turn, None
            callback()
        if seconds is None:
            raise DeadlockError(f"nothing is left to happen at {self._now_s:.6f} s")
        if seconds > 0:
            self._now_s += seconds

    # --- what the base class asks of a loop

    def _process_events(self, event_list: list[Any]) -> None:
        """Does nothing, because there are no I/O events."""

    def _write_to_self(self) -> None:
        """Does nothing, because a single thread never sleeps."""

    # --- the world

    async def create_server(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str,
        port: int,
        *,
        backlog: int = 100,
        start_serving: bool = True,
    ) -> Any:
        return await self.network.create_server(protocol_factory, host, port, start_serving=start_serving)

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], host: str, port: int, **unused: Any
    ) -> tuple[Any, asyncio.BaseProtocol]:
        given = [name for name, value in unused.items() if value is not None]
        if given:
            raise NotImplementedError(f"create_connection with {given} in virtual time")
        return await self.network.create_connection(protocol_factory, host, port)

    async def getaddrinfo(  # type: ignore[override]
        self,
        host: str,
        port: int,
        *,
        family: int = 0,
        type: int = 0,  # noqa: A002
        proto: int = 0,
        flags: int = 0,
    ) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        return [(2, 1, 6, "", (address, port)) for address in self.network.addresses(host)]

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> NoReturn:  # type: ignore[override]
        raise NotImplementedError("there are no threads in virtual time")


def _note_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Ignore abandoned tasks of crashed machines: the moment of their collection must not influence a run."""
    assert isinstance(loop, VirtualLoop)
    if context.get("message") != "Task was destroyed but it is pending!":
        loop.errors.append(context)


class _Ready(deque[asyncio.Handle]):
    """A loop callback that knows its machine."""

    def __init__(self, hosts_run: dict[str | None, None]) -> None:
        super().__init__()
        self._hosts_run = hosts_run

    def popleft(self) -> asyncio.Handle:
        handle = super().popleft()
        self._hosts_run[handle._context.get(CURRENT_HOST)] = None  # type: ignore[attr-defined]
        return handle


class _Skip:
    """Replaces the loop's selector: advances the time instead of waiting."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        self._loop.skip(timeout)
        return []


def on_host(name: str) -> Context:
    """A context for code that runs on this machine."""
    context = copy_context()
    context.run(CURRENT_HOST.set, name)
    return context

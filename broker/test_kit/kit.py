"""The test kit of one broker: its faults, its acts and its disk. They stay over restarts of the broker."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol
from uuid import UUID

from ...storage.files.files import Files, allowed_log_files
from ..clock.clocks import TestClock
from ..faults.faults import Faults
from ..network.listener import Listeners
from ..requests.dispatch import Dispatcher
from ..server import BrokerServer
from .act_error import ActError
from .act_steps import STEPS, ActSteps
from .acts import Acts
from .disk import Disk, TroubledFiles
from .own_requests import OwnRequests
from .until_end import Guard

__all__ = ["Kit"]

_NOT_RUNNING = "the broker does not run"


class EndBroker(Protocol):
    def __call__(self, *, clean: bool) -> None:
        """Begin to stop the broker, or to kill it."""


class Kit:
    """``clock``: that of the broker. ``faults``: those of a cluster; None: faults of its own. ``broker``: its id in the
    cluster. ``brokers_listener``: the name of a listener for other brokers only."""

    def __init__(
        self,
        clock: TestClock,
        faults: Faults | None = None,
        broker: int | None = None,
        brokers_listener: str | None = None,
    ) -> None:
        self._broker = broker
        self._brokers_listener = brokers_listener
        self.clock = clock
        self.faults = Faults() if faults is None else faults
        self.disk = Disk()
        self.disk.changed = self._disk_changed
        self.disk.directories = self._log_directories
        self.guard = Guard()
        """Ends what waits for the broker when the broker ends."""
        self._steps = ActSteps(self._requests, self._longest_transaction_ms, clock, self.guard)
        self.acts = Acts(self._steps, self._running, clock, self.disk)
        self.end: EndBroker | None = None
        """Stops or kills the broker; the owner of the broker sets it."""
        self._server: BrokerServer | None = None
        self._listeners: Listeners | None = None
        self._dispatcher: Dispatcher | None = None

    def new_files(self, *, is_durable: bool = True) -> Files:
        """The file system for the next start of the broker. ``is_durable``: whether its data outlives this program."""
        return TroubledFiles(allowed_log_files(), self.disk, is_durable=is_durable)

    def follow(self, server: BrokerServer) -> None:
        """Belong to a broker that is about to start."""
        self._server = server
        ended = self.guard.begin()
        server.open_parts.add(ended, ended)
        server.listeners_made = self.attach

    def act(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        """The method of an act, or of a step that a cluster asks for."""
        found: Callable[..., Coroutine[Any, Any, Any]] = getattr(self._steps if name in STEPS else self.acts, name)
        return found

    def attach(self, listeners: Listeners, topic_name: Callable[[UUID], str | None]) -> None:
        """The broker starts. See `ListenersMade`."""
        dispatcher = listeners.handler
        assert isinstance(dispatcher, Dispatcher)
        self._listeners, self._dispatcher = listeners, dispatcher
        self._disk_changed()
        self.faults.attach(listeners, topic_name, self._broker, self._brokers_listener)

    def detach(self) -> None:
        """The broker ends."""
        listeners, self._listeners, self._dispatcher = self._listeners, None, None
        if listeners is not None:
            self.faults.detach(listeners)

    def reset(self) -> None:
        """Remove all faults, and end the trouble of the disk. Clocks cannot go back."""
        self.faults.clear()
        self.disk.heal()

    def _disk_changed(self) -> None:
        """Have no append wait for a slow disk on the event loop, where it would hold everything."""
        if self._server is None or self._listeners is None:
            return
        until = float("inf") if self.disk.is_slow else float("-inf")
        for directory in self._server.api_parts.logs.directories.online():
            directory.budget.paused_until = until

    def _log_directories(self) -> Sequence[str]:
        return () if self._server is None else self._server.config.log_dirs

    def _running(self) -> BrokerServer:
        if self._server is None or not self._server.is_running:
            raise ActError(_NOT_RUNNING)
        return self._server

    def _longest_transaction_ms(self) -> int:
        return self._running().config.int("transaction.max.timeout.ms")

    def _requests(self) -> OwnRequests:
        if self._listeners is None or self._dispatcher is None:
            raise ActError(_NOT_RUNNING)
        listener_name = next(iter(self._listeners.counters))
        return OwnRequests(self._dispatcher.handlers, listener_name, self.clock.clock_ms)

"""The broker that the fixture ``kafka_broker`` gives to a test."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from ..broker.clock.clocks import BlockingClock
from ..broker.faults.faults import Faults
from ..broker.library.broker import Broker
from ..broker.library.inspection.blocking_inspection import BlockingInspection
from ..broker.library.loop_thread import LoopThread
from ..broker.library.settings_from_mapping import SettingsMapping
from ..broker.test_kit.blocking_acts import BlockingActs
from ..config.config import Config
from .aio_helpers import AioHelpers
from .clients import Clients
from .failure_report import Section

__all__ = ["KafkaBroker"]

_KEPT_REQUESTS = 50
_REPORT_LIMIT_S = 5.0
_ANY_FREE_PORT = "PLAINTEXT://127.0.0.1:0"


class KafkaBroker(BlockingInspection, Clients):
    """A broker on a thread of its own, with clients and helpers. Methods block until they are done.

    In a coroutine await the helpers of ``aio``, because a blocking call would stop clients on the same loop.
    """

    _broker: Broker

    def __init__(self, settings: SettingsMapping, preferred_client: str | None = None) -> None:
        super().__init__(preferred_client)
        self._broker = Broker({"listeners": _ANY_FREE_PORT, **settings}, keep_requests=_KEPT_REQUESTS)
        self.clock = BlockingClock(self._broker.clock)
        """The clock of the broker, which tests move."""
        self._thread = LoopThread("pybroker")
        try:
            self._thread.call(self._broker.start())
        except BaseException:
            self._thread.close()
            raise

    def close(self) -> None:
        """Close the clients, stop the broker and remove its temporary data."""
        try:
            self.close_clients()
        finally:
            try:
                self._thread.call(self._broker.close())
            finally:
                self._thread.close()

    # -- properties

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` for clients; it stays the same after a restart."""
        return self._broker.bootstrap_servers

    @property
    def http_url(self) -> str | None:
        """The URL of the HTTP endpoint; None without ``pybroker.http.listeners``."""
        return self._broker.http_url

    @property
    def is_running(self) -> bool:
        """Whether clients can use the broker."""
        return self._broker.is_running

    @property
    def settings(self) -> Config:
        """The broker's settings, with the chosen directory and port."""
        return self._broker.config

    @property
    def data_directory(self) -> Path:
        """The first of ``log.dirs``, with files in Kafka's layout."""
        return self._broker.data_directory

    @property
    def failure(self) -> Exception | None:
        """The error after which the broker could not go on and was killed; or None."""
        return self._broker.failure

    @property
    def aio(self) -> AioHelpers:
        """The helpers as coroutines, for any asyncio loop."""
        return AioHelpers(self._broker, self._thread)

    @property
    def faults(self) -> Faults:
        """Faults that tests set; they may be set from any thread."""
        return self._broker.faults

    @property
    def acts(self) -> BlockingActs:
        """Makes the broker do something at once, such as fence a producer."""
        return BlockingActs(self._broker.acts, self._thread.call)

    # -- operations

    def start(self) -> None:
        """Start again after ``stop`` or ``kill``, with the same data and port. Raises StartError."""
        self._thread.call(self._broker.start())

    def stop(self) -> None:
        """Stop cleanly."""
        self._thread.call(self._broker.stop())

    def kill(self) -> None:
        """End as ``kill -9`` would."""
        self._broker.kill()

    def restart(self) -> None:
        """Stop if it runs, then start with the same data and port. Raises StartError."""
        self._thread.call(self._broker.restart())

    # -- for the report on a failed test

    def report(self, since_ms: int) -> list[Section]:
        """The state of the broker. ``since_ms`` (wall clock): earlier requests are left out."""
        requests = self.request_lines(since_ms)
        if not self.is_running:
            why = "" if self.failure is None else f": {self.failure}"
            return [("state", [f"the broker does not run{why}"]), ("last requests", requests)]
        topics, groups = self._within(self._broker.topic_lines), self._within(self._broker.group_lines)
        return [("topics", topics), ("groups", groups), ("last requests", requests)]

    def _within(self, question: Callable[[], list[str]]) -> list[str]:
        """Ask on the broker's loop, which may hang."""

        async def ask() -> list[str]:
            return question()

        asked: Coroutine[Any, Any, list[str]] = ask()
        try:
            return self._thread.begin(asked).result(_REPORT_LIMIT_S)
        except TimeoutError:
            return [f"the broker's event loop did not answer within {_REPORT_LIMIT_S:g} s"]
        except Exception as error:
            return [f"unknown: {error}"]

    def __repr__(self) -> str:
        return repr(self._broker)

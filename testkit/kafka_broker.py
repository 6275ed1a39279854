"""The broker that the fixture ``kafka_broker`` gives to a test."""

import itertools
from collections.abc import Callable, Coroutine
from typing import Any

from ..broker.library.broker import Broker, BrokerOnThread
from ..broker.library.loop_thread import LoopThread
from ..broker.library.settings_from_mapping import SettingsMapping
from ..config.config import Config
from .aio_helpers import AioHelpers
from .clients import Clients
from .failure_report import Section

__all__ = ["KEPT_REQUESTS", "KafkaBroker"]

KEPT_REQUESTS = 50
_REPORT_LIMIT_S = 5.0
_ANY_FREE_PORT = "PLAINTEXT://127.0.0.1:0"
_numbers = itertools.count(1)


class KafkaBroker(BrokerOnThread, Clients):
    """A broker on a thread of its own, with clients and helpers. Methods block until they are done.

    In a coroutine await the helpers of ``aio``, because a blocking call would stop clients on the same loop.
    """

    def __init__(self, settings: SettingsMapping, preferred_client: str | None = None) -> None:
        Clients.__init__(self, preferred_client)
        self.thread_mark = f"of-kafka-{next(_numbers)}."
        """A part of the names of its threads, by which its log lines are known."""
        broker = Broker({"listeners": _ANY_FREE_PORT, **settings}, keep_requests=KEPT_REQUESTS)
        broker.thread_mark = self.thread_mark
        BrokerOnThread.__init__(self, broker, LoopThread(f"pybroker-{self.thread_mark}"))
        try:
            self.start()
        except BaseException:
            self._thread.close()
            raise

    def end_troubles(self) -> None:
        """Remove all faults, end the trouble of the disk, and let a frozen clock go on."""
        self.faults.clear()
        if self.acts.disk.has_trouble:
            self.acts.disk.heal()
        self.clock.unfreeze()

    def close(self) -> None:
        """Close the clients, end the broker and remove its temporary data."""
        try:
            self.end_troubles()
            self.close_clients()
        finally:
            try:
                self._thread.call(self._end())
            finally:
                self._thread.close()

    async def _end(self) -> None:
        await (self._broker.discard() if self._broker.has_temporary_data else self._broker.close())

    @property
    def settings(self) -> Config:
        """The broker's settings, with the chosen directory and port."""
        return self._broker.config

    @property
    def aio(self) -> AioHelpers:
        """The helpers as coroutines of asyncio or trio."""
        return AioHelpers(self._broker, self._thread)

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

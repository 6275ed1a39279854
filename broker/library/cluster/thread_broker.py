"""A broker of a cluster on an event loop in a thread of this program.

A kill resets its connections and drops its work, as a crash does. While it is paused its event loop stands still; its
worker threads finish what they have begun.
"""

import asyncio
import itertools
import logging
import re
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any, TypeVar

from ....config.config import Config
from ....config.http_listeners import TEST_KIT
from ....controller.tree.metadata_store import MetadataStore
from ....storage.workers.worker_pool import WorkerPool
from ...apis.broker_parts import BrokerParts
from ...clock.clocks import TestClock
from ...environment import Environment
from ...faults.faults import Faults
from ...process.log_lines import OneLineFormatter
from ...server import BrokerServer
from ...start_error import StartError
from ...test_kit.disk import Disk
from ...test_kit.kit import Kit
from ..inspection.request_ring import RequestRing
from ..loop_thread import LoopThread
from ..settings_from_mapping import config_from_mapping
from .member import Member

__all__ = ["ThreadBroker", "broker_of_thread"]

logger = logging.getLogger(__name__)

_PACKAGE = __name__.partition(".")[0]
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_MARK = re.compile(r"broker-(\d+)\.\d+")
_numbers = itertools.count(1)
Answer = TypeVar("Answer")


def broker_of_thread(name: str | None) -> int | None:
    """The id of the broker whose thread has this name, or None."""
    found = _MARK.search(name or "")
    return None if found is None else int(found[1])


class ThreadBroker(Member):
    """A broker with ``settings``, which may be changed between its runs.

    Its log lines also go to `log_file`, from the level on that the program logs.
    """

    def __init__(
        self,
        broker_id: int,
        directory: Path,
        settings: Mapping[str, str],
        open_store: Callable[[Config, Callable[[], int]], Awaitable[MetadataStore]],
        faults: Faults,
        clock: TestClock,
        *,
        is_durable: bool,
    ) -> None:
        """``faults`` and ``clock``: those of the cluster. ``is_durable``: whether the data outlives this program."""
        super().__init__(f"broker {broker_id}", directory)
        self.broker_id = broker_id
        self.settings = dict(settings)
        self._open_store = open_store
        self._is_durable = is_durable
        self._kit = Kit(clock, faults, broker_id, settings.get("inter.broker.listener.name"))
        self._mark = f"broker-{broker_id}.{next(_numbers)}"
        """The end of the names of its threads, by which its log lines are known."""
        self._thread: LoopThread | None = None
        self._server: BrokerServer | None = None
        self._starting: Future[None] | None = None
        self._has_failed = False
        self._pause: _Pause | None = None
        self.requests: RequestRing | None = None
        """Keeps the last requests; set it before a start."""
        self._lines: logging.Handler | None = None

    @property
    def pid(self) -> int | None:
        raise RuntimeError(f"{self.name} has no process of its own; Cluster(mode='process') gives each broker one")

    @property
    def is_running(self) -> bool:
        return self._thread is not None and not self._has_failed

    @property
    def is_responsive(self) -> bool:
        return self.is_running and self._pause is None

    @property
    def disk(self) -> Disk:
        """The broker's disk, for tests that make it fail."""
        return self._kit.disk

    def act(self, act: str, **arguments: Any) -> Any:
        """The result of an act of `Acts` on its loop. Raises ActError, and RuntimeError if it does not run."""
        if self._thread is None or self._has_failed:
            raise RuntimeError(f"{self.name} is not running")
        return self._thread.call(self._kit.act(act)(**arguments))

    def ask(self, question: Callable[[BrokerParts], Answer], limit_s: float) -> Answer:
        """The result of ``question``, which is asked on the broker's loop. Raises TimeoutError, and RuntimeError if the
        broker is paused or does not run."""
        if self._thread is None or self._has_failed:
            raise RuntimeError(f"{self.name} does not run")
        if self._pause is not None:
            raise RuntimeError(f"{self.name} is paused")
        return self._thread.begin(self._answer(question)).result(limit_s)

    def begin_work(self, work: Callable[[BrokerParts], Coroutine[Any, Any, Answer]]) -> Future[Answer]:
        """Begin ``work`` on the broker's loop. The future gets RuntimeError if the broker does not run."""
        thread = self._thread
        if thread is None:
            raise RuntimeError(f"{self.name} does not run")

        async def answer() -> Answer:
            return await work(await self._answer(lambda parts: parts))

        return thread.begin(answer())

    async def _answer(self, question: Callable[[BrokerParts], Answer]) -> Answer:
        if self._server is None or not self._server.is_running:
            raise RuntimeError(f"{self.name} does not run")
        return question(self._server.api_parts)

    def begin(self) -> None:
        if self.is_running:
            raise RuntimeError(f"{self.name} is already running")
        self._reap()
        config = config_from_mapping(self.settings, "Cluster")
        self.directory.mkdir(parents=True, exist_ok=True)
        self._lines = lines = logging.FileHandler(self.log_file, delay=True, encoding="utf-8")
        lines.setFormatter(OneLineFormatter(_FORMAT))
        lines.addFilter(lambda record: (record.threadName or "").endswith(self._mark))
        logging.getLogger(_PACKAGE).addHandler(lines)
        self._has_failed = False
        self._thread = LoopThread(f"pybroker-{self._mark}")
        self._starting = self._thread.begin(self._start(config))

    def wait_until_ready(self) -> None:
        if self._starting is None:
            raise StartError(f"{self.name} is not running")
        try:
            self._starting.result()
        except (StartError, CancelledError) as error:
            self._has_failed = True
            self._reap()
            raise StartError(f"{self.name} ended before it was ready: {error}") from error

    def pause(self) -> None:
        """Let its event loop stand still; returns when it does."""
        if self._thread is None or self._has_failed:
            raise RuntimeError(f"{self.name} is not running")
        if self._pause is None:
            self._pause = pause = _Pause()
            self._thread.post(lambda: self._stand_still(pause))
            pause.has_begun.wait()

    def resume(self) -> None:
        pause, self._pause = self._pause, None
        if pause is not None:
            self._kit.clock.moves.take_in(pause.loop)  # the next move waits for it, although it may not run yet
            pause.is_over.set()

    def kill(self) -> None:
        if self._pause is not None:
            self._pause.ends_by_kill = True
            self.resume()
        if self._thread is not None:
            self._thread.call(self._kill())
        self._reap()

    def stop(self) -> None:
        self.resume()
        if self._thread is not None and self._server is not None and not self._has_failed:
            self._thread.call(self._stop(self._server))
        self._reap()

    def _reap(self) -> None:
        thread, self._thread = self._thread, None
        self._server = self._starting = None
        if thread is not None:
            thread.close()
        lines, self._lines = self._lines, None
        if lines is not None:
            logging.getLogger(_PACKAGE).removeHandler(lines)
            lines.close()

    # -- on its loop

    async def _start(self, config: Config) -> None:
        environment = Environment(
            files=self._kit.new_files(is_durable=self._is_durable),
            open_store=self._open_store,
            test_clock=self._kit.clock,
            start_pool=lambda loop, threads, name: WorkerPool(loop, threads, f"{name}-of-{self._mark}"),
        )
        if self.requests is not None:
            environment.timed_by = self.requests.beside
        self._server = server = BrokerServer(config, environment)
        self._kit.follow(server)
        if config.boolean(TEST_KIT):
            from ...test_kit.routes import add_routes  # most tests have no need of HTTP

            add_routes(server.observability.router, self._kit)
        try:
            await server.start()
        except StartError as error:
            logger.error("%s could not start: %s", self.name, error)
            raise
        server.failed.add_done_callback(lambda _: self._failed(server))

    async def _stop(self, server: BrokerServer) -> None:
        self._kit.detach()
        await server.stop()
        await server.settle()

    async def _kill(self) -> None:
        self._kit.detach()
        server = self._server
        if server is not None:
            server.kill()
            await server.settle()

    def _failed(self, server: BrokerServer) -> None:
        """Kill a broker that cannot go on."""
        self._has_failed = True
        server.kill()

    def _stand_still(self, pause: "_Pause") -> None:
        pause.loop = asyncio.get_running_loop()
        self._kit.clock.moves.leave_out(pause.loop)
        pause.has_begun.set()
        pause.is_over.wait()
        if pause.ends_by_kill and self._server is not None:
            self._server.kill()


class _Pause:
    loop: asyncio.AbstractEventLoop
    """Set when it stands still."""

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.is_over = threading.Event()
        self.ends_by_kill = False
        """The broker is killed before its loop does anything else."""

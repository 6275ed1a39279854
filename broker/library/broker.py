"""Brokers inside another program, for its tests and tools: ``from pybroker import Broker``.

    async with Broker() as broker: ...    on the running event loop
    with Broker() as broker: ...          on an event loop in a thread of its own

Nothing is shared between brokers, nor with the program around them: no signal handlers, no logging set-up, no limits
of the process changed.
"""

import asyncio
import contextlib
import logging
import tempfile
from collections.abc import Awaitable, Generator
from pathlib import Path
from types import TracebackType
from typing import Any

from ...config.config import Config
from ...config.load import with_overrides
from ...config.notices import notices
from ...storage.files.files import Files, allowed_log_files
from ..environment import Environment
from ..metadata.address import local_address
from ..network.settings import Endpoint
from ..server import BrokerServer
from .loop_thread import LoopOverError, LoopThread
from .settings_from_mapping import SettingsMapping, config_from_mapping

__all__ = ["BlockingBroker", "Broker"]

logger = logging.getLogger(__name__)

_ANY_FREE_PORT = "PLAINTEXT://127.0.0.1:0"


class Broker:
    """A Kafka broker for as long as an ``async with`` or a ``with`` lasts.

    What ``config`` (settings by Kafka's names) leaves out is chosen for a guest: without ``listeners`` the broker
    listens on a free port of 127.0.0.1, without ``log.dirs`` or ``log.dir`` its data is in a temporary directory that
    goes when it is closed. Otherwise defaults are those of ``pybroker``. Raises ConfigError, also for a name in a
    mapping that is no setting's: it is a slip of the program's. (A file that `load_config` read may be meant for
    Kafka and its plug-ins.) A setting that does not do what it says is a warning in the log.

    After ``stop`` or ``kill`` it may be started again, with its data and on its port.
    """

    def __init__(self, config: Config | SettingsMapping | None = None) -> None:
        if not isinstance(config, Config):
            config = config_from_mapping({} if config is None else config, "Broker")
        for line in notices(config):
            logger.warning("%s", line)
        self._given = config if config.is_given("listeners") else with_overrides(config, {"listeners": _ANY_FREE_PORT})
        self._needs_directory = not (config.is_given("log.dirs") or config.is_given("log.dir"))
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._endpoints: tuple[Endpoint, ...] = ()
        self._server: BrokerServer | None = None  # starts, runs, or has not ended completely yet
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: LoopThread | None = None
        self.failure: Exception | None = None
        """Why the broker could not go on, if it could not; it has then been killed."""

    # -- what one asks a broker

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` for clients. Known once it was started; it stays over restarts."""
        if not self._endpoints:
            raise RuntimeError("the broker was not started")
        first = self._endpoints[0]
        return str(local_address(first.host, first.port))

    @property
    def is_running(self) -> bool:
        return self._server is not None and self._server.is_running

    @property
    def config(self) -> Config:
        """The settings it runs with, or would: with the directory and the ports that were chosen."""
        chosen = {}
        if self._directory is not None:
            chosen["log.dirs"] = self._directory.name
        if self._endpoints:
            chosen["listeners"] = ",".join(map(str, self._endpoints))
        return with_overrides(self._given, chosen) if chosen else self._given

    @property
    def data_directory(self) -> Path:
        """The first of ``log.dirs``: topics' files as Kafka has them. A temporary one is there once it was started."""
        if self._needs_directory and self._directory is None:
            raise RuntimeError("the broker was not started")
        return Path(self.config.log_dirs[0])

    # -- its life, on the running event loop

    async def start(self) -> None:
        """Returns when clients may come. Raises StartError, also when it is stopped or killed meanwhile.

        Nothing is left behind then, nor when it is cancelled."""
        await self._settle()
        if self._server is not None:
            raise RuntimeError("the broker runs already, or starts")
        made = self._make_directory() if self._needs_directory and self._directory is None else None
        self._loop = asyncio.get_running_loop()
        self.failure = None
        self._server = server = BrokerServer(self.config, Environment(files=Files(allowed_log_files())))
        try:
            await server.start()
        except BaseException:
            try:
                await self._forget_server(server)
            finally:
                if made is not None:
                    self._directory = None
                    made.cleanup()
            raise
        self._endpoints = tuple(server.endpoints)
        server.failed.add_done_callback(self._failed)

    async def stop(self) -> None:
        """A clean stop, as on SIGTERM: what is under way is answered, everything is on disk. A start under way is given
        up. Harmless when stopped. Goes to its end also when it is cancelled."""
        server = self._server
        if server is not None:
            try:
                await server.stop()
            finally:
                await self._forget_server(server)

    def kill(self) -> Awaitable[None]:
        """Stop as ``kill -9`` would, whatever it does just now: no flush, no checkpoint, no mark of a clean stop;
        connections are reset, locks are released. From any thread; harmless when stopped.

        The broker is dead when this returns. What it returns may be awaited, on the broker's loop: until the sockets
        are closed, too, and a start under way has ended.
        """
        loop = self._loop
        if loop is None or self._server is None or _running_loop() is loop:
            self._kill()
            return _Settled(self)
        if self._thread is not None:
            with contextlib.suppress(LoopOverError):  # and with it the broker
                self._thread.call(self._kill_and_settle())
        elif loop.is_running():
            asyncio.run_coroutine_threadsafe(self._kill_and_settle(), loop).result()
        else:
            self._kill()
        return _Settled(None)

    async def restart(self) -> None:
        """Stop if it runs, then start on the same data and port. Raises as ``start``."""
        await self.stop()
        await self.start()

    async def close(self) -> None:
        """``stop``, and remove the temporary directory. It may be started again, as new."""
        try:
            await self.stop()
        finally:
            self._forget()

    async def __aenter__(self) -> "Broker":
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # -- its life, on a loop in a thread

    def __enter__(self) -> "BlockingBroker":
        if self._thread is not None:
            raise RuntimeError("the broker runs already")
        self._thread = thread = LoopThread("pybroker")
        try:
            thread.call(self.start())
        except BaseException:
            self._end_thread()
            raise
        return BlockingBroker(self, thread)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._thread is not None
        try:
            self._thread.call(self.close())
        finally:
            self._end_thread()

    def _end_thread(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.close()

    # -- within

    def _kill(self) -> None:
        if self._server is not None:
            self._server.kill()

    async def _settle(self) -> None:
        """Wait for the complete end of a broker that is ending."""
        while self._server is not None and self._server.is_ending:
            await self._forget_server(self._server)

    async def _forget_server(self, server: BrokerServer) -> None:
        await server.settle()
        if self._server is server:
            self._server = None

    def _make_directory(self) -> "tempfile.TemporaryDirectory[str]":
        self._directory = tempfile.TemporaryDirectory(prefix="pybroker-")
        return self._directory

    async def _kill_and_settle(self) -> None:
        self._kill()
        await self._settle()

    def _failed(self, failed: "asyncio.Future[Exception]") -> None:
        """It cannot go on. To stop it cleanly would be to vouch for what is on disk."""
        if self._server is not None and self._server.failed is failed:
            self.failure = failed.result()
            self._kill()

    def _forget(self) -> None:
        self._endpoints = ()
        directory, self._directory = self._directory, None
        if directory is not None:
            directory.cleanup()

    def __repr__(self) -> str:
        where = f" on {self.bootstrap_servers}" if self._endpoints else ""
        return f"<{type(self).__name__}{where}, {'running' if self.is_running else 'not running'}>"


class BlockingBroker:
    """What ``with Broker()`` gives: the broker, for code without an event loop. Methods return when it is done."""

    def __init__(self, broker: Broker, thread: LoopThread) -> None:
        self._broker = broker
        self._thread = thread

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` for clients; it stays over restarts."""
        return self._broker.bootstrap_servers

    @property
    def is_running(self) -> bool:
        return self._broker.is_running

    @property
    def config(self) -> Config:
        """The settings it runs with: with the directory and the ports that were chosen."""
        return self._broker.config

    @property
    def data_directory(self) -> Path:
        """The first of ``log.dirs``: topics' files as Kafka has them."""
        return self._broker.data_directory

    @property
    def failure(self) -> Exception | None:
        """Why the broker could not go on, if it could not; it has then been killed."""
        return self._broker.failure

    def start(self) -> None:
        """After ``stop`` or ``kill``: run again, on the same data and port. Raises StartError."""
        self._thread.call(self._broker.start())

    def stop(self) -> None:
        """As ``Broker.stop``. From any thread, also while another one starts the broker."""
        with contextlib.suppress(LoopOverError):  # and with it the broker
            self._thread.call(self._broker.stop())

    def kill(self) -> None:
        """As ``Broker.kill``."""
        self._broker.kill()

    def restart(self) -> None:
        """Stop if it runs, then start on the same data and port. Raises StartError."""
        self._thread.call(self._broker.restart())

    def __repr__(self) -> str:
        return repr(self._broker)


class _Settled:
    """Awaited, it waits until nothing is left of a killed broker."""

    def __init__(self, broker: Broker | None) -> None:
        self._broker = broker

    def __await__(self) -> Generator[Any, None, None]:
        if self._broker is not None:
            yield from self._broker._settle().__await__()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None

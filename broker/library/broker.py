"""A broker inside another program, for its tests and tools: ``from pybroker import Broker``.

    async with Broker() as broker: ...    on the running event loop
    with Broker() as broker: ...          on an event loop in a thread of its own

A broker shares nothing with other brokers and changes nothing in its process: no signal handlers, no logging setup, no
process limits.
"""

import asyncio
import contextlib
import logging
import tempfile
from collections.abc import Awaitable, Coroutine, Generator, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from ...config.config import Config
from ...config.config_error import ConfigError
from ...config.http_listeners import HTTP_LISTENERS, TEST_KIT
from ...config.load import with_chosen, with_overrides
from ...config.notices import notices
from ..apis.broker_parts import BrokerParts
from ..clock.clocks import BlockingClock, TestClock
from ..environment import Environment, open_metadata_store
from ..faults.faults import Faults
from ..metadata.address import local_address
from ..network.settings import Endpoint
from ..server import BrokerServer
from ..test_kit.blocking_acts import BlockingActs
from ..test_kit.kit import Kit
from .inspection.blocking_inspection import BlockingInspection
from .inspection.inspection import Inspection
from .inspection.request_ring import RequestRing
from .loop_thread import LoopOverError, LoopThread
from .settings_from_mapping import SettingsMapping, config_from_mapping
from .start_pool import MarkedPools
from .throwaway_certificates import ThrowawayCertificates, check_library, store_settings
from .user_settings import with_users

__all__ = ["BlockingBroker", "Broker", "BrokerOnThread"]

logger = logging.getLogger(__name__)

_ANY_FREE_PORT = "PLAINTEXT://127.0.0.1:0"
Result = TypeVar("Result")


class Broker(Inspection):
    """A Kafka broker that runs inside an ``async with`` or a ``with``.

    ``config`` has settings by Kafka's names. Without ``listeners`` the broker listens on a free port of 127.0.0.1.
    Without ``log.dirs`` and ``log.dir`` its data is in a temporary directory, which is removed when it is closed. Other
    defaults are those of ``pybroker``. Settings without effect log a warning.

    ``tls``: clients must use TLS, and trust the certificate in ``ca_file``. Both are made anew for each `Broker`.

    Raises ConfigError; in a mapping, also for an unknown name. (A file read by `load_config` may contain settings for
    Kafka's plug-ins.) After ``stop`` or ``kill`` the broker may be started again, with its data and on its port.

    ``users``: passwords by user; clients must then log in, by PLAIN or SCRAM.

    ``clock``: shared by several brokers; default: the broker's own. Tests move it.

    ``keep_requests``: how many of the last requests ``request_lines`` shows.
    """

    def __init__(
        self,
        config: Config | SettingsMapping | None = None,
        *,
        tls: bool = False,
        users: Mapping[str, str] | None = None,
        clock: TestClock | None = None,
        keep_requests: int = 0,
    ) -> None:
        if users is not None:
            config = _with_users(config, users, tls=tls)
        if not isinstance(config, Config):
            config = config_from_mapping({} if config is None else config, "Broker")
        if tls and users is None:
            config = _with_tls(config)
        self._has_tls = tls
        self._users = dict(users or {})
        self._ring = RequestRing(keep_requests) if keep_requests else None
        for line in notices(config):
            logger.warning("%s", line)
        self._given = config if config.is_given("listeners") else with_chosen(config, {"listeners": _ANY_FREE_PORT})
        self._needs_directory = not (config.is_given("log.dirs") or config.is_given("log.dir"))
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._certificates: tempfile.TemporaryDirectory[str] | None = None
        self._endpoints: tuple[Endpoint, ...] = ()
        self._http: tuple[Endpoint, ...] = ()
        self._server: BrokerServer | None = None  # while it starts, runs, or is ending
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: LoopThread | None = None
        self._ending: asyncio.Future[None] | None = None
        self._drops_data = False
        self.clock = TestClock() if clock is None else clock
        """Moves the broker's time; a restart does not move it back."""
        self._kit = kit = Kit(self.clock)
        kit.end = self._end_soon
        self.faults = kit.faults
        """Faults for tests of clients; they stay over a restart. May be set on any thread."""
        self.acts = kit.acts
        """Acts of tests on the broker, such as fencing a producer."""
        self.failure: Exception | None = None
        """The error after which the broker could not go on and was killed; or None."""

    thread_mark = ""
    """A part of the names of its worker threads; set it before a start. Then the broker is alone on its loop."""

    # -- properties

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` for clients, once started; it stays the same after a restart."""
        if not self._endpoints:
            raise RuntimeError("the broker was not started")
        first = self._endpoints[0]
        return str(local_address(first.host, first.port))

    @property
    def http_url(self) -> str | None:
        """The URL of the HTTP endpoint, without a slash at its end; None without ``pybroker.http.listeners``."""
        if not self._http:
            return None
        first = self._http[0]
        return f"{first.listener_name.lower()}://{local_address(first.host, first.port)}"

    @property
    def is_running(self) -> bool:
        return self._server is not None and self._server.is_running

    @property
    def config(self) -> Config:
        """The settings of the broker, with the chosen directory and ports."""
        chosen = {}
        if self._directory is not None:
            chosen["log.dirs"] = self._directory.name
        if self._certificates is not None:
            chosen |= store_settings(Path(self._certificates.name) / "broker.pem", self.ca_file)
        if self._endpoints:
            chosen["listeners"] = ",".join(map(str, self._endpoints))
        if self._http:
            chosen[HTTP_LISTENERS] = ",".join(map(str, self._http))
        return with_chosen(self._given, chosen) if chosen else self._given

    @property
    def data_directory(self) -> Path:
        """The first of ``log.dirs``, with files in Kafka's layout. A temporary one exists once it was started."""
        if self._needs_directory and self._directory is None:
            raise RuntimeError("the broker was not started")
        return Path(self.config.log_dirs[0])

    @property
    def has_temporary_data(self) -> bool:
        """Whether the broker's logs and metadata are removed when it is closed."""
        given = self._given
        return self._needs_directory and given.uses_embedded_store and not given.is_given("metadata.store.path")

    @property
    def ca_file(self) -> Path:
        """With ``tls=True``: the file with the certificate that clients must trust, in PEM."""
        if self._certificates is None:
            raise RuntimeError("the broker has no certificates: it was not started, or has no tls=True")
        return Path(self._certificates.name) / "ca.pem"

    # -- start and stop, on the running event loop

    async def start(self) -> None:
        """Returns when clients can connect. Raises StartError, also when it is stopped or killed meanwhile.

        After an error or a cancellation nothing stays open.
        """
        await self._settle()
        if self._server is not None:
            raise RuntimeError("the broker is already running or starting")
        made = self._make_directories()
        self._loop = asyncio.get_running_loop()
        self.failure = None
        is_durable = not self._needs_directory  # otherwise the data ends with this program
        files = self._kit.new_files(is_durable=is_durable)
        environment = Environment(files=files, scram_users=self._users, test_clock=self.clock)
        if not is_durable:
            environment.open_store = partial(open_metadata_store, drops_data=lambda: self._drops_data)
        if self._ring is not None:
            environment.timed_by = self._ring.beside
        pools = MarkedPools(self.thread_mark, is_new=made and not is_durable)
        if self.thread_mark:
            environment.start_pool = pools.make
        self._server = server = BrokerServer(self.config, environment)
        self._kit.follow(server)
        if server.config.boolean(TEST_KIT):
            from ..test_kit.routes import add_routes  # most tests have no need of HTTP

            add_routes(server.observability.router, self._kit)
        try:
            await server.start()
        except BaseException:
            try:
                await self._forget_server(server)
            finally:
                if made:
                    self._remove_directories()
            raise
        finally:
            pools.start_is_over()
        self._endpoints = tuple(server.endpoints)
        self._http = server.observability.endpoints
        server.failed.add_done_callback(self._failed)

    async def stop(self) -> None:
        """Stop cleanly, as on SIGTERM: requests in progress are answered, everything is on disk.

        Cancels a start under way. Harmless when stopped. Completes even if the caller is cancelled.
        """
        server = self._server
        if server is not None:
            self._kit.detach()
            try:
                await server.stop()
            finally:
                await self._forget_server(server)

    def kill(self) -> Awaitable[None]:
        """End as ``kill -9`` would, at any time: no flush, no checkpoint, no mark of a clean stop.

        Connections are reset and locks are released. May be called from any thread; harmless when stopped. The broker
        is dead when this returns. The result may be awaited on the broker's loop, until the sockets are closed and a
        start under way has ended.
        """
        loop = self._loop
        if loop is None or self._server is None or _running_loop() is loop:
            self._kill()
            return _Settled(self)
        if self._thread is not None:
            with contextlib.suppress(LoopOverError):  # and so is the broker
                self._thread.call(self._kill_and_settle())
        elif loop.is_running():
            asyncio.run_coroutine_threadsafe(self._kill_and_settle(), loop).result()
        else:
            self._kill()
        return _Settled(None)

    async def restart(self) -> None:
        """Stop if it runs, then start with the same data and port. Raises as ``start``."""
        await self.stop()
        await self.start()

    async def close(self) -> None:
        """``stop``, and remove the temporary directory. The broker may be started again, without its data."""
        self._drops_data = self.has_temporary_data
        try:
            await self.stop()
        finally:
            self._forget()

    async def discard(self) -> None:
        """``kill``, and remove the temporary directory. A clean stop would write what is removed next."""
        self._drops_data = self.has_temporary_data
        await self.kill()
        self._forget()

    async def __aenter__(self) -> "Broker":
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # -- start and stop, on a loop in a thread

    def __enter__(self) -> "BlockingBroker":
        if self._thread is not None:
            raise RuntimeError("the broker is already running")
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

    # -- internal

    def _kill(self) -> None:
        if self._server is not None:
            self._server.kill()

    def _end_soon(self, *, clean: bool) -> None:
        """Stop or kill the broker, as an HTTP client asked."""
        self._ending = asyncio.ensure_future(self.stop() if clean else self._kill_and_settle())

    async def _settle(self) -> None:
        """Wait until a broker that is ending has ended completely."""
        while self._server is not None and self._server.is_ending:
            await self._forget_server(self._server)

    async def _forget_server(self, server: BrokerServer) -> None:
        await server.settle()
        if self._server is server:
            self._server = None

    def _make_directories(self) -> bool:
        """For data and certificates, at the first start. Whether that was done."""
        if self._directory is not None or self._certificates is not None:
            return False
        if self._has_tls:
            self._certificates = tempfile.TemporaryDirectory(prefix="pybroker-")
            ThrowawayCertificates(Path(self._certificates.name)).issue("broker")
        if self._needs_directory:
            self._directory = tempfile.TemporaryDirectory(prefix="pybroker-")
        return self._has_tls or self._needs_directory

    def _remove_directories(self) -> None:
        directories, self._directory, self._certificates = (self._directory, self._certificates), None, None
        for directory in directories:
            if directory is not None:
                directory.cleanup()

    async def _kill_and_settle(self) -> None:
        self._kill()
        await self._settle()

    def _failed(self, failed: "asyncio.Future[Exception]") -> None:
        """Kill a broker that cannot go on: a clean stop would mark the files on disk as complete."""
        if self._server is not None and self._server.failed is failed:
            self.failure = failed.result()
            self._kill()

    def _forget(self) -> None:
        self._drops_data = False
        self._endpoints = self._http = ()
        self._remove_directories()
        if self._copies is not None:
            self._copies.remove_all()

    @property
    def _parts(self) -> BrokerParts:
        if self._server is None or not self._server.is_running:
            raise RuntimeError("the broker is not running")
        return self._server.api_parts

    def _until_end(self, work: Coroutine[Any, Any, Result]) -> Coroutine[Any, Any, Result]:
        return self._kit.guard.run(work)

    @property
    def _has_own_directory(self) -> bool:
        return self._needs_directory

    def __repr__(self) -> str:
        where = f" on {self.bootstrap_servers}" if self._endpoints else ""
        return f"<{type(self).__name__}{where}, {'running' if self.is_running else 'not running'}>"


class BrokerOnThread(BlockingInspection):
    """The broker and its thread, for classes that add to it. Methods block until they are done."""

    _broker: Broker

    def __init__(self, broker: Broker, thread: LoopThread) -> None:
        self._broker = broker
        self._thread = thread
        self.clock = BlockingClock(broker.clock)
        """Moves the broker's time; a restart does not move it back."""

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
    def data_directory(self) -> Path:
        """The first of ``log.dirs``, with files in Kafka's layout."""
        return self._broker.data_directory

    @property
    def faults(self) -> Faults:
        """Faults for tests of clients, set from any thread; they stay over a restart."""
        return self._broker.faults

    @property
    def acts(self) -> BlockingActs:
        """Acts of tests on the broker, such as fencing a producer."""
        return BlockingActs(self._broker.acts, self._thread.call)

    @property
    def failure(self) -> Exception | None:
        """The error after which the broker could not go on and was killed; or None."""
        return self._broker.failure

    def start(self) -> None:
        """Start again after ``stop`` or ``kill``, with the same data and port. Raises StartError."""
        self._thread.call(self._broker.start())

    def stop(self) -> None:
        """As ``Broker.stop``; may be called from any thread, also during a start."""
        with contextlib.suppress(LoopOverError):  # and so is the broker
            self._thread.call(self._broker.stop())

    def kill(self) -> None:
        """As ``Broker.kill``."""
        self._broker.kill()

    def restart(self) -> None:
        """Stop if it runs, then start with the same data and port. Raises StartError."""
        self._thread.call(self._broker.restart())

    def __repr__(self) -> str:
        return repr(self._broker)


class BlockingBroker(BrokerOnThread):
    """The result of ``with Broker()``."""

    @property
    def config(self) -> Config:
        """The settings of the broker, with the chosen directory and ports."""
        return self._broker.config

    @property
    def ca_file(self) -> Path:
        """With ``tls=True``: the file with the certificate that clients must trust, in PEM."""
        return self._broker.ca_file


class _Settled:
    """Awaiting it waits until a killed broker has ended completely."""

    def __init__(self, broker: Broker | None) -> None:
        self._broker = broker

    def __await__(self) -> Generator[Any, None, None]:
        if self._broker is not None:
            yield from self._broker._settle().__await__()


def _with_users(config: Config | SettingsMapping | None, users: Mapping[str, str], *, tls: bool) -> SettingsMapping:
    if isinstance(config, Config):
        raise TypeError("users need a mapping of settings, not a Config")
    given = config or {}
    if tls:
        _check_tls(has_listeners="listeners" in given)
    if "listeners" not in given:
        protocol = "SASL_SSL" if tls else "SASL_PLAINTEXT"
        given = {"listeners": f"{protocol}://127.0.0.1:0", "security.inter.broker.protocol": protocol, **given}
    return with_users(given, users)


def _check_tls(*, has_listeners: bool) -> None:
    """Raises ConfigError when the library that makes certificates is missing."""
    check_library()
    if has_listeners:
        raise ConfigError("listeners (given to Broker): with tls=True the broker chooses them itself")


def _with_tls(config: Config) -> Config:
    _check_tls(has_listeners=config.is_given("listeners"))
    return with_overrides(config, {"listeners": "SSL://127.0.0.1:0", "security.inter.broker.protocol": "SSL"})


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None

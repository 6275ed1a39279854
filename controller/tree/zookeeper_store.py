"""The metadata tree in ZooKeeper, through kazoo: one object is one session.

kazoo's thread posts results, watches and session states to the event loop. Where kazoo differs from `MetadataStore`:
it forgets watches with each connection, so `session_watches.py` keeps them, and a read sets each again and reveals
missed changes, before waiting operations are sent. It repeats operations of a lost connection and replaces an expired
session; here a lost connection fails all pending writes, and an expired session ends. Operations beyond
``zookeeper.max.in.flight.requests`` wait here.
"""

import asyncio
import logging
import threading
from asyncio import Future
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from kazoo import exceptions as kazoo_errors
from kazoo.client import KazooState
from kazoo.protocol.states import KeeperState, WatchedEvent, ZnodeStat

from ...base.futures import set_done
from ...base.slow_waits import told_if_slow
from .guard_supervisor import GuardSupervisor
from .loop_calls import LoopCalls
from .metadata_store import (
    ANY_VERSION,
    ConnectionLossError,
    InvalidPathError,
    MetadataStore,
    MetadataStoreError,
    NoResourcesError,
    NotAuthorizedError,
    Operation,
    OperationResult,
    ServerNotTrustedError,
    SessionEvent,
    SessionExpiredError,
    Stat,
    StoreClosedError,
    Watch,
    WatchEvent,
    check_path,
    ensure,
    tell,
)
from .session_expiry import expire_session
from .session_guard import SessionGuard
from .session_watches import SessionWatches
from .zookeeper_connection import KazooHandler, first_session, new_client
from .zookeeper_operations import EVENT_TYPES, KazooOperations, check_operations, error_of, stat_of
from .zookeeper_request import PENDING, ZooKeeperRequest
from .zookeeper_settings import ZooKeeperSettings

__all__ = ["ZooKeeperStore"]

logger = logging.getLogger(__name__)
Result = TypeVar("Result")
_KILL_GRACE_S = 1.0


class ZooKeeperStore(MetadataStore):
    """A session; open it with `ZooKeeperStore.open`."""

    def __init__(self, settings: ZooKeeperSettings) -> None:
        self._settings = settings
        self._kazoo = KazooOperations(settings)
        self._loop = asyncio.get_running_loop()
        self._post = LoopCalls(self._loop).post
        self._handler = KazooHandler(settings, on_mistrust=lambda: self._post(self._server_mistrusted))
        self._client = new_client(settings, self._handler)
        self._session_id = 0
        self.credentials: tuple[int, bytes] = (0, b"")
        """Id and password of the session, with which it can be continued or ended."""
        self._opened: Future[None] = self._loop.create_future()
        self._is_connected = False
        self._end: MetadataStoreError | None = None
        self._waiting: deque[ZooKeeperRequest] = deque()
        self._asked: deque[ZooKeeperRequest] = deque()
        self._all_answered: Future[None] | None = None
        self._watches = SessionWatches()
        self._listeners: list[Callable[[SessionEvent], None]] = []
        self._guard: GuardSupervisor | None = None
        self._asking_lock = threading.Lock()
        """Locked until kazoo knows the callback of a request. A result may arrive before that, from the loop's thread;
        meanwhile no watch may report a later change, because its owner would not be known yet."""

    @classmethod
    async def open(cls, settings: ZooKeeperSettings) -> "ZooKeeperStore":
        """Begin a session.

        Raises StoreUnreachableError (no session within ``connection_timeout_ms``), NotAuthorizedError,
        SessionExpiredError (the session is over already), and ConfigError (files for TLS cannot be read). A cancelled
        call leaves nothing open.
        """
        store = cls(settings)
        store._client.add_listener(store._on_kazoo_state)
        try:
            store._client.start_async()
        except (OSError, RuntimeError) as error:  # out of descriptors or threads
            store._client.close()
            raise NoResourcesError(None, f"no session with ZooKeeper can be started: {error}") from error
        try:
            await first_session(store._opened, settings, store._handler, logger)
            await store._ensure_root()
            if store._end is not None:  # it ended before a listener could be told
                raise store._end
        except BaseException:
            store.kill()
            raise
        return store

    async def _ensure_root(self) -> None:
        if not self._kazoo.root:
            return
        root, self._kazoo.root = self._kazoo.root, ""
        line = f"waiting for ZooKeeper at {self._settings.servers} to say whether there is {root}"
        with told_if_slow(self._loop, logger, lambda: line):
            if await self.exists(root) is None:
                await ensure(self, root)
        self._kazoo.root = root

    @property
    def session_id(self) -> int:
        return self._session_id

    @property
    def session_timeout_ms(self) -> int:
        return self._handler.session_timeout_ms

    @property
    def is_session_lost(self) -> bool:
        return isinstance(self._end, SessionExpiredError) or self._handler.is_silent

    # -- operations

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> "Future[str]":
        real = self._kazoo.real(path)
        acl = self._kazoo.acl_of(path)
        return self._start(
            path,
            lambda: self._client.create_async(real, bytes(data), acl, ephemeral=ephemeral, sequence=sequential),
            self._kazoo.path_of,
            sequential=sequential,
        )

    def get(self, path: str, watch: Watch | None = None) -> "Future[tuple[bytes, Stat]]":
        def result_of(answer: tuple[bytes | None, ZnodeStat]) -> tuple[bytes, Stat]:
            stat = stat_of(answer[1])
            if watch is not None:
                self._watches.watch_data(path, watch, stat)
            return answer[0] or b"", stat

        real, told = self._kazoo.real(path), self._told_if(watch)
        return self._start(path, lambda: self._client.get_async(real, watch=told), result_of, is_read=True)

    def exists(self, path: str, watch: Watch | None = None) -> "Future[Stat | None]":
        def result_of(answer: ZnodeStat | None) -> Stat | None:
            stat = None if answer is None else stat_of(answer)
            if watch is not None:
                self._watches.watch_data(path, watch, stat)
            return stat

        real, told = self._kazoo.real(path), self._told_if(watch)
        return self._start(path, lambda: self._client.exists_async(real, watch=told), result_of, is_read=True)

    def children(self, path: str, watch: Watch | None = None) -> "Future[list[str]]":
        def result_of(answer: tuple[list[str], ZnodeStat]) -> list[str]:
            if watch is not None:
                self._watches.watch_children(path, watch, stat_of(answer[1]))
            return sorted(answer[0])

        real, told = self._kazoo.real(path), self._told_if(watch)
        return self._start(
            path,
            lambda: self._client.get_children_async(real, watch=told, include_data=True),
            result_of,
            is_read=True,
        )

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> "Future[Stat]":
        real = self._kazoo.real(path)
        return self._start(path, lambda: self._client.set_async(real, bytes(data), version), stat_of)

    def delete(self, path: str, version: int = ANY_VERSION) -> "Future[None]":
        real = self._kazoo.real(path)

        def refuse_root() -> None:
            if path == "/":
                raise InvalidPathError(path, "the root cannot be deleted")

        return self._start(path, lambda: self._client.delete_async(real, version), lambda _: None, check=refuse_root)

    def multi(self, operations: Sequence[Operation]) -> "Future[list[OperationResult]]":
        operations = list(operations)
        if not operations:  # no request, but the order of results must hold
            return self._start(None, lambda: None, lambda _: [], outcome=[])

        def ask() -> Any:
            transaction = self._client.transaction()
            transaction.operations += [self._kazoo.as_kazoo(operation) for operation in operations]
            return transaction.commit_async()

        return self._start(
            None,
            ask,
            lambda answer: self._kazoo.multi_result(operations, answer),
            check=lambda: check_operations(operations),
        )

    def on_session_event(self, listener: Callable[[SessionEvent], None]) -> None:
        self._listeners.append(listener)

    # -- the end

    async def expire(self) -> None:
        await self._loop.run_in_executor(None, expire_session, self._client.hosts, self.credentials, self._settings.tls)

    async def close(self) -> None:
        """End the session. Without a connection it expires later."""
        if self._end is not None:
            return
        self._end = StoreClosedError(None, "the metadata store is closed")
        if self._is_connected and (self._asked or self._waiting):
            self._all_answered = self._loop.create_future()
            await self._all_answered
        self._fail_all(self._end)
        self._listeners.clear()
        self._watches.clear()
        if not self._is_connected:
            self._handler.sever()
        ended: Future[None] = self._loop.create_future()
        guard = self._take_guard()

        def end() -> None:
            self._stop_client()
            if guard is not None:
                guard.kill()
            self._post(partial(set_done, ended))

        threading.Thread(target=end, name="pybroker-zookeeper-end", daemon=True).start()
        await ended

    def kill(self) -> None:
        self._end = SessionExpiredError(None, "the metadata store was killed")
        self._is_connected = False
        self._waiting.clear()
        self._asked.clear()
        self._listeners.clear()
        self._watches.clear()
        guard = self._take_guard()
        if guard is not None:
            guard.end_session()  # ends the session as at the end of the process
        self._leave(None if guard is None else guard.wait).join(_KILL_GRACE_S)

    def _leave(self, then: Callable[[], None] | None) -> threading.Thread:
        """Close the connection without ending the session; ``then`` may block."""
        self._handler.sever()

        def end() -> None:
            self._stop_client()
            if then is not None:
                then()

        thread = threading.Thread(target=end, name="pybroker-zookeeper-end", daemon=True)
        thread.start()
        return thread

    def _set_guard(self) -> None:
        settings = self._settings
        if settings.is_guarded:
            self._guard = GuardSupervisor(
                lambda: SessionGuard(self._client.hosts, self.credentials, self.session_timeout_ms, settings.tls)
            )

    def _take_guard(self) -> SessionGuard | None:
        supervisor, self._guard = self._guard, None
        return None if supervisor is None else supervisor.release()

    def _stop_client(self) -> None:
        """End kazoo's thread. Blocks."""
        try:
            self._client.stop()
            self._client.close()
        except Exception as error:  # kazoo raises this when its thread did not end
            logger.warning("ZooKeeper: the connection could not be ended: %s", error)

    # -- requests and results

    def _start(
        self,
        path: str | None,
        ask: Callable[[], Any],
        result_of: Callable[[Any], Result],
        *,
        sequential: bool = False,
        check: Callable[[], None] | None = None,
        outcome: Any = PENDING,
        is_read: bool = False,
    ) -> "Future[Result]":
        future: Future[Result] = self._loop.create_future()
        if self._end is not None:
            future.set_exception(self._end)
            return future
        request = ZooKeeperRequest(path, ask, result_of, future, outcome, is_read)
        try:
            if path is not None:
                check_path(path, sequential=sequential)
            if check is not None:
                check()
        except InvalidPathError as error:
            request.outcome = error
        self._waiting.append(request)
        self._pump()
        return future

    def _pump(self) -> None:
        """Send waiting requests up to the limit, and deliver results in order."""
        while self._is_connected and self._waiting and len(self._asked) < self._settings.max_in_flight:
            request = self._waiting.popleft()
            self._asked.append(request)
            if request.outcome is PENDING:
                with self._asking_lock:
                    request.ask().rawlink(partial(self._on_kazoo_result, request))
            else:
                self._complete_answered()
        is_idle = not self._asked and not (self._is_connected and self._waiting)
        if is_idle and self._all_answered is not None:
            set_done(self._all_answered)

    def _answered(self, request: ZooKeeperRequest, outcome: Any) -> None:
        if request.outcome is not PENDING:
            return  # the request already failed with its connection
        if isinstance(outcome, kazoo_errors.ConnectionLoss | kazoo_errors.ConnectionClosedError):
            self._is_connected = False  # kazoo's event follows, and settles all pending requests
            return
        request.outcome = outcome
        self._complete_answered()
        self._pump()

    def _complete_answered(self) -> None:
        while self._asked and self._asked[0].outcome is not PENDING:
            self._complete(self._asked.popleft())

    def _complete(self, request: ZooKeeperRequest) -> None:
        try:
            outcome = request.outcome
            if request.takes_missing and isinstance(outcome, kazoo_errors.NoNodeError):
                outcome = None
            if isinstance(outcome, Exception):
                raise error_of(outcome, request.path)
            result = request.result_of(outcome)
        except MetadataStoreError as error:
            if request.future is not None and not request.future.done():
                request.future.set_exception(error)
        else:
            if request.future is not None and not request.future.done():
                request.future.set_result(result)

    def _settle_asked(self) -> None:
        """After a lost connection: fail pending writes, and queue pending reads before the other requests."""
        again: list[ZooKeeperRequest] = []
        while self._asked:
            request = self._asked.popleft()
            if request.is_read and request.outcome is PENDING:
                again.append(replace(request))  # a new object: results of the old one are ignored
                request.outcome = None
                continue
            if request.outcome is PENDING:
                request.outcome = ConnectionLossError(request.path, "the connection broke before the response")
            self._complete(request)
        self._waiting.extendleft(reversed(again))

    def _fail_all(self, error: MetadataStoreError) -> None:
        self._fail(self._asked, error)
        self._fail(self._waiting, error)

    def _fail(self, requests: deque[ZooKeeperRequest], error: MetadataStoreError) -> None:
        while requests:
            request = requests.popleft()
            if request.outcome is PENDING:
                request.outcome = error
            self._complete(request)

    # -- on kazoo's thread: everything is posted to the loop

    def _on_kazoo_result(self, request: ZooKeeperRequest, result: Any) -> None:
        self._post(partial(self._answered, request, result.value if result.successful() else result.exception))

    def _on_kazoo_watch(self, event: WatchedEvent) -> None:
        if event.type in EVENT_TYPES:
            with self._asking_lock:
                self._post(partial(self._on_watch_event, event.type, event.path))

    def _on_kazoo_state(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            self._post(self._connected)
        elif state == KazooState.SUSPENDED:
            self._post(self._disconnected)
        elif state == KazooState.LOST:
            self._handler.sever()  # kazoo would open a new session
            self._post(partial(self._lost, self._client.client_state == KeeperState.AUTH_FAILED))

    # -- on the loop

    def _connected(self) -> None:
        if self._end is not None:
            return
        client_id = self._client.client_id
        if client_id is None:
            return  # the connection is lost again; that event follows
        self._is_connected = True
        if not self._session_id:
            self.credentials = client_id
            self._session_id = client_id[0]
            self._set_guard()
            set_done(self._opened)
        else:
            logger.info("ZooKeeper: connected again, session 0x%x continues", self._session_id)
            self._tell(SessionEvent.CONNECTED)
            self._waiting.extendleft(reversed(self._arming_again()))
        self._pump()

    def _disconnected(self) -> None:
        if isinstance(self._end, SessionExpiredError) or not self._session_id:
            return
        if self._is_connected or self._asked:
            logger.warning("ZooKeeper: the connection of session 0x%x is lost, connecting again", self._session_id)
        self._is_connected = False
        self._settle_asked()
        self._pump()
        if self._end is None:
            self._tell(SessionEvent.DISCONNECTED)

    def _server_mistrusted(self) -> None:
        """Fail the first connection at once, because waiting would not help; later ones retry."""
        if not self._opened.done():
            reason = f"no session with ZooKeeper at {self._settings.servers}: {self._handler.last_failure}"
            self._opened.set_exception(ServerNotTrustedError(None, reason, was_reached=True))

    def _lost(self, is_refused: bool) -> None:
        """The session is over: it expired, or this store closed it."""
        self._is_connected = False
        if is_refused and not self._opened.done():
            self._opened.set_exception(NotAuthorizedError(None, "ZooKeeper refuses pybroker.zookeeper.digest"))
            return
        if self._end is not None:
            self._fail_all(self._end)
            self._pump()
            return
        logger.warning("ZooKeeper session 0x%x has ended", self._session_id)
        self._end = SessionExpiredError(None, "the session with ZooKeeper is over")
        self._watches.clear()
        self._fail_all(self._end)
        self._tell(SessionEvent.EXPIRED)
        guard = self._take_guard()
        self._leave(None if guard is None else guard.kill)

    def _tell(self, event: SessionEvent) -> None:
        for listener in list(self._listeners):
            listener(event)

    # -- watches

    def _told_if(self, watch: Watch | None) -> Callable[[WatchedEvent], None] | None:
        return None if watch is None else self._on_kazoo_watch

    def _on_watch_event(self, kazoo_type: str, real: str) -> None:
        self._deliver(WatchEvent(EVENT_TYPES[kazoo_type], self._kazoo.path_of(real)))

    def _deliver(self, event: WatchEvent) -> None:
        for watch in self._watches.take(event):
            tell(self._loop, watch, event)

    def _arming_again(self) -> list[ZooKeeperRequest]:
        requests = []
        for path in self._watches.data_paths:
            ask = partial(self._client.exists_async, self._kazoo.real(path), watch=self._on_kazoo_watch)
            requests.append(ZooKeeperRequest(path, ask, partial(self._armed_data, path), None))
        for path in self._watches.children_paths:
            ask_children = self._client.get_children_async
            ask = partial(ask_children, self._kazoo.real(path), self._on_kazoo_watch, include_data=True)
            requests.append(ZooKeeperRequest(path, ask, partial(self._armed_children, path), None, takes_missing=True))
        return requests

    def _armed_data(self, path: str, answer: ZnodeStat | None) -> None:
        missed = self._watches.missed_data(path, None if answer is None else stat_of(answer))
        if missed is not None:
            self._deliver(missed)

    def _armed_children(self, path: str, answer: tuple[list[str], ZnodeStat] | None) -> None:
        missed = self._watches.missed_children(path, None if answer is None else stat_of(answer[1]))
        if missed is not None:
            self._deliver(missed)

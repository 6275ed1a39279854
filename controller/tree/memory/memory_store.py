"""A session on a tree in memory: the `MetadataStore` of one broker in this process.

While the link to the tree is cut, requests wait and results are held back. A broker that hears nothing for two thirds
of the session timeout counts as disconnected: its writes fail, its reads are repeated later. A broker whose event loop
stands still is silent too, so its session expires as that of a stopped process does.
"""

import asyncio
from asyncio import Future
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from ..loop_calls import LoopCalls
from ..metadata_store import (
    ANY_VERSION,
    ConnectionLossError,
    Create,
    Delete,
    MetadataStore,
    MetadataStoreError,
    Operation,
    OperationResult,
    SessionEvent,
    SessionExpiredError,
    SetData,
    Stat,
    StoreClosedError,
    StoreUnreachableError,
    Watch,
    WatchEvent,
    created_path,
    new_stat,
    tell,
)
from .memory_tree import TreeSession
from .tree_link import LinkState, TreeLink

__all__ = ["MemoryStore"]

Result = TypeVar("Result")

_NOTICED_AFTER = 2 / 3
"""The part of the session timeout after which a silent cut is noticed, as in ZooKeeper's clients."""


@dataclass(slots=True, eq=False)
class _Request:
    step: Callable[[TreeSession], Any]
    future: "Future[Any]"
    is_read: bool


class MemoryStore(MetadataStore):
    """Open with `MemoryStore.open`. ``is_guarded``: a killed broker's session ends at once, as with a session guard."""

    def __init__(self, link: TreeLink, session_timeout_ms: int, *, is_guarded: bool) -> None:
        self._link = link
        self._tree = link.tree
        self._asked_timeout_ms = session_timeout_ms
        self._is_guarded = is_guarded
        self._loop = asyncio.get_running_loop()
        self._calls = LoopCalls(self._loop)
        self._opened: Future[TreeSession] = self._loop.create_future()
        self._session: TreeSession | None = None
        self._is_reachable = False
        self._is_disconnected = False
        self._end: MetadataStoreError | None = None
        self._is_killed = False
        self._waiting: deque[_Request] = deque()
        self._held_back: list[Callable[[], object]] = []
        """Results and events that came while the link was cut."""
        self._timer: asyncio.TimerHandle | None = None
        """Ends in `_look_after` while the tree can be reached; after a silent cut, in `_disconnected`."""
        self._heard_s = self._tree.now_s()
        self._listeners: list[Callable[[SessionEvent], None]] = []

    @classmethod
    async def open(
        cls,
        link: TreeLink,
        *,
        session_timeout_ms: int,
        connection_timeout_ms: int,
        is_guarded: bool = False,
    ) -> "MemoryStore":
        """Begin a session; waits while the link is cut. Raises StoreUnreachableError when that takes too long."""
        store = cls(link, session_timeout_ms, is_guarded=is_guarded)
        link.follow(store._link_changed)
        try:
            async with asyncio.timeout(connection_timeout_ms / 1000):
                await store._opened
        except BaseException as error:
            store.kill()
            if isinstance(error, TimeoutError):
                reason = f"no session with the metadata store of this process within {connection_timeout_ms} ms"
                raise StoreUnreachableError(None, reason) from None
            raise
        return store

    @property
    def session_id(self) -> int:
        return 0 if self._session is None else self._session.session_id

    @property
    def session_timeout_ms(self) -> int:
        return self._asked_timeout_ms if self._session is None else self._session.timeout_ms

    @property
    def is_session_lost(self) -> bool:
        is_silent = (self._tree.now_s() - self._heard_s) * 1000 >= self.session_timeout_ms
        return isinstance(self._end, SessionExpiredError) or is_silent

    # -- operations

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> "Future[str]":
        return self._write([Create(path, data, ephemeral, sequential)], created_path)

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> "Future[Stat]":
        return self._write([SetData(path, data, version)], new_stat)

    def delete(self, path: str, version: int = ANY_VERSION) -> "Future[None]":
        return self._write([Delete(path, version)], lambda _: None)

    def multi(self, operations: Sequence[Operation]) -> "Future[list[OperationResult]]":
        return self._write(list(operations), lambda results: results)

    def get(self, path: str, watch: Watch | None = None) -> "Future[tuple[bytes, Stat]]":
        return self._start(lambda session: self._tree.get(session, path, watch), is_read=True)

    def exists(self, path: str, watch: Watch | None = None) -> "Future[Stat | None]":
        return self._start(lambda session: self._tree.exists(session, path, watch), is_read=True)

    def children(self, path: str, watch: Watch | None = None) -> "Future[list[str]]":
        return self._start(lambda session: self._tree.children(session, path, watch), is_read=True)

    def on_session_event(self, listener: Callable[[SessionEvent], None]) -> None:
        self._listeners.append(listener)

    async def expire(self) -> None:
        self._tree.expire(self.session_id)

    async def close(self) -> None:
        """End the session. Without a connection it is left to expire."""
        if self._end is not None:
            return
        was_reachable = self._is_reachable
        last: Future[None] = self._start(self._tree.end)
        self._end = StoreClosedError(None, "the metadata store is closed")
        if not was_reachable:
            self._release_held_back()
            self._fail(self._waiting, self._end)
        with suppress(MetadataStoreError):
            await last
        self._leave()

    def kill(self) -> None:
        is_whole, self._is_killed = self._link.state is LinkState.WHOLE, True
        self._end = SessionExpiredError(None, "the metadata store was killed")
        self._waiting.clear()
        self._held_back.clear()
        self._leave()
        if self._is_guarded and is_whole and self._session is not None:
            self._tree.expire(self._session.session_id)

    def _leave(self) -> None:
        self._stop_timer()
        self._listeners.clear()
        self._link.unfollow(self._link_changed)
        if self._session is not None:
            self._tree.leave(self._session, self)

    # -- requests and results

    def _write(
        self, operations: Sequence[Operation], result_of: Callable[[list[OperationResult]], Result]
    ) -> "Future[Result]":
        return self._start(lambda session: result_of(self._tree.write(session, operations)))

    def _start(self, step: Callable[[TreeSession], Result], *, is_read: bool = False) -> "Future[Result]":
        future: Future[Result] = self._loop.create_future()
        if self._end is not None:
            future.set_exception(self._end)
            return future
        request = _Request(step, future, is_read)
        if self._is_reachable:
            self._ask(request)
        else:
            self._waiting.append(request)
        return future

    def _ask(self, request: _Request) -> None:
        assert self._session is not None
        self._heard_s = self._tree.now_s()
        self._tree.perform(self._session, request.step, partial(self._answered, request))

    def _answered(self, request: _Request, outcome: Any) -> None:
        if self._is_killed or request.future.done():
            return
        if isinstance(outcome, MetadataStoreError):
            request.future.set_exception(outcome)
        else:
            request.future.set_result(outcome)

    def _fail(self, requests: deque[_Request], error: MetadataStoreError) -> None:
        while requests:
            self._answered(requests.popleft(), error)

    # -- called by the tree

    def post(self, call: Callable[[], object]) -> None:
        self._calls.post(partial(self._arrive, call))

    def _arrive(self, call: Callable[[], object]) -> None:
        if self._is_reachable or self._end is not None:
            call()
        else:
            self._held_back.append(call)

    def told(self, watch: Watch, event: WatchEvent) -> None:
        if self._end is None:
            tell(self._loop, watch, event)

    def expired(self) -> None:
        if self._end is not None:
            return
        self._end = SessionExpiredError(None, "the session with the metadata store is over")
        self._release_held_back()
        self._fail(self._waiting, self._end)
        self._tell(SessionEvent.EXPIRED)
        self._leave()

    # -- the link

    def _link_changed(self, state: LinkState) -> None:
        self._calls.post(partial(self._follow_link, state))

    def _follow_link(self, state: LinkState) -> None:
        if self._end is not None:
            return
        if state is LinkState.WHOLE:
            self._reached()
            return
        self._is_reachable = False
        self._stop_timer()
        if self._session is None:
            return
        if state is LinkState.BROKEN:
            self._disconnected()
        elif not self._is_disconnected:
            noticed_s = self._heard_s + self.session_timeout_ms / 1000 * _NOTICED_AFTER
            self._timer = self._loop.call_later(max(noticed_s - self._tree.now_s(), 0), self._disconnected)

    def _reached(self) -> None:
        self._stop_timer()
        if self._session is None:
            self._session = self._tree.begin(self._asked_timeout_ms, self)
            if not self._opened.done():
                self._opened.set_result(self._session)
        elif not self._tree.is_alive(self._session):
            self.expired()
            return
        if self._is_disconnected:
            self._is_disconnected = False
            self._tell(SessionEvent.CONNECTED)
        self._release_held_back()
        self._is_reachable = True
        self._look_after()
        while self._waiting:
            self._ask(self._waiting.popleft())

    def _look_after(self) -> None:
        assert self._session is not None
        next_s = self._tree.look_after(self._session)
        if next_s is not None:
            self._heard_s = self._tree.now_s()
            self._timer = self._loop.call_later(next_s, self._look_after)

    def _disconnected(self) -> None:
        """Fail writes under way. Requests that start later wait, as do reads."""
        self._stop_timer()
        if self._is_disconnected:
            return
        self._is_disconnected = True
        error = ConnectionLossError(None, "the connection broke before the response")
        self._fail(deque(request for request in self._waiting if not request.is_read), error)
        self._waiting = deque(request for request in self._waiting if request.is_read)
        self._tell(SessionEvent.DISCONNECTED)

    def _release_held_back(self) -> None:
        calls, self._held_back = self._held_back, []
        for call in calls:
            call()

    def _stop_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _tell(self, event: SessionEvent) -> None:
        for listener in list(self._listeners):
            listener(event)

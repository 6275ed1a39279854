"""A metadata store that opens a new session when its session has expired.

The ephemeral nodes, watches and running operations of the old session are lost. Listeners get EXPIRED at once, and
RENEWED when there is a new session; then they must set their watches again. In between, every operation fails with
SessionExpiredError.
"""

import asyncio
import logging
from asyncio import Future
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from ...base.log_buckets import LogBuckets
from ...config.config_error import ConfigError
from .metadata_store import (
    ANY_VERSION,
    MetadataStore,
    MetadataStoreError,
    Operation,
    OperationResult,
    SessionEvent,
    Stat,
    Watch,
)

__all__ = ["RenewingStore"]

logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0

Result = TypeVar("Result")


class RenewingStore(MetadataStore):
    """Made by `open`, with a first session.

    ``begin_session`` opens a session, and is retried after a MetadataStoreError. ``broken`` is called with any other
    error; there will be no session then.
    """

    def __init__(
        self,
        first: MetadataStore,
        begin_session: Callable[[], Awaitable[MetadataStore]],
        broken: Callable[[Exception], None],
    ) -> None:
        self._session = first
        self._begin_session = begin_session
        self._broken = broken
        self._listeners: list[Callable[[SessionEvent], None]] = []
        self._renewing: asyncio.Task[None] | None = None
        first.on_session_event(self._on_session_event)
        self.times = LogBuckets()
        """How long operations took, in seconds."""
        self.events: Counter[SessionEvent] = Counter()

    @classmethod
    async def open(
        cls, begin_session: Callable[[], Awaitable[MetadataStore]], broken: Callable[[Exception], None]
    ) -> "RenewingStore":
        return cls(await begin_session(), begin_session, broken)

    @property
    def session_id(self) -> int:
        return self._session.session_id

    @property
    def session_timeout_ms(self) -> int:
        return self._session.session_timeout_ms

    @property
    def is_session_lost(self) -> bool:
        return self._session.is_session_lost

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> "Future[str]":
        return self._timed(self._session.create(path, data, ephemeral=ephemeral, sequential=sequential))

    def get(self, path: str, watch: Watch | None = None) -> "Future[tuple[bytes, Stat]]":
        return self._timed(self._session.get(path, watch))

    def exists(self, path: str, watch: Watch | None = None) -> "Future[Stat | None]":
        return self._timed(self._session.exists(path, watch))

    def children(self, path: str, watch: Watch | None = None) -> "Future[list[str]]":
        return self._timed(self._session.children(path, watch))

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> "Future[Stat]":
        return self._timed(self._session.set(path, data, version))

    def delete(self, path: str, version: int = ANY_VERSION) -> "Future[None]":
        return self._timed(self._session.delete(path, version))

    def multi(self, operations: Sequence[Operation]) -> "Future[list[OperationResult]]":
        return self._timed(self._session.multi(operations))

    def on_session_event(self, listener: Callable[[SessionEvent], None]) -> None:
        self._listeners.append(listener)

    def _timed(self, future: "Future[Result]") -> "Future[Result]":
        time_s = asyncio.get_running_loop().time
        began_s = time_s()
        future.add_done_callback(lambda _: self.times.add(time_s() - began_s))
        return future

    async def expire(self) -> None:
        await self._session.expire()

    async def close(self) -> None:
        renewing = self._stop_renewing()
        if renewing is not None:
            await asyncio.gather(renewing, return_exceptions=True)
        await self._session.close()

    def kill(self) -> None:
        self._stop_renewing()
        self._session.kill()

    def _stop_renewing(self) -> "asyncio.Task[None] | None":
        self._listeners.clear()
        renewing, self._renewing = self._renewing, None
        if renewing is not None:
            renewing.cancel()
        return renewing

    def _on_session_event(self, event: SessionEvent) -> None:
        if event is SessionEvent.EXPIRED:
            logger.warning("the session with the metadata store has expired, a new one is requested")
            self._renewing = asyncio.get_running_loop().create_task(self._renew(), name="metadata-session")
        self._tell(event)

    async def _renew(self) -> None:
        while True:
            try:
                session = await self._begin_session()
            except (MetadataStoreError, ConfigError) as error:  # files for TLS may be missing for a while
                logger.error("no session with the metadata store, next try in %s s: %s", RETRY_SECONDS, error)
                await asyncio.sleep(RETRY_SECONDS)
                continue
            except Exception as error:  # a bug; no broker can go on without a session
                self._broken(error)
                return
            self._session = session
            self._renewing = None
            session.on_session_event(self._on_session_event)
            self._tell(SessionEvent.RENEWED)
            return

    def _tell(self, event: SessionEvent) -> None:
        self.events[event] += 1
        for listener in list(self._listeners):
            listener(event)

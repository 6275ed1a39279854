"""Keeps an issuer's key set up to date while the broker runs.

**How.** A thread of its own fetches, because a server that hangs must not hold up a worker of the storage. It is a
daemon thread, so that it does not hold up the end of the process either.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from .jwks import JwksError, KeySet, parse_jwks
from .jwks_refresh import JwksRefresh, RefreshTimes

__all__ = ["JwksKeeper"]

logger = logging.getLogger(__name__)


class JwksKeeper:
    """``fetch`` blocks and raises JwksError. ``run`` is a task while the broker runs."""

    def __init__(self, fetch: Callable[[], bytes], times: RefreshTimes) -> None:
        self._fetch = fetch
        self._loop = asyncio.get_running_loop()
        self._refresh = JwksRefresh(times, self._now_ms())
        self._wanted = asyncio.Event()

    def keys(self) -> KeySet:
        """The keys at hand; none until a fetch succeeded, and then no token is valid."""
        return self._refresh.keys

    def missed(self, key_id: str) -> None:
        """A token names a key that is not at hand."""
        if self._refresh.missed(key_id, self._now_ms()):
            self._wanted.set()

    async def fetch(self) -> None:
        """Fetch once. Raises JwksError; the keys at hand stay then."""
        try:
            keys = await _in_thread(lambda: parse_jwks(self._fetch()))
        except JwksError:
            self._refresh.failed(self._now_ms())
            raise
        self._refresh.fetched(keys, self._now_ms())

    async def run(self) -> None:
        """Fetch whenever it is due."""
        while True:
            self._wanted.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0, self._refresh.due_at_ms - self._now_ms()) / 1000):
                    await self._wanted.wait()
            try:
                await self.fetch()
            except JwksError as error:
                logger.warning("the keys that sign tokens cannot be fetched, those at hand stay: %s", error)

    def _now_ms(self) -> int:
        return int(self._loop.time() * 1000)


def _in_thread(function: Callable[[], KeySet]) -> "asyncio.Future[KeySet]":
    loop = asyncio.get_running_loop()
    future: asyncio.Future[KeySet] = loop.create_future()

    def settle(keys: KeySet | None, error: Exception | None) -> None:
        if future.done():  # the broker ends
            return
        if keys is not None:
            future.set_result(keys)
        else:
            future.set_exception(error or JwksError("there is no key set"))

    def run() -> None:
        keys, failure = None, None
        try:
            keys = function()
        except Exception as error:
            failure = error if isinstance(error, JwksError) else JwksError(str(error))
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, keys, failure)

    Thread(target=run, name="pybroker-jwks", daemon=True).start()
    return future

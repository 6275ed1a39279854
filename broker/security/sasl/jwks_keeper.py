"""Keeps an issuer's key set up to date while the broker runs."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from ....base.quiet_lines import QUIET
from .jwks import JwksError, KeySet, parse_jwks
from .jwks_refresh import JwksRefresh, RefreshTimes
from .own_thread import in_own_thread

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
            keys = await in_own_thread(lambda: parse_jwks(self._fetch()), "pybroker-jwks")
        except Exception as error:
            self._refresh.failed(self._now_ms())
            raise error if isinstance(error, JwksError) else JwksError(str(error)) from error
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
                logger.warning(
                    "the keys that sign tokens cannot be fetched, those at hand stay: %s", error, extra=QUIET
                )

    def _now_ms(self) -> int:
        return int(self._loop.time() * 1000)

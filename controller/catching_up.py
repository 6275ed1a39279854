"""Follows a part of the metadata tree in a task: a change, or the end of an interruption, asks for another turn."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from .tree.metadata_store import MetadataStoreError, SessionExpiredError, StoreClosedError, WatchEvent

__all__ = ["RETRY_SECONDS", "CatchingUp"]

RETRY_SECONDS = 1.0


class CatchingUp:
    """``catch_up`` reads and applies what has changed; it raises MetadataStoreError.

    ``what`` is followed, in words for the log of ``logger``.
    """

    def __init__(self, catch_up: Callable[[], Awaitable[None]], what: str, logger: logging.Logger) -> None:
        self._catch_up = catch_up
        self._what = what
        self._logger = logger
        self._wanted = asyncio.Event()
        self._settled = asyncio.Event()
        self._retry: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Catch up now, and whenever it is wanted, until the store is closed."""
        self.want()
        try:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                await self._take_turn()
                if not self._wanted.is_set():
                    self._settled.set()
        except StoreClosedError as error:
            self._logger.info("changes of %s are not received any more: %s", self._what, error)
        finally:
            self._settled.set()
            if self._retry is not None:
                self._retry.cancel()

    async def settled(self) -> None:
        """Wait until nothing is wanted: every change written so far is in force on this broker."""
        await self._settled.wait()

    def want(self) -> None:
        self._wanted.set()
        self._settled.clear()

    def on_change(self, _event: WatchEvent) -> None:
        """A watch."""
        self.want()

    async def _take_turn(self) -> None:
        """Raises StoreClosedError."""
        try:
            await self._catch_up()
        except StoreClosedError:
            raise
        except SessionExpiredError as error:  # the next session catches up with what was missed
            self._logger.info("changes of %s are not received until there is a new session: %s", self._what, error)
        except MetadataStoreError as error:
            self._logger.error("changes of %s cannot be read, next try in %s s: %s", self._what, RETRY_SECONDS, error)
            self._retry = asyncio.get_running_loop().call_later(RETRY_SECONDS, self.want)

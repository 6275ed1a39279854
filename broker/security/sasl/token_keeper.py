"""Keeps the token of this broker's own logins, and fetches another one before it ends.

**How.** However many links want a token, one fetch at a time is under way, in a thread of its own. Links that find no
token wait for that fetch. After a failure they are refused until the next one is due.
"""

import asyncio
import logging
from collections.abc import Callable

from ....base.quiet_lines import QUIET
from ....client.oauth.own_token import OwnToken
from ....client.oauth.token_source import TokenError
from ....protocol.client import BearerToken
from .own_thread import in_own_thread
from .token_renewal import RenewalTimes, TokenRenewal
from .token_settings import FetchToken

__all__ = ["TokenKeeper"]

logger = logging.getLogger(__name__)

_LONGEST_SLEEP_MS = 60_000
"""The wall clock may be set meanwhile."""


class TokenKeeper:
    """``clock_ms``: wall clock, which tokens refer to. ``run`` is a task while the broker runs."""

    def __init__(
        self, fetch: FetchToken, times: RenewalTimes, clock_ms: Callable[[], int], random: Callable[[], float]
    ) -> None:
        self._fetch = fetch
        self._clock_ms = clock_ms
        self._renewal = TokenRenewal(times, clock_ms(), random)
        self._fetching: asyncio.Future[OwnToken] | None = None
        self._why = ""

    async def token(self) -> BearerToken:
        """A token that has not expired. Raises ConnectionError when there is none now."""
        token = self._usable()
        if token is None and (self._fetching is not None or self._is_due()):
            await asyncio.wait([self._begin()])
            token = self._usable()
        if token is None:
            raise ConnectionError(f"this broker has no token to log in with: {self._why}")
        return token.bearer

    async def run(self) -> None:
        """Fetch whenever it is due."""
        while True:
            if self._fetching is not None or self._is_due():
                await asyncio.wait([self._begin()])
            else:
                sleep_ms = min(self._renewal.due_at_ms - self._clock_ms(), _LONGEST_SLEEP_MS)
                await asyncio.sleep(max(sleep_ms, 1) / 1000)

    def _usable(self) -> OwnToken | None:
        return self._renewal.usable(self._clock_ms())

    def _is_due(self) -> bool:
        return self._renewal.due_at_ms <= self._clock_ms()

    def _begin(self) -> "asyncio.Future[OwnToken]":
        """The fetch that is under way; begins one if there is none."""
        if self._fetching is None:
            self._renewal.begins(self._clock_ms())
            self._fetching = in_own_thread(self._fetch, "pybroker-token")
            self._fetching.add_done_callback(self._ended)  # called before the waiters wake
        return self._fetching

    def _ended(self, fetch: "asyncio.Future[OwnToken]") -> None:
        self._fetching = None
        if fetch.cancelled():
            return
        now_ms = self._clock_ms()
        error = fetch.exception()
        if error is not None:
            self._failed(error, now_ms)
        elif fetch.result().expires_at_ms <= now_ms:
            self._failed(TokenError("the token has expired already; compare the clocks", is_final=True), now_ms)
        else:
            self._fetched(fetch.result(), now_ms)

    def _fetched(self, token: OwnToken, now_ms: int) -> None:
        if self._why:
            logger.info("this broker has a token again to log in to other brokers as %r", token.user[:100])
        self._why = ""
        self._renewal.fetched(token, now_ms)

    def _failed(self, error: BaseException, now_ms: int) -> None:
        # The text of an unexpected error could contain a part of the token.
        self._why = str(error) if isinstance(error, TokenError) else f"{type(error).__name__} while fetching it"
        self._renewal.failed(now_ms, is_final=isinstance(error, TokenError) and error.is_final)
        old = self._renewal.usable(now_ms)
        if old is None:
            logger.warning(
                "this broker cannot log in to other brokers before it gets a token, and tries again: %s",
                self._why,
                extra=QUIET,
            )
        else:
            left_s = (old.expires_at_ms - now_ms) // 1000
            logger.warning(
                "this broker's token for other brokers ends in %d s and is not renewed yet, it tries again: %s",
                left_s,
                self._why,
                extra=QUIET,
            )

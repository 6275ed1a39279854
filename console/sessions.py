"""Sessions of people: each has its own connections to the cluster, with the rights of its login.

**Limits.** At most `MAX_SESSIONS`; a session ends after `IDLE_S` without a request, and `LONGEST_S` after its login.
Sessions are in memory, so they end with the console.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from ..client.asynchronous.cluster import AsyncCluster
from ..client.client_settings import ClientSettings
from ..protocol.client import Credentials
from ..protocol.errors import ErrorCode, KafkaError
from .cluster_views.cluster_facts import ClusterFacts
from .http.replies import HttpProblem
from .records.masking import Masks
from .records.tail_hub import TailHub

MAX_SESSIONS = 64
IDLE_S = 30 * 60.0
LONGEST_S = 12 * 3600.0
MAX_FAILURES = 20
FAILURES_S = 60.0
MAX_LOGINS_UNDER_WAY = 4
_LOGIN_TIMEOUT_MS = 10_000


class Session:
    """One login, or the one session of a console without logins. `user` is None then."""

    def __init__(self, settings: ClientSettings, user: str | None, masks: Masks, now_s: float) -> None:
        self.user = user
        self.cluster = AsyncCluster(settings)
        self.facts = ClusterFacts(self.cluster)
        self.tails = TailHub(self.cluster, masks)
        self.streams = {"search": 0, "tail": 0}
        self.began_s = now_s
        self.used_s = now_s

    def close(self) -> None:
        """Close the connections; streams end."""
        self.tails.close()
        self.facts.close()
        self.cluster.close()

    def ends_s(self) -> float:
        """When the session ends if nothing more is asked."""
        return min(self.used_s + IDLE_S, self.began_s + LONGEST_S)


class Sessions:
    """All sessions, by the hash of their token. Used on the event loop only."""

    def __init__(
        self,
        settings: ClientSettings,
        needs_login: bool,
        masks: Masks,
        clock_s: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._masks = masks
        self.needs_login = needs_login
        self._clock_s = clock_s
        self._sessions: dict[bytes, Session] = {}
        self._shared: Session | None = None
        self._failures: deque[float] = deque()
        self._logins = asyncio.Semaphore(MAX_LOGINS_UNDER_WAY)

    def find(self, token: str | None) -> Session | None:
        """The session of a token. Without logins all requests share one session."""
        now = self._clock_s()
        if not self.needs_login:
            if self._shared is None:
                self._shared = Session(self._settings, None, self._masks, now)
            return self._shared
        self._end_old(now)
        session = self._sessions.get(_hashed(token)) if token else None
        if session is not None:
            session.used_s = now
        return session

    async def login(self, credentials: Credentials) -> tuple[str, Session]:
        """Log in at the cluster; returns the token of the new session. Raises HttpProblem."""
        now = self._clock_s()
        while self._failures and now - self._failures[0] > FAILURES_S:
            self._failures.popleft()
        if len(self._failures) >= MAX_FAILURES or self._logins.locked():
            raise HttpProblem(429, "too many logins were tried; wait a minute")
        security = replace(self._settings.security, sasl=credentials)
        settings = replace(self._settings, security=security, connect_timeout_ms=_LOGIN_TIMEOUT_MS)
        session = Session(settings, credentials.user, self._masks, now)
        try:
            async with self._logins:
                await session.cluster.metadata([])
        except BaseException as error:
            session.close()
            if isinstance(error, KafkaError) and error.code in _REFUSED:
                self._failures.append(now)
                raise HttpProblem(401, "the cluster refuses this login: user, password or mechanism is wrong") from None
            raise
        self._make_room(now)
        token = secrets.token_urlsafe(32)
        self._sessions[_hashed(token)] = session
        return token, session

    def now_s(self) -> float:
        """The time of the sessions' clock."""
        return self._clock_s()

    def logout(self, token: str | None) -> None:
        """End the session of a token, if there is one."""
        session = self._sessions.pop(_hashed(token), None) if token else None
        if session is not None:
            session.close()

    def close(self) -> None:
        """End all sessions."""
        for session in [*self._sessions.values(), *([self._shared] if self._shared else [])]:
            session.close()
        self._sessions.clear()
        self._shared = None

    def streams(self, kind: str) -> int:
        """How many searches or tails are under way in all sessions."""
        shared = [self._shared] if self._shared else []
        return sum(session.streams[kind] for session in [*self._sessions.values(), *shared])

    def _end_old(self, now: float) -> None:
        for key in [key for key, session in self._sessions.items() if session.ends_s() <= now]:
            self._sessions.pop(key).close()

    def _make_room(self, now: float) -> None:
        self._end_old(now)
        while len(self._sessions) >= MAX_SESSIONS:
            oldest = min(self._sessions, key=lambda key: self._sessions[key].used_s)
            self._sessions.pop(oldest).close()


_REFUSED = {
    ErrorCode.SASL_AUTHENTICATION_FAILED,
    ErrorCode.UNSUPPORTED_SASL_MECHANISM,
    ErrorCode.ILLEGAL_SASL_STATE,
}


def _hashed(token: str | None) -> bytes:
    return hashlib.sha256((token or "").encode("utf-8", "replace")).digest()

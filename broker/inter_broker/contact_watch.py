"""Watches whether this broker has contact with the cluster, and suspends or resumes its leaderships accordingly."""

import asyncio

from ...controller.tree.metadata_store import MetadataStore, SessionEvent
from ...replication.leader.suspension import LeadershipSuspension

__all__ = ["ContactWatch"]

_CHECK_INTERVAL_S = 0.5


class ContactWatch:
    """Checks twice a second, and at each change of the session, until `kill`. ``lag_max_ms``: replica.lag.time.max.ms.

    While the session with the metadata store may be over, leaderships of which a follower in the ISR is silent are
    suspended. The follower must have fallen silent about when the session was lost: a new leader is elected soon after
    the loss, and a follower that falls silent later has most likely died. If that session turns out to live,
    leaderships are resumed; in a new session the controller tells the broker its roles.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, store: MetadataStore, suspension: LeadershipSuspension, lag_max_ms: int
    ) -> None:
        self._loop = loop
        self._store = store
        self._suspension = suspension
        self._lag_max_ms = lag_max_ms
        self._lost_session_id = 0
        self._lost_at_s: float | None = None
        self._timer: asyncio.TimerHandle | None = loop.call_later(_CHECK_INTERVAL_S, self._repeat)
        store.on_session_event(self._on_session_event)

    def kill(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        store = self._store
        if store.is_session_lost:
            if not self._suspension.suspended:
                self._lost_session_id = store.session_id
            self._suspension.suspend_silent(self._silence_ms())
        else:
            self._lost_at_s = None
            if store.session_id == self._lost_session_id:
                self._suspension.resume(self._suspension.suspended)

    def _silence_ms(self) -> int:
        """The silence of a follower that may have been elected: since one session timeout after the loss, or longer."""
        now_s, timeout_ms = self._loop.time(), self._store.session_timeout_ms
        if self._lost_at_s is None:
            self._lost_at_s = now_s
        lost_for_ms = int((now_s - self._lost_at_s) * 1000)
        return max(min(self._lag_max_ms, timeout_ms), lost_for_ms - timeout_ms)

    def _repeat(self) -> None:
        self._timer = self._loop.call_later(_CHECK_INTERVAL_S, self._repeat)
        self._check()

    def _on_session_event(self, event: SessionEvent) -> None:
        if self._timer is not None:
            self._check()

"""Requests that took long: the last ones, and a log line that says what each of them waited for.

A request is slow if its total time and the time for which a quota delays its client reach
``pybroker.slow.request.ms``. The time for which the client itself asked to wait does not count: a fetch may wait for
records up to its max wait, and JoinGroup and SyncGroup wait for the other members of the group.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator

from ...base.quiet_lines import QUIET
from ...protocol.apis import API_SPECS, ApiKey
from ...views.requests import SlowRequest
from ..network.request import Request

__all__ = ["SlowRequests"]

logger = logging.getLogger(__name__)

_MOST = 1000
_MS = 1000.0
_LONGEST_NAME = 200
_WAIT_FOR_MEMBERS = frozenset((ApiKey.JOIN_GROUP.value, ApiKey.SYNC_GROUP.value))
_REASONS = {
    "queue": "the broker worked on other requests",
    "local": "the broker worked on it",
    "remote": "worker threads, the metadata store or other brokers",
    "response queue": "earlier requests of the connection were not answered",
    "send": "the client read the response slowly",
}


class SlowRequests:
    """The last slow requests. ``threshold_ms``: 0 notes none. ``clock_ms``: the wall clock."""

    def __init__(self, threshold_ms: int, clock_ms: Callable[[], int]) -> None:
        self.threshold_ms = threshold_ms
        self._clock_ms = clock_ms
        self._last: deque[SlowRequest] = deque(maxlen=_MOST)
        self.count = 0
        """All since the start."""

    def newest_first(self) -> Iterator[SlowRequest]:
        return iter(list(reversed(self._last)))

    def note(self, request: Request, sent_s: float) -> None:
        """Look at a request whose times may be long enough."""
        total_ms = (sent_s - request.received_s) * _MS + request.throttle_time_ms
        remote_ms = (request.answered_s - request.handled_s) * _MS
        asked_ms = remote_ms if request.api_key in _WAIT_FOR_MEMBERS else min(remote_ms, request.asked_wait_ms)
        if total_ms - asked_ms < self.threshold_ms:
            return
        phases = {
            "queue": (request.started_s - request.received_s) * _MS,
            "local": (request.handled_s - request.started_s) * _MS,
            "remote": remote_ms,
            "response queue": (request.sending_s - request.answered_s) * _MS,
            "send": (sent_s - request.sending_s) * _MS,
        }
        slow = SlowRequest(
            time_ms=self._clock_ms(),
            api=API_SPECS[ApiKey(request.api_key)].name,
            version=request.api_version,
            client_id=(request.client_id or "")[:_LONGEST_NAME],
            principal=str(request.connection.principal)[:_LONGEST_NAME],
            host=request.connection.peer_host,
            request_bytes=request.frame_bytes,
            response_bytes=request.response_bytes,
            total_ms=round(total_ms - request.throttle_time_ms, 3),
            queue_ms=round(phases["queue"], 3),
            local_ms=round(phases["local"], 3),
            remote_ms=round(remote_ms, 3),
            throttle_ms=request.throttle_time_ms,
            send_ms=round(phases["response queue"] + phases["send"], 3),
            waited_for=_reason(request, phases),
        )
        self._last.append(slow)
        self.count += 1
        logger.warning(
            "slow request: %s v%d of client %r (%s, %s) took %s ms, %s; request %d bytes, response %d bytes",
            slow.api,
            slow.version,
            slow.client_id,
            slow.principal,
            slow.host,
            f"{slow.total_ms:,.0f}",
            slow.waited_for,
            slow.request_bytes,
            slow.response_bytes,
            extra=QUIET,
        )


def _reason(request: Request, phases: dict[str, float]) -> str:
    """The longest phase, and what the request waited for in it."""
    throttle_ms = request.throttle_time_ms
    phase, took_ms = max(phases.items(), key=lambda each: each[1])
    if throttle_ms > took_ms:
        client = (request.client_id or "")[:_LONGEST_NAME]
        user = str(request.connection.principal.name)[:_LONGEST_NAME]
        return f"throttled {throttle_ms:,} ms: a quota of user {user!r}, client id {client!r}"
    waited_for = request.waited_for() if phase == "remote" and request.waited_for is not None else _REASONS[phase]
    return f"{phase} {took_ms:,.0f} ms: {waited_for}"

"""When this broker fetches its token anew: before the token ends, and after failures.

**How.** Pure rules over a clock that is passed in. The times of renewals are those of Kafka's
``ExpiringCredentialRefreshingLogin``, the times of retries are those of its ``Retry``. The token at hand stays until a
fetch succeeds.
"""

from collections.abc import Callable

from ....base.frozen import frozen
from ....client.oauth.own_token import OwnToken

__all__ = ["RenewalTimes", "TokenRenewal", "renewal_at_ms"]

_PAUSE_MS = 10_000
"""After a row of failed tries, and for a token that has expired."""
_LEAST_MS_BETWEEN_FETCHES = 1000


@frozen
class RenewalTimes:
    """The settings ``sasl.login.refresh.…`` and ``sasl.login.retry.…``."""

    window_factor: float
    window_jitter: float
    min_period_s: int
    buffer_s: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int


def renewal_at_ms(token: OwnToken, times: RenewalTimes, now_ms: int, share: float) -> int:
    """When a token that has just arrived is renewed, on the wall clock.

    ``share``: random, from 0 to 1, so that not all brokers renew at once.
    """
    ends_ms = token.expires_at_ms
    if now_ms > ends_ms:
        return now_ms + _PAUSE_MS
    begins_ms = now_ms if token.begins_at_ms is None else token.begins_at_ms
    part = min(1.0, max(0.0, times.window_factor + times.window_jitter * share))
    if now_ms + 1000 * (times.min_period_s + times.buffer_s) > ends_ms:
        return now_ms + int((ends_ms - now_ms) * part)
    wanted_ms = begins_ms + int((ends_ms - begins_ms) * part)
    latest_ms, earliest_ms = ends_ms - 1000 * times.buffer_s, now_ms + 1000 * times.min_period_s
    at_ms = latest_ms if wanted_ms > latest_ms else max(wanted_ms, earliest_ms)
    return at_ms if at_ms >= now_ms else now_ms + _PAUSE_MS


class TokenRenewal:
    """Times are ms of the wall clock, which tokens refer to. ``due_at_ms`` is the time of the next fetch."""

    def __init__(self, times: RenewalTimes, now_ms: int, random: Callable[[], float]) -> None:
        self.due_at_ms = now_ms
        self._times = times
        self._random = random
        self._token: OwnToken | None = None
        self._failures = 0
        self._row_began_ms = now_ms

    def usable(self, now_ms: int) -> OwnToken | None:
        """The token at hand, unless it has expired."""
        token = self._token
        return token if token is not None and now_ms < token.expires_at_ms else None

    def begins(self, now_ms: int) -> None:
        """A fetch begins."""
        if not self._failures:
            self._row_began_ms = now_ms

    def fetched(self, token: OwnToken, now_ms: int) -> None:
        """A fetch brought a token that has not expired."""
        self._token = token
        self._failures = 0
        renewal_ms = renewal_at_ms(token, self._times, now_ms, self._random())
        self.due_at_ms = max(renewal_ms, now_ms + _LEAST_MS_BETWEEN_FETCHES)

    def failed(self, now_ms: int, *, is_final: bool) -> None:
        """The pauses between tries double, until a row of tries has taken ``sasl.login.retry.backoff.max.ms``.

        ``is_final``: another try soon would fail too.
        """
        backoff_ms = self._times.retry_backoff_ms << min(self._failures, 30)
        pause_ms = min(backoff_ms, self._row_began_ms + self._times.retry_backoff_max_ms - now_ms)
        self._failures += 1
        if is_final or pause_ms <= 0:
            pause_ms, self._failures = _PAUSE_MS, 0
        self.due_at_ms = now_ms + pause_ms

"""When to fetch an issuer's key set again: at intervals, after failures, and when a token names an unknown key.

**How.** Pure rules over a clock that is passed in; `jwks_source.py` fetches. The keys at hand stay until a fetch
succeeds.
"""

from collections import OrderedDict

from ....base.frozen import frozen
from .jwks import EMPTY_KEY_SET, KeySet

__all__ = ["JwksRefresh", "RefreshTimes"]

_REMEMBERED_KEY_IDS = 16
_MAX_KEY_ID_CHARACTERS = 1000
_LEAST_MS_BETWEEN_MISSES = 60_000


@frozen
class RefreshTimes:
    """The settings ``sasl.oauthbearer.jwks.endpoint.…`` in ms."""

    refresh_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int


class JwksRefresh:
    """``keys`` are the keys at hand, ``due_at_ms`` is the time of the next fetch."""

    def __init__(self, times: RefreshTimes, now_ms: int) -> None:
        self.keys: KeySet = EMPTY_KEY_SET
        self.due_at_ms = now_ms
        self._times = times
        self._failures = 0
        self._missed: OrderedDict[str, int] = OrderedDict()

    def fetched(self, keys: KeySet, now_ms: int) -> None:
        self.keys = keys
        self._failures = 0
        for key in keys.keys:
            if key.key_id is not None:
                self._missed.pop(key.key_id, None)
        self.due_at_ms = now_ms + self._times.refresh_ms

    def failed(self, now_ms: int) -> None:
        """The time until the next fetch doubles with each failure."""
        backoff_ms = min(self._times.retry_backoff_ms << min(self._failures, 30), self._times.retry_backoff_max_ms)
        self._failures += 1
        self.due_at_ms = now_ms + max(1, backoff_ms)

    def missed(self, key_id: str, now_ms: int) -> bool:
        """A token names a key that is not at hand. Whether that brings the next fetch forward: once a minute for each
        of the 16 last key ids."""
        if len(key_id) > _MAX_KEY_ID_CHARACTERS:
            return False
        last_ms = self._missed.get(key_id)
        if last_ms is not None and now_ms - last_ms < _LEAST_MS_BETWEEN_MISSES:
            return False
        self._missed[key_id] = now_ms
        self._missed.move_to_end(key_id)
        while len(self._missed) > _REMEMBERED_KEY_IDS:
            self._missed.popitem(last=False)
        if not self._failures:
            self.due_at_ms = min(self.due_at_ms, now_ms)
        return not self._failures

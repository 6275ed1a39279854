"""Token bucket: a long-term rate that permits bursts (Kafka: TokenBucket, KIP-599). Pure.

The bucket fills at ``rate`` tokens a second up to the burst, which is the rate times the span of all windows. Taking
tokens may leave a debt; a bucket in debt is exhausted until the debt is paid.
"""

from .sampled_rate import Windows
from .throttle_time import LONGEST_MS, rounded_ms

__all__ = ["TokenBucket"]


class TokenBucket:
    """Times are ms of a clock that does not go back. A new bucket is full. ``rate`` may differ from call to call."""

    __slots__ = ("_rate", "_tokens", "_updated_ms")

    def __init__(self) -> None:
        self._tokens: float | None = None  # None: full at any rate
        self._updated_ms = 0
        self._rate = 0.0

    def tokens(self, rate: float, now_ms: int, windows: Windows) -> float:
        """The tokens in the bucket; less than 0: it is exhausted."""
        burst = rate * windows.span_ms / 1000
        if self._tokens is None:
            self._tokens = burst
        else:
            self._tokens = min(burst, self._tokens + rate * (now_ms - self._updated_ms) / 1000)
        self._updated_ms = now_ms
        self._rate = rate
        return self._tokens

    def take(self, count: float, rate: float, now_ms: int, windows: Windows) -> None:
        """Take tokens, also those that are not there; a negative ``count`` gives tokens back."""
        self._tokens = min(rate * windows.span_ms / 1000, self.tokens(rate, now_ms, windows) - count)

    def wait_ms(self, rate: float, now_ms: int, windows: Windows) -> int:
        """How long until the debt is paid; 0: there is none."""
        tokens = self.tokens(rate, now_ms, windows)
        if tokens >= 0 or rate < 0:
            return 0
        return LONGEST_MS if rate == 0 else rounded_ms(-tokens / rate * 1000)

    def is_idle(self, now_ms: int, windows: Windows) -> bool:
        """Whether the bucket is full at the rate used last, so that it is as good as a new one."""
        return self.tokens(self._rate, now_ms, windows) >= self._rate * windows.span_ms / 1000

"""How fast the logs of a broker grow, from their size once a minute. Pure."""

from collections import deque

__all__ = ["SAMPLE_INTERVAL_S", "DiskGrowth"]

SAMPLE_INTERVAL_S = 60
_SAMPLES = 61
_LEAST_S = 300


class DiskGrowth:
    """Keeps the sizes of the last hour."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque(maxlen=_SAMPLES)

    def add(self, now_s: float, size_bytes: int) -> None:
        """The logs have this size now."""
        self._samples.append((now_s, size_bytes))

    def bytes_per_s(self) -> float | None:
        """Return the growth over the last hour, or since the start; None before five minutes, or without growth."""
        if not self._samples:
            return None
        (first_s, first_bytes), (last_s, last_bytes) = self._samples[0], self._samples[-1]
        if last_s - first_s < _LEAST_S or last_bytes <= first_bytes:
            return None
        return (last_bytes - first_bytes) / (last_s - first_s)

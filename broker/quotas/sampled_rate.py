"""Rate of a quantity over the last windows of time (Kafka: Rate over WindowedSum). Pure.

Values are summed up in samples. A sample ends when it is one window old, and the next value starts a new one. A sample
counts until its last value is ``count`` windows old. The sum is divided by the time since the oldest sample began,
which counts as ``count - 1`` whole windows at least. So with Kafka's defaults a first burst is spread over ten seconds.
"""

from array import array
from typing import NamedTuple

from ...base.frozen import frozen

__all__ = ["Measurement", "SampledRate", "Windows"]


@frozen
class Windows:
    """How many windows of which length a rate is measured over."""

    count: int = 11
    length_ms: int = 1000

    @property
    def span_ms(self) -> int:
        return self.count * self.length_ms


class Measurement(NamedTuple):
    per_second: float
    window_ms: int
    """The time by which the sum of the values was divided."""


_SAMPLE = 3


class SampledRate:
    """Times are ms of a clock that does not go back."""

    __slots__ = ("_last_ms", "_last_value", "_samples", "_total", "fresh_until_ms")

    def __init__(self) -> None:
        self._total = 0.0  # of all samples, until `fresh_until_ms`
        self.fresh_until_ms = 0
        """Until then no sample begins or is forgotten, so that `add` may be called."""
        self._samples = array("d")
        """The start, the time of the last value and the total of each sample, in one array to save memory. `_settle`
        brings the last two numbers up to date."""
        self._last_ms = 0
        self._last_value = 0.0

    def record(self, value: float, now_ms: int, windows: Windows) -> None:
        """Add a value; a negative one takes back a value recorded before."""
        self._forget_old(now_ms, windows)
        samples = self._samples
        if not samples or now_ms - samples[-3] >= windows.length_ms:
            samples.extend((now_ms, now_ms, value))
        else:
            samples[-2] = now_ms
            samples[-1] += value
        self._last_ms, self._last_value = now_ms, samples[-1]
        self._total = sum(samples[2::_SAMPLE])
        oldest_until_ms = now_ms if len(samples) == _SAMPLE else samples[1]
        self.fresh_until_ms = int(min(samples[-3] + windows.length_ms, oldest_until_ms + windows.span_ms))

    def add(self, value: float, now_ms: int) -> float:
        """`record` before `fresh_until_ms`; returns the total of all samples."""
        self._last_ms = now_ms
        self._last_value += value
        self._total = total = self._total + value
        return total

    def measure(self, now_ms: int, windows: Windows) -> Measurement:
        self._forget_old(now_ms, windows)
        samples = self._samples
        elapsed_ms = now_ms - int(samples[0]) if samples else 0
        missing = windows.count - 1 - elapsed_ms // windows.length_ms
        window_ms = max(elapsed_ms + max(missing, 0) * windows.length_ms, 1)
        return Measurement(sum(samples[2::_SAMPLE]) / (window_ms / 1000), window_ms)

    def is_idle(self, now_ms: int, windows: Windows) -> bool:
        """Whether no recorded value counts any more, so that this object is as good as a new one."""
        return not self._samples or now_ms - self._last_ms >= windows.span_ms

    def _forget_old(self, now_ms: int, windows: Windows) -> None:
        self._settle()
        samples = self._samples
        while samples and now_ms - samples[1] >= windows.span_ms:
            del samples[:_SAMPLE]

    def _settle(self) -> None:
        if self._samples:
            self._samples[-2] = self._last_ms
            self._samples[-1] = self._last_value

"""The latencies of records, and their line in the form of Kafka's ``kafka-producer-perf-test.sh``."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

__all__ = ["Latencies"]

_SHARES = (0.5, 0.95, 0.99, 0.999)
_MEGABYTE = 1024 * 1024


class Latencies:
    """The records of a batch share its latency."""

    def __init__(self) -> None:
        self._batches: list[tuple[float, int]] = []
        self.records = 0

    def add(self, milliseconds: float, records: int) -> None:
        """Note a batch."""
        self._batches.append((milliseconds, records))
        self.records += records

    def percentiles(self, shares: Sequence[float] = _SHARES) -> list[float]:
        """The latency that each of these shares of the records does not exceed; at least one batch must be noted."""
        ordered = sorted(self._batches)
        counts = list(accumulate(records for _, records in ordered))
        return [ordered[bisect_left(counts, share * self.records)][0] for share in shares]

    def line(self, seconds: float, record_bytes: int) -> str:
        """The columns of Kafka's script; at least one batch must be noted."""
        rate = self.records / max(seconds, 1e-9)
        mean = sum(milliseconds * records for milliseconds, records in self._batches) / self.records
        half, most, nearly, last = self.percentiles()
        return (
            f"{self.records} records sent, {rate:.1f} records/sec ({rate * record_bytes / _MEGABYTE:.2f} MB/sec), "
            f"{mean:.2f} ms avg latency, {max(self._batches)[0]:.2f} ms max latency, "
            f"{half:.0f} ms 50th, {most:.0f} ms 95th, {nearly:.0f} ms 99th, {last:.0f} ms 99.9th."
        )

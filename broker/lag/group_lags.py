"""The lag of each group this broker coordinates: by partition in records and seconds, with verdicts.

The lag counts records up to the high watermark, as ``kafka-consumer-groups --describe`` counts them. A group with
``read_committed`` reads up to the last stable offset, so while a transaction is open its lag includes the records of
that transaction. An offset below the log start counts from the log start: the records between are lost, not unread.

**How.** Steps of a generator, because a group may have very many partitions: each step is short. All groups of a scrape
share what they read of a partition (`Readings`).
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from ...base.lag_verdicts import Verdict, judge, worst
from ...base.topic_partition import TopicPartition
from ..coordinator.group.base import GroupBase
from ..coordinator.group.offsets import CommitRecord
from .commit_trend import trend_of
from .partition_ends import PartitionEnds
from .readings import Readings
from .unread_times import UnreadTimes

__all__ = ["GroupLag", "GroupLags", "PartitionLag"]


_PARTITIONS_IN_A_STEP = 32
_LOOK_UPS_IN_A_STEP = 8
"""They take some tenths of a millisecond at most, unless many batches are empty."""


class PartitionLag(NamedTuple):
    """None stands for unknown: the leader is another broker and has not answered yet, or a file is being read.

    ``start``, ``end``: the log start offset and the high watermark. ``is_offset_lost``: the committed offset is outside
    the log. ``catch_up_s``: how long until the lag is 0 if the group goes on like this; None also when never.
    """

    topic_partition: TopicPartition
    committed: int
    start: int | None
    end: int | None
    lag: int | None
    lag_s: float | None
    is_offset_lost: bool
    verdict: Verdict | None
    catch_up_s: float | None


class GroupLag(NamedTuple):
    """The lags of a group. The sums leave out partitions whose lag is unknown; None when all are unknown."""

    group_id: str
    partitions: list[PartitionLag]

    @property
    def lag(self) -> int | None:
        """The sum over the partitions."""
        known = [each.lag for each in self.partitions if each.lag is not None]
        return sum(known) if known else None

    @property
    def max_lag(self) -> int | None:
        return max((each.lag for each in self.partitions if each.lag is not None), default=None)

    @property
    def max_lag_s(self) -> float | None:
        return max((each.lag_s for each in self.partitions if each.lag_s is not None), default=None)

    @property
    def verdict(self) -> Verdict:
        return worst(each.verdict for each in self.partitions if each.verdict is not None)

    @property
    def catch_up_s(self) -> float | None:
        """The time until the slowest partition has caught up; None when one never does, or it is unknown."""
        times = [each.catch_up_s for each in self.partitions if each.lag is not None]
        known = [each for each in times if each is not None]
        return max(known, default=0.0) if times and len(known) == len(times) else None


class GroupLags:
    """``groups``: a snapshot of those this broker coordinates. ``clock_ms``: the wall clock; ``now_s``: a monotonic
    clock."""

    def __init__(
        self,
        groups: Callable[[], Iterable[GroupBase]],
        ends: PartitionEnds,
        times: UnreadTimes,
        clock_ms: Callable[[], int],
        now_s: Callable[[], float],
    ) -> None:
        self.groups = groups
        self._ends = ends
        self._times = times
        self._clock_ms = clock_ms
        self._now_s = now_s

    def readings(self) -> Readings:
        """New readings for groups to share. They become out of date, so replace them after some tenths of a second."""
        return Readings(self._ends, self._times)

    def of(self, group: GroupBase) -> GroupLag:
        """The lag of one group, at once."""
        return _last(self.steps(group))

    def steps(self, group: GroupBase, readings: Readings | None = None) -> Iterator[GroupLag | None]:
        """Compute the lag of a group: None after every few partitions, the result last.

        ``readings``: see `readings`; None when no other group shares them.
        """
        found: list[PartitionLag] = []
        committed = list(group.offsets.committed.items())
        rest = iter(committed)
        shared = self.readings() if readings is None else readings
        while True:
            found += self._next_lags(group, islice(rest, _PARTITIONS_IN_A_STEP), shared)
            if len(found) == len(committed):
                break
            yield None
        yield GroupLag(group.group_id, found)

    async def settled(self) -> None:
        """Wait until no file is being read for a lag that is unknown yet."""
        await self._times.settled()

    def of_partition(self, group: GroupBase, topic_partition: TopicPartition, record: CommitRecord) -> PartitionLag:
        """The lag of one committed offset."""
        (found,) = self._next_lags(group, iter([(topic_partition, record)]), self.readings())
        return found

    def _next_lags(
        self, group: GroupBase, committed: Iterator[tuple[TopicPartition, CommitRecord]], readings: Readings
    ) -> list[PartitionLag]:
        """The lags of the next offsets: of all that are there, or as many as a step may look up."""
        now_s, now_ms = self._now_s(), self._clock_ms()
        histories = {} if group.offsets.histories is None else group.offsets.histories.by_partition
        found: list[PartitionLag] = []
        look_ups = 0
        for topic_partition, record in committed:
            offset = record.value.offset
            reading = readings[topic_partition]
            if reading is None:
                found.append(PartitionLag(topic_partition, offset, None, None, None, None, False, None, None))
                continue
            start, end, log, ring, known = reading
            first = offset if start is None or offset >= start else start
            is_lost = first > offset
            lag = end - first
            if lag <= 0:
                is_lost = is_lost or (log is not None and offset > log.log_end_offset)
                found.append(PartitionLag(topic_partition, offset, start, end, 0, 0.0, is_lost, Verdict.OK, 0.0))
                continue
            unread_s: float | None = None
            written_ms = known.get(first)
            if written_ms is not None and written_ms >= 0:
                unread_s = (now_ms - written_ms) / 1000 if written_ms <= now_ms else 0.0
            elif log is not None:
                unread_s = self._times.seconds(topic_partition, log, first, end, now_ms)
                look_ups += 1
            elif ring is not None:
                written_ms = ring.written_ms(first)
                unread_s = None if written_ms is None else max(now_s - written_ms / 1000, 0.0)
            history = histories.get(topic_partition)
            catch_up_s: float | None = None
            if history is None:  # the last commit was read from the log
                silent_s = max(now_ms - record.value.commit_timestamp_ms, 0) / 1000
                verdict = judge(Verdict.OK, lag, silent_s, unread_s, 0.0)
            else:
                trend, gain_per_s, last_s, window_s = history.trend or trend_of(history)
                verdict = judge(trend, lag, now_s - last_s, unread_s, window_s)
                if gain_per_s is not None and verdict is not Verdict.STOPPED:
                    catch_up_s = lag / gain_per_s
            found.append(PartitionLag(topic_partition, offset, start, end, lag, unread_s, is_lost, verdict, catch_up_s))
            if look_ups == _LOOK_UPS_IN_A_STEP:
                break
        return found


def _last(steps: Iterator[GroupLag | None]) -> GroupLag:
    (result,) = (step for step in steps if step is not None)
    return result

"""Finds the partitions of a query and their offsets, on the driver, for each micro-batch."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from ...base.topic_partition import TopicPartition
from ...client.cluster import NO_OFFSET, Cluster
from ...client.given_options import OptionError
from ...protocol.errors import UnknownTopicOrPartitionError
from ...protocol.sentinels import EARLIEST, LATEST
from ..options.data_loss import DataLoss
from ..options.offset_limits import EndOfLog, GlobalTimestamp, OffsetLimit, SpecificOffsets, SpecificTimestamps
from ..options.partition_json import PartitionNumbers
from ..options.read_options import ReadOptions
from ..options.subscription import Assigned, TopicPattern, Topics
from .offset_ranges import OffsetRange, split_ranges

logger = logging.getLogger(__name__)

DEFAULT_MAX_RECORDS = 1_000_000
"""Maximum offsets of a task if no option sets the number of tasks. It is large enough that a task's own cost does not
matter, and small enough that one large partition keeps all cores busy.
"""


class SourceOffsets:
    """The partitions that a query subscribes to, and their offsets. Raises KafkaError, ConnectionError.

    `is_first`: the query begins, so it gives up soon if it can't connect.
    """

    def __init__(self, options: ReadOptions, *, is_first: bool = False) -> None:
        self._options = options
        first_ms = options.settings.connect_timeout_ms if is_first else None
        self._cluster = Cluster(options.settings, first_ms=first_ms)
        self._data_loss = DataLoss(options.fail_on_data_loss)

    def close(self) -> None:
        """Close the connections."""
        self._cluster.close()

    def __enter__(self) -> SourceOffsets:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def batch_ranges(self) -> list[OffsetRange]:
        """Returns the tasks of a batch query. Raises OptionError if an option names a topic or partition that does not
        exist.
        """
        partitions = self._first_partitions()
        start = self._resolve(self._options.starting, partitions, is_start=True)
        end = self._resolve(self._options.ending, partitions, is_start=False)
        self._check_specific_end(end)
        for at in partitions:
            if start[at] > end[at]:
                self._report_reversed_range(at, start[at], end[at])
        return self._split([OffsetRange(at, start[at], end[at]) for at in partitions])

    def initial(self) -> PartitionNumbers:
        """Returns the start of a new streaming query. Raises OptionError."""
        return self._resolve(self._options.starting, self._first_partitions(), is_start=True)

    def check_added(self, known: Collection[TopicPartition]) -> None:
        """Checks the topics of a continued query that it has not read yet: none of their partitions is `known`. A topic
        that was deleted meanwhile is a mistake too, unless lost data is allowed. Raises OptionError.
        """
        match self._options.subscription:
            case Topics(names) if self._options.fail_on_data_loss:
                if added := set(names) - {at.topic for at in known}:
                    with _option_error_for("subscribe"):
                        self._cluster.partitions_of_all(added)

    def latest(self, known: Mapping[TopicPartition, int]) -> PartitionNumbers:
        """Returns the ends of all partitions. If an end is lower than in `known`, the cluster is asked again a few
        times.
        """
        attempts = max(1, self._options.fetch_retries)
        for attempt in range(1, attempts + 1):
            found = self._cluster.offsets(dict.fromkeys(self.partitions(), LATEST))
            if attempt == attempts or all(known.get(at, 0) <= found[at] for at in found):
                break
            logger.warning("Some partitions end before offsets that were already read; asking for their ends again")
            time.sleep(self._options.fetch_retry_ms / 1000)
        return found

    def earliest(self, partitions: Collection[TopicPartition]) -> PartitionNumbers:
        """Returns the first offsets of the given partitions that exist."""
        if not partitions:
            return {}
        existing = set(self.partitions()).intersection(partitions)
        return self._cluster.offsets(dict.fromkeys(sorted(existing), EARLIEST))

    def ranges_between(
        self, start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]
    ) -> list[OffsetRange]:
        """Returns the tasks of a micro-batch. A partition that `start` lacks is new and read from its beginning."""
        added = self.earliest(end.keys() - start.keys())
        for at in sorted(end.keys() - start.keys() - added.keys()):
            self._data_loss.report(f"{at} was deleted before it was read")
        for at, offset in added.items():
            if offset != 0:
                self._data_loss.report(f"the new partition {at} starts at {offset}, not at 0")
        for at in sorted(start.keys() - end.keys()):
            self._data_loss.report(f"{at} was deleted")
        begin = {**start, **added}
        ranges = []
        for at in sorted(end.keys() & begin.keys()):
            if end[at] < begin[at]:
                self._data_loss.report(f"{at} ends at {end[at]}, before the offset {begin[at]} that was already read")
            ranges.append(OffsetRange(at, begin[at], end[at]))
        return self._split(ranges)

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Stores offsets in a consumer group, so that other tools can see the progress of the query."""
        self._cluster.commit(group, offsets)

    def partitions(self) -> list[TopicPartition]:
        """Returns the partitions that the query reads now, sorted."""
        subscription = self._options.subscription
        match subscription:
            case Assigned():
                return list(subscription.partitions)
            case Topics():
                return self._cluster.partitions(subscription.names)
            case TopicPattern():
                names = [name for name in self._cluster.topic_names() if subscription.matches(name)]
                return self._cluster.partitions(names) if names else []

    def _first_partitions(self) -> list[TopicPartition]:
        """Returns the partitions at the start of a query. A named topic or partition that does not exist is a mistake
        here; later it counts as data loss.

        Raises OptionError.
        """
        match self._options.subscription:
            case Topics(names):
                with _option_error_for("subscribe"):
                    return self._cluster.partitions_of_all(names)
            case Assigned(partitions):
                with _option_error_for("assign"):
                    self._cluster.check_partitions(partitions)
        return self.partitions()

    def _report_reversed_range(self, at: TopicPartition, start: int, end: int) -> None:
        """Handles a partition whose range ends before it begins: data loss, or options that contradict each other.

        Raises OptionError, DataLossError.
        """
        starting, ending = self._options.starting, self._options.ending
        there = self._cluster.offsets({at: LATEST})[at]
        if start > there:
            self._data_loss.report(f"{at} ends at {there}, before its starting offset {start}")
        elif not isinstance(starting, EndOfLog) and not isinstance(ending, EndOfLog):
            raise OptionError(f"Options '{starting.option}' and '{ending.option}': {at} begins at {start}, after {end}")

    def _split(self, ranges: list[OffsetRange]) -> list[OffsetRange]:
        min_partitions, max_records = self._options.min_partitions, self._options.max_records
        if min_partitions is None and max_records is None:
            max_records = DEFAULT_MAX_RECORDS
        return split_ranges(ranges, min_partitions=min_partitions, max_records=max_records)

    def _resolve(self, limit: OffsetLimit, partitions: list[TopicPartition], *, is_start: bool) -> PartitionNumbers:
        match limit:
            case EndOfLog(offset):
                return self._cluster.offsets(dict.fromkeys(partitions, offset))
            case SpecificOffsets(option, offsets):
                _check_complete(option, offsets, partitions)
                return self._with_ends(offsets)
            case SpecificTimestamps(option, timestamps, latest_when_none):
                _check_complete(option, timestamps, partitions)
                return self._by_time(option, timestamps, latest_when_none or not is_start)
            case GlobalTimestamp(option, timestamp, latest_when_none):
                return self._by_time(option, dict.fromkeys(partitions, timestamp), latest_when_none or not is_start)

    def _with_ends(self, offsets: PartitionNumbers) -> PartitionNumbers:
        ends = self._cluster.offsets({at: offset for at, offset in offsets.items() if offset < 0})
        return {**offsets, **ends}

    def _by_time(self, option: str, timestamps: PartitionNumbers, latest_when_none: bool) -> PartitionNumbers:
        found = self._cluster.offsets(timestamps)
        for at, offset in found.items():
            if offset == NO_OFFSET and not latest_when_none:
                raise OptionError(f"Option '{option}': {at} has no record at or after the timestamp {timestamps[at]}")
        return self._with_ends({at: LATEST if offset == NO_OFFSET else offset for at, offset in found.items()})

    def _check_specific_end(self, end: PartitionNumbers) -> None:
        if isinstance(self._options.ending, SpecificOffsets):
            there = self.latest(end)
            for at in sorted(end):
                if end[at] > there[at]:
                    self._data_loss.report(f"{at} ends at {there[at]}, before its ending offset {end[at]}")
                    end[at] = there[at]


@contextmanager
def _option_error_for(option: str) -> Iterator[None]:
    """Turns an unknown topic or partition into an OptionError that names the option."""
    try:
        yield
    except UnknownTopicOrPartitionError as error:
        raise OptionError(f"Option '{option}': {error}") from None


def _check_complete(option: str, given: PartitionNumbers, partitions: list[TopicPartition]) -> None:
    """Checks that an option by partition names exactly the partitions of the query. Raises OptionError."""
    missing = ", ".join(map(str, sorted(set(partitions) - given.keys())))
    if missing:
        raise OptionError(f"Option '{option}' lacks {missing}: give all partitions, -1 for latest, -2 for earliest")
    unknown = ", ".join(map(str, sorted(given.keys() - set(partitions))))
    if unknown:
        raise OptionError(f"Option '{option}' names {unknown}, which the query does not read")

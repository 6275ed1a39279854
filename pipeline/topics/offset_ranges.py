"""Ranges of offsets: how a query is split into tasks, and how a rate limit is shared out. Plain arithmetic.

The rules are those of Spark's Kafka source (KafkaOffsetRangeCalculator, KafkaMicroBatchStream.rateLimit), so that the
same options give the same tasks and batches.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...base.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets of one partition, from `start` up to and without `end`. Not each of them need have a record."""

    topic_partition: TopicPartition
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start

    def parts(self, count: int) -> list[OffsetRange]:
        """`count` ranges of nearly the same size; none of them empty."""
        bounds = [self.start + self.size * part // count for part in range(count + 1)]
        return [
            OffsetRange(self.topic_partition, start, end) for start, end in itertools.pairwise(bounds) if start < end
        ]


def split_ranges(
    ranges: Iterable[OffsetRange], *, min_partitions: int | None, max_records: int | None = None
) -> list[OffsetRange]:
    """The ranges as tasks: none longer than `max_records` (maxRecordsPerPartition), about `min_partitions` of them.

    Without either each range is one task. Empty ranges are left out.
    """
    pieces = [given for given in ranges if given.size > 0]
    if max_records is not None:
        pieces = [part for piece in pieces for part in piece.parts(-(-piece.size // max_records))]
    if min_partitions is None or len(pieces) >= min_partitions:
        return pieces
    return _split_large(pieces, min_partitions)


def _split_large(pieces: Sequence[OffsetRange], min_partitions: int) -> list[OffsetRange]:
    """Small ranges stay whole; what they have is left out when the large ones are given their shares."""
    total = sum(piece.size for piece in pieces)
    small = {piece for piece in pieces if _share(piece.size, total, min_partitions) == 1}
    rest = total - sum(piece.size for piece in small)
    wanted = max(min_partitions - len(small), 1)
    return [
        part
        for piece in pieces
        for part in ([piece] if piece in small else piece.parts(_share(piece.size, rest, wanted)))
    ]


def _share(size: int, total: int, parts: int) -> int:
    return max(math.floor(size / total * parts + 0.5), 1)


def limit_offsets(
    limit: int, start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Where a batch of at most about `limit` records ends that begins at `start` and could go on to `end`.

    Each partition gives in proportion to what it has, and one at least, so that small ones are not starved.
    """
    sizes = {at: end[at] - start[at] for at in end if at in start and end[at] > start[at]}
    total = sum(sizes.values())
    if total <= limit:
        return dict(end)
    result = dict(end)
    for at, size in sizes.items():
        share = limit * size / total
        result[at] = min(end[at], start[at] + (math.ceil(share) if share < 1 else math.floor(share)))
    return result

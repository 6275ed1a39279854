"""Splits ranges of offsets into tasks, and shares the limit of a micro-batch among partitions. Pure.

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
    """Offsets [`start`, `end`) of one partition. Some may have no record."""

    topic_partition: TopicPartition
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start

    def parts(self, count: int) -> list[OffsetRange]:
        """Returns at most `count` ranges of nearly the same size, none of them empty."""
        bounds = [self.start + self.size * part // count for part in range(count + 1)]
        return [
            OffsetRange(self.topic_partition, start, end) for start, end in itertools.pairwise(bounds) if start < end
        ]


def split_ranges(
    ranges: Iterable[OffsetRange], *, min_partitions: int | None, max_records: int | None = None
) -> list[OffsetRange]:
    """Returns the ranges split into tasks: none longer than `max_records` (maxRecordsPerPartition), about
    `min_partitions` in all.

    Without either, each range is one task. Empty ranges are left out.
    """
    pieces = [given for given in ranges if given.size > 0]
    if max_records is not None:
        pieces = [part for piece in pieces for part in piece.parts(-(-piece.size // max_records))]
    if min_partitions is None or len(pieces) >= min_partitions:
        return pieces
    return _split_large(pieces, min_partitions)


def _split_large(pieces: Sequence[OffsetRange], min_partitions: int) -> list[OffsetRange]:
    """Splits the large ranges. Small ranges stay whole, and their size is not counted in the shares
    of the large ones."""
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
    """Returns the end of a batch of about `limit` records that begins at `start` and ends at `end` at the latest.

    Each partition gets a share in proportion to its size, and at least one record, so that small partitions are not
    starved.
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

"""Which of the available records a member gets (KIP-932, KIP-1206).

A member gets whole batches of the log: more records than it asked for, up to the end of a batch, unless it asks for a
strict limit. Records that were delivered often already come in halves of their run, and at the last time alone, so that
a record that no member can process takes few others with it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple, Protocol

from .record_runs import OffsetSpan, RecordRuns, RecordState, Run

__all__ = ["Acquired", "Acquisition", "acquire", "without"]

_LAST = attrgetter("last")
_LEAST_SUSPICIOUS_DELIVERIES = 2


class Acquisition(NamedTuple):
    """The wish of a member for records. ``batch_size``: how many records it likes to acknowledge together.

    ``deadline_ms``: when its locks end. ``is_record_limit``: it must not get more than ``max_records``.
    """

    member_id: str
    max_records: int
    batch_size: int
    deadline_ms: int
    is_record_limit: bool = False


class Acquired(NamedTuple):
    """Records that a member holds now. ``delivery_count`` includes this delivery."""

    first: int
    last: int
    delivery_count: int


class Limits(Protocol):
    """The part of a share partition that is needed here."""

    start_offset: int
    end_offset: int
    max_locks: int
    max_deliveries: int


def acquire(
    runs: RecordRuns, limits: Limits, wish: Acquisition, read: Sequence[OffsetSpan], *, may_grow: bool
) -> tuple[list[Acquired], int]:
    """Lock records of the batches ``read``; returns them, and the new end offset, which ``may_grow`` or not."""
    acquired: list[Acquired] = []
    left = wish.max_records
    end_offset = limits.end_offset
    first_read, last_read = max(read[0].first, limits.start_offset), read[-1].last
    for available in runs.overlapping(first_read, min(last_read, end_offset - 1)):
        if left <= 0:
            break
        if not available.is_acquirable:
            continue
        most = _most_of_suspicious(available, limits.max_deliveries)
        if most is not None and acquired:
            return acquired, end_offset
        first, last = max(available.first, first_read), min(available.last, last_read)
        wanted = _aligned(first, last, left, wish, limits.max_locks, read)
        if most is not None:
            wanted = min(wanted, first + most - 1)
        is_whole = first == available.first and wanted == available.last
        for run in (available,) if is_whole else runs.between(first, wanted):
            run.state, run.member_id, run.deadline_ms = RecordState.ACQUIRED, wish.member_id, wish.deadline_ms
            run.delivery_count += 1
            acquired += _in_batches(first, wanted, run.delivery_count, wish, read)
        left -= wanted - first + 1
        if most is not None:
            return acquired, end_offset
    left = min(left, limits.max_locks - (end_offset - limits.start_offset))
    if may_grow and left > 0 and end_offset <= last_read:
        last = _aligned(end_offset, last_read, left, wish, limits.max_locks, read)
        runs.append(Run(end_offset, last, RecordState.ACQUIRED, 1, wish.member_id, wish.deadline_ms))
        acquired += _in_batches(end_offset, last, 1, wish, read)
        end_offset = last + 1
    return acquired, end_offset


def without(acquired: Iterable[Acquired], spans: Sequence[OffsetSpan]) -> list[Acquired]:
    """The parts of the acquired records that are in none of the spans. Both are in order."""
    parts: list[Acquired] = []
    index, count = 0, len(spans)
    for part in acquired:
        first, last, delivery_count = part
        begin = first
        while index < count and (span := spans[index]).first <= last:
            if begin < span.first:
                parts.append(Acquired(begin, span.first - 1, delivery_count))
            begin = max(begin, span.last + 1)
            if span.last > last:
                break  # the span goes on in the next records
            index += 1
        if begin == first:
            parts.append(part)
        elif begin <= last:
            parts.append(Acquired(begin, last, delivery_count))
    return parts


def _most_of_suspicious(run: Run, max_deliveries: int) -> int | None:
    """How many records of a run are delivered together; None: any number, because they were not delivered often."""
    suspicious = max(_LEAST_SUSPICIOUS_DELIVERIES, (max_deliveries + 1) // 2)
    if run.delivery_count < suspicious:
        return None
    if run.delivery_count >= max_deliveries - 1 and max_deliveries > _LEAST_SUSPICIOUS_DELIVERIES:
        return 1
    return max(1, run.count >> (run.delivery_count - suspicious + 1))


def _aligned(first: int, last: int, count: int, wish: Acquisition, max_locks: int, read: Sequence[OffsetSpan]) -> int:
    """The last of ``count`` offsets from ``first`` on, at most ``last``; without a strict limit to a batch's end."""
    wanted = first + count - 1
    if wanted >= last:
        return min(last, first + max(count, max_locks) - 1)
    if wish.is_record_limit:
        return wanted
    index = bisect_left(read, wanted, key=_LAST)
    if index < len(read) and read[index].first <= wanted:
        wanted = read[index].last
    return min(wanted, last, first + max(count, max_locks) - 1)


def _in_batches(
    first: int, last: int, delivery_count: int, wish: Acquisition, read: Sequence[OffsetSpan]
) -> list[Acquired]:
    """The acquired records, parted where batches of the log begin, so that no part is much over the batch size."""
    parts: list[Acquired] = []
    if not wish.is_record_limit and last - first + 1 > wish.batch_size:
        for index in range(bisect_left(read, first, key=_LAST), len(read)):
            span = read[index]
            if span.first > last:
                break
            if span.first - first >= wish.batch_size:
                parts.append(Acquired(first, span.first - 1, delivery_count))
                first = span.first
    parts.append(Acquired(first, last, delivery_count))
    return parts

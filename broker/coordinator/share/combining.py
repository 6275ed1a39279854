"""Combines stored batches with changed ones, so that each offset has one state (Kafka's PersisterStateBatchCombiner).

The state with the highest delivery count wins. With equal counts an acknowledged or archived state wins.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from heapq import heappop, heappush
from operator import attrgetter

from .state_batch import StateBatch

__all__ = ["combined"]

_FIRST = attrgetter("first_offset")
_LAST = attrgetter("last_offset")


def combined(batches: Sequence[StateBatch], changes: Sequence[StateBatch], start_offset: int) -> tuple[StateBatch, ...]:
    """The state after the changes, without offsets below ``start_offset``: sorted, no two batches overlap, and
    neighbours that could be one batch are one.

    ``batches`` has this form already. ``changes`` may be in any order and overlap. Takes little time when they touch
    few of the batches.
    """
    if not changes:
        return _pruned(batches, start_offset)
    low = bisect_left(batches, min(map(_FIRST, changes)) - 1, key=_LAST)
    high = bisect_right(batches, max(map(_LAST, changes)) + 1, key=_FIRST)
    is_simple = low == high and _are_apart(changes)
    touched = changes if is_simple else _swept(sorted([*batches[low:high], *changes]))
    return _pruned([*batches[:low], *touched, *batches[high:]], start_offset)


def _are_apart(batches: Sequence[StateBatch]) -> bool:
    """Whether the batches have the form of a state already, as those of most writes."""
    end, state, count = -2, -1, -1
    for first_offset, last_offset, next_state, next_count in batches:
        if first_offset <= end or (first_offset == end + 1 and next_state == state and next_count == count):
            return False
        end, state, count = last_offset, next_state, next_count
    return True


def _pruned(batches: Sequence[StateBatch], start_offset: int) -> tuple[StateBatch, ...]:
    first = bisect_left(batches, start_offset, key=_LAST)
    if first == len(batches):
        return ()
    if batches[first].first_offset >= start_offset:
        return tuple(batches[first:])
    return (batches[first]._replace(first_offset=start_offset), *batches[first + 1 :])


def _swept(batches: Sequence[StateBatch]) -> list[StateBatch]:
    """Sweep over the offsets. The heap has the batches that cover the current offset, and maybe some that ended."""
    swept: list[StateBatch] = []
    open_batches: list[tuple[int, int, int]] = []
    """Delivery count and state, both negative so that the highest is first, and last offset."""
    offset, index, count = 0, 0, len(batches)
    while index < count or open_batches:
        if not open_batches:
            offset = batches[index].first_offset
        while index < count and batches[index].first_offset <= offset:
            batch = batches[index]
            heappush(open_batches, (-batch.delivery_count, -batch.delivery_state, batch.last_offset))
            index += 1
        negative_count, negative_state, last_offset = open_batches[0]
        if last_offset < offset:
            heappop(open_batches)
            continue
        if index < count:
            last_offset = min(last_offset, batches[index].first_offset - 1)
        _append(swept, StateBatch(offset, last_offset, -negative_state, -negative_count))
        offset = last_offset + 1
    return swept


def _append(batches: list[StateBatch], batch: StateBatch) -> None:
    """Append a batch, or make the last one longer."""
    if batches:
        last = batches[-1]
        if last.last_offset + 1 == batch.first_offset and last[2:] == batch[2:]:
            batches[-1] = last._replace(last_offset=batch.last_offset)
            return
    batches.append(batch)

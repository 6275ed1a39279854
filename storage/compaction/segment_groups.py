"""Groups neighbouring segments that compaction merges into one, so that segments do not become tiny. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..segment.offset_index import MAX_RELATIVE_OFFSET


class SegmentSizes(NamedTuple):
    """Sizes of a segment's files. `end_offset` is an exclusive upper bound of its offsets."""

    base_offset: int
    end_offset: int
    size_bytes: int
    offset_index_bytes: int
    time_index_bytes: int


def group_segments(
    segments: Sequence[SegmentSizes], max_bytes: int, max_index_bytes: int
) -> list[tuple[SegmentSizes, ...]]:
    """Runs of segments that fit into one by the sizes of log and indexes and by the range of offsets."""
    groups: list[list[SegmentSizes]] = []
    log_bytes = offset_index_bytes = time_index_bytes = 0
    for segment in segments:
        log_bytes += segment.size_bytes
        offset_index_bytes += segment.offset_index_bytes
        time_index_bytes += segment.time_index_bytes
        if (
            groups
            and log_bytes <= max_bytes
            and max(offset_index_bytes, time_index_bytes) <= max_index_bytes
            # An empty segment has no offsets that could lie too far away.
            and (segment.size_bytes == 0 or segment.end_offset - 1 - groups[-1][0].base_offset <= MAX_RELATIVE_OFFSET)
        ):
            groups[-1].append(segment)
        else:
            groups.append([segment])
            log_bytes = segment.size_bytes
            offset_index_bytes, time_index_bytes = segment.offset_index_bytes, segment.time_index_bytes
    return [tuple(group) for group in groups]

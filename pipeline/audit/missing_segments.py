"""Finds gaps between segments: in a log that was never compacted, each segment begins where the last one ended."""

from __future__ import annotations

from ...storage.files.files import Files
from ...storage.verify.fault import Findings
from .replica import Replica, batch_places


def check_for_missing_segments(files: Files, replica: Replica, found: Findings) -> None:
    """Adds a fault for each missing segment. A log with traces of compaction is skipped, because its segments may have
    lost records at their ends.

    Reads batch headers only. Raises OSError.
    """
    if replica.compacted_to > 0:
        return
    gaps = []
    path, next_offset = None, None
    for place in batch_places(files, replica):
        header = place.header
        if header.magic >= 2 and header.record_count <= header.last_offset_delta:
            return  # records were taken out of the batch
        if next_offset is not None and place.first > next_offset:
            if place.path == path:
                return  # whole batches were taken out of the segment
            gaps.append((place.path, next_offset, place.first))
        path, next_offset = place.path, place.last + 1
    for path, expected, first in gaps:
        what = f"begins at offset {first}, the segment before it ends at {expected}: a segment is missing in between"
        found.add(path, what)

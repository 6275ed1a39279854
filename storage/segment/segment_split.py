"""Split of a segment whose offsets are too far from its base for its indexes (KAFKA-6264).

Why: old cleaners and followers of Kafka left such segments.
How: the parts are written as `.cleaned` files, synced, and renamed to `.swap` from the last to the first. Only then
does the first part replace the segment. A start that finds `.cleaned` files deletes them and the `.swap` files after
them; a start that finds only `.swap` files finishes the split (`log_loader`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..files.files import File, Files
from .batch_span import scan_spans
from .offset_index import MAX_RELATIVE_OFFSET
from .segment import CLEANED_SUFFIX, LOG_SUFFIX, SWAP_SUFFIX, Segment, file_name

_CHUNK_BYTES = 1 << 20


def split_segment(files: Files, segment: Segment) -> list[int]:
    """Write the parts as durable `.swap` files; return their base offsets. Raises OSError, CorruptRecordError.

    Bytes after the last whole batch go to the last part.
    """
    source = segment.log_ref.file()
    parts = list(_parts(segment, source))
    ends = [start for _, start in parts[1:]] + [segment.size_bytes]
    paths = []
    for (base_offset, start), end in zip(parts, ends, strict=True):
        path = os.path.join(segment.directory, file_name(base_offset, LOG_SUFFIX))
        _copy(files, source, start, end, path + CLEANED_SUFFIX)
        paths.append(path)
    files.sync_directory(segment.directory)
    for path in reversed(paths):
        files.rename(path + CLEANED_SUFFIX, path + SWAP_SUFFIX)
    files.sync_directory(segment.directory)
    segment.close_files()
    return [base_offset for base_offset, _ in parts]


def _parts(segment: Segment, source: File) -> Iterator[tuple[int, int]]:
    """Yield (base offset, position in the file) of each part. The first part keeps the segment's base offset."""
    base_offset = segment.base_offset
    yield base_offset, 0
    for span in scan_spans(source, 0, segment.size_bytes):
        if span.last_offset - base_offset > MAX_RELATIVE_OFFSET:
            base_offset = span.base_offset
            yield base_offset, span.position


def _copy(files: Files, source: File, start: int, end: int, path: str) -> None:
    files.create_empty(path)
    target = files.open(path)
    try:
        for position in range(start, end, _CHUNK_BYTES):
            target.write_at(position - start, source.read_at(position, min(_CHUNK_BYTES, end - position)))
        target.sync()
    finally:
        target.close()

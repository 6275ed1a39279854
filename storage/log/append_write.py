"""The write of checked appends into the active segment.

How: the transaction index of aborted transactions is written first, then the bytes. Then the producer state and the
other indexes are updated and the new view is returned.
A failed write leaves the file at its known length, or takes the log directory offline.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ...base.invariant import InvariantError
from ..files.files import is_out_of_descriptors, is_transient
from ..producers.prepared_append import PreparedAppend
from ..producers.producer_state import EndMarker, ProducerState
from ..segment.segment import Segment
from .log_files import LogFiles
from .log_view import LogView


def write_appends(
    files: LogFiles, view: LogView, state: ProducerState, appends: Sequence[PreparedAppend], high_watermark: int
) -> LogView:
    """Write `appends` at the end of `view` in one write; return the new view.

    `high_watermark` may be an older one; transaction markers below it are replicated. Raises KafkaStorageError.
    """
    active = view.segments[-1]
    if active.size_bytes != view.end_position:
        raise InvariantError(f"{view.topic_partition}: the view and its active segment have different sizes")
    aborted = _index_aborted(files, state, active, appends)
    try:
        active.write([appends[0].data] if len(appends) == 1 else [append.data for append in appends])
    except OSError as error:
        _undo_write(files, active, aborted, error)
    next_offset = view.log_end_offset
    try:
        for append in appends:
            if append.last_offset < next_offset:
                raise InvariantError(f"{view.topic_partition}: the offsets of an append do not rise")
            _note_append(append, next_offset, active, state, high_watermark)
            next_offset = append.last_offset + 1
    except OSError as error:
        raise files.failed("cannot write an index", error) from error
    return LogView(
        view.topic_partition,
        view.segments,
        view.base_offsets,
        view.log_start_offset,
        next_offset,
        active.size_bytes,
        state.unstable,
    )


def _note_append(
    append: PreparedAppend, next_offset: int, active: Segment, state: ProducerState, high_watermark: int
) -> None:
    """Update producers and indexes for an append whose bytes are in the file. Its first offset is >= `next_offset`."""
    recent = active.recent
    if recent is not None:
        position = active.size_bytes
        for batch in append.batches:
            recent.add(next_offset, position)
            position += batch.size_bytes
            next_offset = batch.last_offset + 1
    for update in append.producers:
        if isinstance(update, EndMarker):
            state.apply_marker(update)
            state.forget_replicated(high_watermark)
        else:
            state.apply_batch(update)
    state.end_offset = append.last_offset + 1
    active.note_append(append.size_bytes, append.last_offset, append.max_timestamp, append.offset_of_max)


def _index_aborted(
    files: LogFiles, state: ProducerState, active: Segment, appends: Sequence[PreparedAppend]
) -> int | None:
    """Index aborted transactions before their markers are written. Return the offset of the first such marker."""
    if not _has_abort(appends):
        return None
    aborted = state.aborted_by(update for append in appends for update in append.producers)
    if not aborted:
        return None
    first = aborted[0].last_offset
    try:
        # opened first, so that a lack of descriptors cannot fail the log write after the index write
        active.log_ref.file()
        for transaction in aborted:
            active.transaction_index.append(transaction)
    except OSError as error:
        _undo_write(files, active, first, error)
    return first


def _has_abort(appends: Sequence[PreparedAppend]) -> bool:
    for append in appends:
        for update in append.producers:
            if isinstance(update, EndMarker) and update.is_abort:
                return True
    return False


def _undo_write(files: LogFiles, active: Segment, aborted_from: int | None, error: OSError) -> NoReturn:
    """After a failed write, truncate the file to its known length and raise. An error that is not transient takes
    the directory offline."""
    if not is_transient(error):
        raise files.failed("cannot write", error) from error
    try:
        if not is_out_of_descriptors(error):  # then nothing was written
            active.log_ref.file().truncate(active.size_bytes)
        if aborted_from is not None:
            active.transaction_index.truncate_to(aborted_from)
    except OSError as second_error:
        raise files.failed("cannot truncate after a failed write", second_error) from second_error
    raise files.transient_error(error) from error

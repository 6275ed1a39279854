"""Restores leader epochs from the batches when `leader-epoch-checkpoint` is lost, damaged or ahead of its log.

Kafka takes the log directory offline when the file is damaged. The file is ahead of its log when the broker died before
it deleted records: their epochs were already removed from the file.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence

from ...protocol.errors import CorruptRecordError
from ..files import checkpoint_file
from ..files.checkpoint_file import CorruptCheckpointError
from ..files.files import Files
from ..leader_epochs import LeaderEpochs
from ..log.log_files import LEADER_EPOCH_FILE
from ..segment.segment import Segment

logger = logging.getLogger(__name__)


def read_leader_epochs(files: Files, directory: str) -> LeaderEpochs:
    """The entries of the file; empty when it is missing or, with a warning, damaged. Raises OSError."""
    path = os.path.join(directory, LEADER_EPOCH_FILE)
    try:
        return LeaderEpochs(checkpoint_file.read_epochs(files, path))
    except (CorruptCheckpointError, ValueError) as error:
        logger.warning("%s is damaged (%s): reading the leader epochs from the batches", path, error)
        return LeaderEpochs()


def complete_epochs(epochs: LeaderEpochs, segments: Sequence[Segment], log_start_offset: int) -> None:
    """Add the epochs of batches before the first known epoch. Epochs without a batch stay lost."""
    known = epochs.entries
    end_offset = known[0].start_offset if known else segments[-1].base_offset + (1 << 62)
    if end_offset <= log_start_offset or not _has_epochs(segments, log_start_offset):
        return
    found = LeaderEpochs()
    for segment in segments:
        if segment.base_offset < end_offset:
            _collect(found, segment, log_start_offset, end_offset)
    epochs.replace((*found.entries, *(entry for entry in known if entry.epoch > found.latest_epoch)))


def _collect(found: LeaderEpochs, segment: Segment, log_start_offset: int, end_offset: int) -> None:
    try:
        for span in segment.spans(segment.position_of(log_start_offset, segment.size_bytes), segment.size_bytes):
            if span.base_offset >= end_offset:
                return
            if span.magic >= 2 and span.leader_epoch > found.latest_epoch:
                found.assign(span.leader_epoch, max(span.base_offset, log_start_offset))
    except CorruptRecordError as error:
        logger.warning(
            "%s: leader epochs behind an unreadable batch are unknown: %s",
            segment.log_ref.path,
            error,
        )


def _has_epochs(segments: Sequence[Segment], log_start_offset: int) -> bool:
    """False for a log that begins with format 0 or 1, which has no epochs."""
    for segment in segments:
        try:
            position = segment.position_of(log_start_offset, segment.size_bytes)
            span = next(segment.spans(position, segment.size_bytes), None)
        except CorruptRecordError:
            return True
        if span is not None:
            return span.magic >= 2 and span.leader_epoch >= 0
    return False

"""A producer repeats batches that were in flight: each is a duplicate, also after restarts and truncations."""

from pathlib import Path

import pytest
from pybroker.protocol.errors import OutOfOrderSequenceError
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.log_config import LogConfig
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, close_cleanly, open_log

SEQUENCES = range(5)
"""Kafka's producers have five requests on their way, at most."""


def append(log: Log, sequence: int, *, producer_epoch: int = 0) -> int:
    """Append and return the offset that the producer gets."""
    batch = batch_of(b"v%d" % sequence, producer_id=7, producer_epoch=producer_epoch, base_sequence=sequence)
    return append_as_leader(log, batch, 0, NOW_MS).first_offset


def started_again(log: Log, directory: Path) -> Log:
    return open_log(directory, start=close_cleanly(log))


def test_repeated_batches_are_duplicates_after_a_clean_stop(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    assert [append(log, each) for each in SEQUENCES] == list(SEQUENCES)
    log = started_again(log, tmp_path)
    assert [append(log, each) for each in SEQUENCES] == list(SEQUENCES)
    assert log.log_end_offset == 5
    assert append(log, 5) == 5
    log.close()


def test_repeated_batches_are_duplicates_after_a_clean_stop_and_further_batches(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for each in range(3):
        append(log, each)
    log = started_again(log, tmp_path)
    for each in (3, 4):
        append(log, each)
    assert [append(log, each) for each in SEQUENCES] == list(SEQUENCES)
    log.close()


def test_repeated_batches_are_duplicates_after_a_roll_and_a_truncation(tmp_path: Path) -> None:
    """The truncation restores the producers from the snapshot at the segment's base."""
    log = open_log(tmp_path, LogConfig(segment_bytes=400))
    for each in range(9):
        append(log, each)
    assert len(log.view.segments) > 1
    truncate_to(log, log.view.segments[-1].base_offset, NOW_MS)
    end = log.log_end_offset
    last_five = list(range(end - 5, end))
    assert [append(log, each) for each in last_five] == last_five
    log.close()


def test_batch_out_of_order_is_still_refused_after_a_clean_stop(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for each in range(7):
        append(log, each)
    log = started_again(log, tmp_path)
    for sequence in (8, 1, 8, 1):
        with pytest.raises(OutOfOrderSequenceError):
            append(log, sequence)
    assert append(log, 2) == 2
    log.close()


def test_batches_of_an_older_producer_epoch_are_no_duplicates(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, 0)
    append(log, 1)
    append(log, 0, producer_epoch=1)
    log = started_again(log, tmp_path)
    with pytest.raises(OutOfOrderSequenceError):
        append(log, 3, producer_epoch=1)
    assert append(log, 0, producer_epoch=1) == 2
    log.close()

"""Tests that the trimming checker allows only deletions that a client asked for or the topic's settings permit."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pybroker.storage.log.log import Log
from simulation.checkers.committed_batches import CommittedBatches, batches_of
from simulation.checkers.history import History, Place, ViolationError
from simulation.checkers.trimming_checker import TrimmingChecker
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, open_log

PLACE = ("t", 0)


class Trimmed:
    """A log of ten batches; `trim` deletes the first ones and runs the checker."""

    def __init__(self, directory: Path) -> None:
        self.now_ms = NOW_MS
        self.history = History()
        self.log: Log = open_log(directory)
        for number in range(10):
            append_as_leader(self.log, batch_of(f"value {number}"), 0, NOW_MS)
        batches = dict(batches_of(self.log, 0, 10))
        committed: dict[Place, CommittedBatches] = {PLACE: CommittedBatches(None, batches, 10)}
        self.checker = TrimmingChecker(self.history, committed)

    def see(self, broker_id: int = 1, starts: int = 1) -> None:
        broker = SimpleNamespace(broker_id=broker_id, starts=starts, latest_clock_ms=lambda: self.now_ms)
        hosted = SimpleNamespace(topic_partition=PLACE, partition=SimpleNamespace(topic_id="t's"), log=self.log)
        self.checker.saw(cast("Any", broker), cast("Any", hosted))

    def trim(self, start: int) -> None:
        self.see()
        self.log.increment_log_start_offset(start)
        self.see()
        self.checker.judge()


@pytest.fixture
def trimmed(tmp_path: Path) -> Iterator[Trimmed]:
    trimmed = Trimmed(tmp_path)
    yield trimmed
    trimmed.log.close()


def test_unrequested_trimming_is_a_violation(trimmed: Trimmed) -> None:
    with pytest.raises(ViolationError, match="begins at offset 4"):
        trimmed.trim(4)


def test_trimming_up_to_the_requested_offset_is_allowed(trimmed: Trimmed) -> None:
    trimmed.history.deletions[PLACE] = 4
    trimmed.trim(4)
    with pytest.raises(ViolationError, match="begins at offset 5"):
        trimmed.trim(5)


def test_deletion_by_size_must_leave_retention_bytes(trimmed: Trimmed) -> None:
    left = trimmed.log.view.size_bytes
    trimmed.history.kept_to_size["t"] = {"retention.bytes": str(left)}
    trimmed.trim(4)  # inside the first segment, so no bytes are deleted
    trimmed.history.kept_to_size["t"] = {"retention.bytes": str(left + 1)}
    with pytest.raises(ViolationError, match="begins at offset 5"):
        trimmed.trim(5)


def test_deletion_by_time_needs_records_older_than_retention_ms(trimmed: Trimmed) -> None:
    trimmed.history.kept_to_size["t"] = {"retention.ms": "8000"}
    time_ms = max(fingerprint[3] for _, fingerprint in batches_of(trimmed.log, 0, 10))
    trimmed.now_ms = time_ms + 8001
    trimmed.trim(4)
    trimmed.now_ms = time_ms + 8000
    with pytest.raises(ViolationError, match="begins at offset 5"):
        trimmed.trim(5)


def test_replica_may_start_at_an_offset_allowed_for_another_replica(trimmed: Trimmed) -> None:
    trimmed.history.kept_to_size["t"] = {"retention.bytes": "1"}
    trimmed.trim(4)
    del trimmed.history.kept_to_size["t"]
    trimmed.see(broker_id=2)  # it had no log before
    trimmed.checker.judge()


def test_new_replica_must_not_start_at_another_offset(trimmed: Trimmed) -> None:
    trimmed.history.kept_to_size["t"] = {"retention.bytes": "1"}
    trimmed.see()
    trimmed.log.increment_log_start_offset(4)
    trimmed.see(broker_id=2)
    with pytest.raises(ViolationError, match=r"broker 2 begins at offset 4 \(before: None\)"):
        trimmed.checker.judge()


def test_log_start_that_rises_in_a_restart_is_a_violation(trimmed: Trimmed) -> None:
    trimmed.see()
    trimmed.log.increment_log_start_offset(4)
    trimmed.see(starts=2)
    with pytest.raises(ViolationError, match=r"begins at offset 4 \(before: 0\)"):
        trimmed.checker.judge()

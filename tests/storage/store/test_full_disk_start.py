"""A log opened on a full disk keeps unwritten indexes in memory until there is space."""

import errno
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pybroker.protocol.errors import KafkaStorageError
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.log_config import LogConfig
from pybroker.storage.producers.producer_state import AppendOrigin
from pybroker.storage.recovery.log_recovery import StartingPoint
from support.logs.storage_faults import FaultyFiles
from support.logs.storage_logs import NOW_MS, TP, append_as_leader, batch_of, close_cleanly, open_log, records_from

SMALL = LogConfig(segment_bytes=8000, index_interval_bytes=100)
INDEXES = (".index", ".timeindex", ".txnindex")


def fill(directory: Path) -> Log:
    """Fill some segments with aborted transactions and more index entries than are written at once."""
    log = open_log(directory, SMALL)
    for number in range(160):
        fields: dict[str, Any] = {}
        if number % 8 == 3:
            fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": number // 8, "is_transactional": True}
        batch = batch_of(f"value {number}" * 5, timestamp_ms=NOW_MS + number, **fields)
        append_as_leader(log, batch, number // 50, NOW_MS)
        if number % 8 == 5:
            marker = build_marker_batch(
                EndTransactionMarker(False, 0), producer_id=7, producer_epoch=0, timestamp_ms=NOW_MS
            )
            append_as_leader(log, bytearray(marker), number // 50, NOW_MS, AppendOrigin.COORDINATOR)
    assert len(log.segments) == 3
    return log


def known(log: Log) -> object:
    end = log.log_end_offset
    return (
        records_from(log),
        log.leader_epochs.entries,
        log.aborted_transactions(0, end),
        [log.offset_for_timestamp(NOW_MS + number) for number in range(0, 160, 7)],
        [(segment.offset_index.last(), segment.time_index.last()) for segment in log.segments],
    )


def index_files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (directory / str(TP)).iterdir() if path.suffix in INDEXES}


def without_indexes(directory: Path) -> None:
    for path in (directory / str(TP)).iterdir():
        if path.suffix in INDEXES:
            path.unlink()


def as_they_are(directory: Path) -> None:
    pass


def without_epochs(directory: Path) -> None:
    (directory / str(TP) / "leader-epoch-checkpoint").unlink()


@pytest.mark.parametrize("operations", [("write",), ("write", "create")], ids=["no block", "no inode"])
@pytest.mark.parametrize("lost", [as_they_are, without_indexes, without_epochs])
@pytest.mark.parametrize("recovers", [True, False], ids=["crash", "clean stop"])
def test_log_opens_on_a_full_disk_and_writes_its_indexes_when_there_is_space(
    recovers: bool, lost: Callable[[Path], None], operations: tuple[str, ...], tmp_path: Path
) -> None:
    live = fill(tmp_path / "live")
    clean = close_cleanly(live)
    lost(tmp_path / "live")
    start = StartingPoint() if recovers else clean
    shutil.copytree(tmp_path / "live", tmp_path / "roomy")
    roomy = open_log(tmp_path / "roomy", SMALL, start)
    expected = known(roomy)

    files = FaultyFiles()
    files.fault, files.operations, files.torn_bytes = errno.ENOSPC, operations, 20
    log = open_log(tmp_path / "live", SMALL, start, files=files)
    assert known(log) == expected
    for _ in range(2):
        with pytest.raises(KafkaStorageError, match="no space"):
            append_as_leader(log, batch_of("refused"), 9, NOW_MS)
    assert known(log)[0] == expected[0]  # type: ignore[index]
    assert not log.is_offline
    shutil.copytree(tmp_path / "live", tmp_path / "died")
    assert known(open_log(tmp_path / "died", SMALL, start)) == expected  # killed, and started with free space

    files.fault = None
    for each in (roomy, log):
        assert append_as_leader(each, batch_of("taken" * 20), 9, NOW_MS).first_offset == live.log_end_offset
    after = close_cleanly(log)
    close_cleanly(roomy)
    assert index_files(tmp_path / "live") == index_files(tmp_path / "roomy")
    again = open_log(tmp_path / "live", SMALL, after)
    assert records_from(again) == records_from(roomy)
    assert again.leader_epochs.entries == roomy.leader_epochs.entries


def test_unwritten_index_is_forgotten_when_its_segment_is_removed(tmp_path: Path) -> None:
    """Nothing is written later under the names of a removed segment."""
    close_cleanly(fill(tmp_path))
    without_indexes(tmp_path)
    files = FaultyFiles()
    files.fault, files.operations = errno.ENOSPC, ("write", "create")
    log = open_log(tmp_path, SMALL, StartingPoint(), files=files)
    bases = [segment.base_offset for segment in log.segments]
    assert truncate_to(log, bases[1] + 3, NOW_MS)
    files.fault = None
    append_as_leader(log, batch_of("next"), 9, NOW_MS)
    close_cleanly(log)
    names = {path.name for path in (tmp_path / str(TP)).iterdir()}
    assert {name[:20] for name in names if name.endswith(INDEXES)} == {
        name[:20] for name in names if name.endswith(".log")
    }

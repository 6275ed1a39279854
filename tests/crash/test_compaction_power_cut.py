"""Tests a power cut or a kill at any moment of a compaction: no key loses its last value, and the log opens."""

import shutil
from pathlib import Path

import pytest
from pybroker.protocol.records.record import Record
from pybroker.storage.compaction.compaction_job import CompactionSettings
from pybroker.storage.compaction.key_table import SLOT_BYTES
from pybroker.storage.log_config import LogConfig
from pybroker.storage.recovery.log_recovery import StartingPoint
from support.logs.compaction import compact_log, records_of
from support.logs.disk_history import DiskHistory, Operation, Sync, nothing_synced, recorded_history
from support.logs.power_cut import PowerCut, lay_out
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, open_log

CONFIG = LogConfig(
    segment_bytes=700, index_interval_bytes=100, cleanup_policy=("compact",), delete_retention_ms=1 << 40
)
KEYS = [b"a", b"b", b"c", b"d"]


def last_values(records: list[Record]) -> dict[bytes | None, tuple[int, bytes | None]]:
    return {record.key: (record.offset, record.value) for record in records}


def before_syncs(point: int, operation: Operation) -> bool:
    """Every second point before a sync, where most data is unsynced."""
    return isinstance(operation, Sync) and point % 2 == 0


def before_all_syncs(point: int, operation: Operation) -> bool:
    return isinstance(operation, Sync)


def test_power_cut_during_a_compaction_loses_no_key_value(tmp_path: Path, quick_disk: Path) -> None:
    """Half of the samples are of a file system that keeps no order of names."""
    history, synced, original = compacting_run(tmp_path)
    cut = PowerCut(history, seed=1, samples=1, unordered_samples=1, singles=before_syncs)
    assert check_all_states(cut, synced, original, quick_disk) > 200


@pytest.mark.long
@pytest.mark.parametrize("names_in_order", [True, False])
def test_power_cut_at_any_point_of_a_compaction_loses_no_record(
    names_in_order: bool, tmp_path: Path, quick_disk: Path
) -> None:
    history, synced, original = compacting_run(tmp_path)
    cut = PowerCut(history, seed=2, samples=4, singles=before_all_syncs, names_in_order=names_in_order)
    assert check_all_states(cut, synced, original, quick_disk) > 400


def compacting_run(tmp_path: Path) -> tuple[DiskHistory, int, list[Record]]:
    """The history, the number of operations before the compaction, and the records at that time."""
    root = tmp_path / "run"
    root.mkdir()
    with recorded_history(str(root)) as history:
        log = open_log(root, CONFIG)
        for number in range(60):
            fields = {"producer_id": 5, "producer_epoch": 0, "base_sequence": number} if number < 40 else {}
            key = b"once %d" % number if number % 12 == 5 else KEYS[number % 4]
            append_as_leader(log, batch_of(f"v{number}", key=key, **fields), 0, NOW_MS)
        log.flush(NOW_MS)
        original, synced = records_of(log), len(history)
        # The offset map is so small that passes end inside segments; a last pass compacts everything again.
        checkpoint = compact_log(log, settings=CompactionSettings(2 * SLOT_BYTES, 1.0))
        checkpoint = compact_log(log, checkpoint, settings=CompactionSettings(3 * SLOT_BYTES, 1.0))
        compact_log(log, checkpoint)
        segments = len(log.segments)
        compact_log(log)  # now segments are so small that several are merged into one
        assert len(log.segments) < segments - 2
        compacted = records_of(log)
        log.close_files()
    assert len(compacted) < 25
    return history, synced, original


def check_all_states(cut: PowerCut, synced: int, original: list[Record], quick_disk: Path) -> int:
    """Open and check each state since the start of the compaction; return the number of different states."""
    seen: set[frozenset[tuple[str, bytes | None]]] = set()
    states = 0
    for operations, remains in cut.states():
        tree = frozenset(remains.tree.items())
        if operations < synced or tree in seen:
            continue
        seen.add(tree)
        states += 1
        copy = quick_disk / str(states)
        copy.mkdir()
        lay_out(remains.tree, str(copy))
        with nothing_synced():
            opened = open_log(copy, CONFIG, StartingPoint(0, 60, clean_stop=False))
            found = records_of(opened)
            where = f"{operations} operations, {remains.what}"
            assert opened.log_end_offset == 60, where
            assert last_values(found) == last_values(original), where
            assert [record for record in found if record not in original] == [], where
            offsets = [record.offset for record in found]
            assert offsets == sorted(set(offsets)), where
            assert opened.producer_state.producers[5].last_sequence == 39, where
            opened.close_files()
        shutil.rmtree(copy)
    return states

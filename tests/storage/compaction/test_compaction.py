"""Compaction of a log, compared with a model that is a list of records."""

import errno
import itertools
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pybroker.protocol.errors import CorruptRecordError
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.record import Record, build_batch
from pybroker.storage.compaction.compaction_choice import Candidate, dirtiest_last
from pybroker.storage.compaction.compaction_job import (
    CleanedGroup,
    CompactionDone,
    CompactionReport,
    CompactionSettings,
)
from pybroker.storage.compaction.compaction_plan import CompactionPlan, plan_compaction
from pybroker.storage.compaction.compaction_swap import discard, swap_in
from pybroker.storage.compaction.key_table import SLOT_BYTES
from pybroker.storage.compaction.offset_map import ENTRY_BYTES
from pybroker.storage.compaction.segment_cleaner import compact
from pybroker.storage.compaction.segment_groups import SegmentSizes, group_segments
from pybroker.storage.errors import NoDescriptorsError
from pybroker.storage.files.files import File, Files
from pybroker.storage.files.io_throttle import IoThrottle
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_host import StandaloneHost
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.log_config import LogConfig
from support.examples import examples
from support.logs.compaction import assessed, batches_of, compact_log, records_of, stored_batches
from support.logs.storage_logs import CRASHED, NOW_MS, TP, append_as_leader, batch_of, close_cleanly, open_log

CONFIG = LogConfig(segment_bytes=1200, index_interval_bytes=200, cleanup_policy=("compact",), delete_retention_ms=1000)


class LaterHost(StandaloneHost):
    """A host that deletes nothing, as during `file.delete.delay.ms`."""

    def delete_later(self, paths: list[str], delay_ms: int) -> None:
        assert paths


def append(log: Log, *records: tuple[bytes | None, bytes | None], codec: Codec = Codec.NONE) -> None:
    made = [Record(number, NOW_MS, key, value) for number, (key, value) in enumerate(records)]
    append_as_leader(log, bytearray(build_batch(made, codec=codec)), 0, NOW_MS)


def contents(log: Log) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(record.offset, record.key, record.value) for record in records_of(log)]


# --- the model -----------------------------------------------------------------------------------------------------

RECORD = st.tuples(
    st.sampled_from([b"a", b"b", b"c", b"d" * 40]), st.one_of(st.none(), st.sampled_from([b"", b"v", b"w" * 90]))
)
STEPS = st.lists(
    st.one_of(
        st.lists(RECORD, min_size=1, max_size=6),
        st.sampled_from(["roll", "compact", "compact later", "reopen", "crash", "truncate"]),
    ),
    max_size=30,
)


def survivors(
    model: list[Record], batch_begins: dict[int, int], first_dirty: int, end: int, may_lose_tombstones: bool
) -> tuple[list[Record], list[Record]]:
    """Return the records of the model that must be there after a compaction up to `end`, and those that may be.

    A batch that an earlier compaction has read in part has its delete horizon already, as in Kafka: its tombstones may
    go although they are dirty.
    """
    last = {record.key: record.offset for record in model if first_dirty <= record.offset < end}
    must, may = [], []
    for record in model:
        if record.offset >= end or record.offset >= last.get(record.key, -1):
            may.append(record)
            if record.value is not None or batch_begins[record.offset] >= first_dirty or not may_lose_tombstones:
                must.append(record)
    return must, may


@settings(max_examples=examples(60))
@example(
    [[(b"a", None), (b"b", None), (b"a", None)], "roll", [(b"a", None)], "compact", "compact later"],
    Codec.NONE,
    3 * SLOT_BYTES,
)
@given(STEPS, st.sampled_from(list(Codec)), st.sampled_from([3 * SLOT_BYTES, 2 * ENTRY_BYTES, 1000 * ENTRY_BYTES]))
def test_compacted_log_holds_the_last_value_of_each_key(steps: list[object], codec: Codec, map_bytes: int) -> None:
    """With a map that two keys fill, one that must restart as a table, and a large one."""
    with TemporaryDirectory() as name:
        log = open_log(Path(name), CONFIG)
        model: list[Record] = []
        batch_begins: dict[int, int] = {}
        checkpoint = 0
        now_ms = NOW_MS
        memory = CompactionSettings(map_bytes=map_bytes, load_factor=1.0)
        for step in steps:
            if isinstance(step, list):
                offset = log.log_end_offset
                append(log, *step, codec=codec)
                batch_begins.update(dict.fromkeys(range(offset, log.log_end_offset), offset))
                model += [Record(offset + number, NOW_MS, key, value) for number, (key, value) in enumerate(step)]
            elif step == "roll":
                log.roll(NOW_MS)
            elif step == "reopen":
                log = open_log(Path(name), CONFIG, close_cleanly(log))
            elif step == "crash":
                log.close_files()
                log = open_log(Path(name), CONFIG, CRASHED)
            elif step == "truncate":
                truncate_to(log, (log.log_start_offset + 2 * log.log_end_offset) // 3, NOW_MS)
                kept = records_of(log)  # whole batches are removed
                assert kept == model[: len(kept)]
                model = kept
                checkpoint = min(checkpoint, log.log_end_offset)
            elif assessed(log, checkpoint).cleanable_bytes:
                now_ms += CONFIG.delete_retention_ms if step == "compact later" else 1
                end = compact_log(log, checkpoint, now_ms=now_ms, settings=memory)
                assert end > checkpoint, "even a small map gets on"
                later = step == "compact later"
                must, may = survivors(model, batch_begins, checkpoint, end, may_lose_tombstones=later)
                model = records_of(log)
                assert [record for record in must if record not in model] == []
                assert [record for record in model if record not in may] == []
                checkpoint = end
            assert records_of(log) == model
            offsets = [record.offset for record in model]
            assert offsets == sorted(set(offsets))
        log.close_files()


# --- tombstones ----------------------------------------------------------------------------------------------------


def test_tombstone_stays_until_its_delete_horizon_has_passed(tmp_path: Path) -> None:
    log = open_log(tmp_path, CONFIG)
    append(log, (b"a", b"1"), (b"b", b"1"))
    append(log, (b"a", None))
    log.roll(NOW_MS)
    first = compact_log(log, now_ms=NOW_MS)
    assert contents(log) == [(1, b"b", b"1"), (2, b"a", None)]

    def compact_again(now_ms: int) -> list[tuple[int, bytes | None, bytes | None]]:
        nonlocal first
        append(log, (b"c", b"%d" % now_ms))
        log.roll(NOW_MS)
        first = compact_log(log, first, now_ms=now_ms)
        return contents(log)[:-1]

    assert compact_again(NOW_MS + 999) == [(1, b"b", b"1"), (2, b"a", None)]
    assert compact_again(NOW_MS + 1000) == [(1, b"b", b"1")]


def test_first_compaction_never_removes_a_tombstone(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(segment_bytes=1200, cleanup_policy=("compact",), delete_retention_ms=0))
    append(log, (b"a", b"1"))
    append(log, (b"a", None))
    log.roll(NOW_MS)
    compact_log(log, now_ms=NOW_MS + (1 << 40))
    assert contents(log) == [(1, b"a", None)]
    (batch,) = stored_batches(Path(log.directory))
    assert batch.base_timestamp == NOW_MS + (1 << 40), "the base timestamp is the delete horizon (KIP-534)"
    assert batch.attributes & 0x40
    assert batch.max_timestamp == NOW_MS


# --- what stays as it is -------------------------------------------------------------------------------------------


def test_batch_that_loses_no_record_is_copied_byte_for_byte(tmp_path: Path) -> None:
    log = open_log(tmp_path, CONFIG)
    append(log, (b"a", b"1"), (b"b", b"1"), codec=Codec.GZIP)
    append(log, (b"a", b"2"), (b"c", b"2"), codec=Codec.GZIP)
    log.roll(NOW_MS)
    before = log.read(2, 1000, 4, min_one_batch=True).region
    assert before is not None
    kept = bytes(batches_of(before.read())[-1].view())
    compact_log(log)
    after = log.read(2, 1000, 4, min_one_batch=True).region
    assert after is not None
    assert after.read() == kept


def test_reader_that_began_before_a_swap_can_finish_its_read(tmp_path: Path) -> None:
    log = open_log(tmp_path, CONFIG, host=LaterHost(Files()))
    for number in range(40):
        append(log, (b"a", b"%d" % number))
    log.roll(NOW_MS)
    region = log.read(0, 1 << 20, 40, min_one_batch=True).region
    assert region is not None
    old_view = log.view
    compact_log(log)
    assert batches_of(region.read())[0].base_offset == 0
    assert old_view.read(0, 100, 40, True, False).size_bytes > 0
    assert contents(log) == [(39, b"a", b"39")]


def test_compaction_leaves_the_active_segment_and_unstable_offsets_alone(tmp_path: Path) -> None:
    log = open_log(tmp_path, CONFIG)
    for number in range(60):
        append(log, (b"a", b"%d" % number))
    bases = [segment.base_offset for segment in log.segments]
    assert assessed(log).first_uncleanable_offset == bases[-1]
    assert assessed(log, high_watermark=bases[2] + 1).first_uncleanable_offset == bases[2]
    append_as_leader(
        log, batch_of("open", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True), 0, NOW_MS
    )
    open_since = log.log_end_offset - 1
    for number in range(60):
        append(log, (b"a", b"%d" % number))
    assert assessed(log).first_uncleanable_offset <= open_since


@pytest.mark.parametrize(
    ("position", "words"),
    [(65, "behind byte 0: stored crc"), (0, "behind byte 0: offset .* where 0 is next"), (11, "behind byte 0")],
)
def test_damaged_batch_stops_compaction_and_is_not_rewritten(position: int, words: str, tmp_path: Path) -> None:
    log = open_log(tmp_path, CONFIG)
    for number in range(40):
        append(log, (b"a", b"%d" % number))
    log.segments[0].log_ref.file().write_at(position, b"?")
    before = log.segments
    with pytest.raises(CorruptRecordError, match=words):
        compact_log(log)
    assert log.segments == before


def test_compacted_segments_are_not_swapped_into_a_log_that_has_changed(tmp_path: Path) -> None:
    log = open_log(tmp_path, CONFIG)
    for number in range(60):
        append(log, (b"a", b"%d" % number))
    log.roll(NOW_MS)

    def truncate(plan: CompactionPlan) -> None:
        truncate_to(log, plan.job.segments[1].base_offset + 1, NOW_MS)

    with pytest.raises(AssertionError):  # raised by the helper: the swap was refused
        compact_log(log, between=truncate)
    assert len(contents(log)) == log.log_end_offset
    discard(log)
    assert not [path for path in Path(log.directory).iterdir() if path.suffix in (".cleaned", ".swap")]


class FewDescriptors(Files):
    """Files whose `sync_directory` finds no descriptor at some calls, counted from when they are set."""

    calls = 0
    failing: Sequence[int] = ()

    def sync_directory(self, path: str) -> None:
        self.calls += 1
        if self.calls - 1 in self.failing:
            raise OSError(errno.EMFILE, "too many files", path)
        super().sync_directory(path)


@pytest.mark.parametrize("number", [1, 2], ids=["before the last renames", "behind them"])
def test_segment_with_swap_names_can_be_read_truncated_and_reopened(number: int, tmp_path: Path) -> None:
    files = FewDescriptors()
    log = open_log(tmp_path, CONFIG, files=files)
    for each in range(60):
        append(log, (b"once %d" % each if each % 4 == 1 else b"often", b"%d" % each))
    log.roll(NOW_MS)
    expected = {key: value for _, key, value in contents(log)}
    files.calls, files.failing = 0, range(number, 99)
    with pytest.raises(NoDescriptorsError):  # there are more to swap in
        compact_log(log)
    discard(log)
    assert {key: value for _, key, value in contents(log)} == expected
    with pytest.raises(NoDescriptorsError):  # its files would make a start take the swap files for half done
        plan_compaction(log, assessed(log), CompactionSettings(), NOW_MS)
    files.failing = ()
    swapped, following = log.segments[:2]
    second = [offset for offset, _, _ in contents(log) if offset < following.base_offset][1]
    truncate_to(log, second, NOW_MS)
    assert log.segments == (swapped,)
    append(log, (b"new", b"behind the cut"))
    after = contents(log)
    assert len(after) == 2
    log.close_files()
    again = open_log(tmp_path, CONFIG, CRASHED)
    assert contents(again) == after
    again.roll(NOW_MS)
    compact_log(again)
    assert contents(again) == after
    assert not [path for path in Path(again.directory).iterdir() if path.suffix in (".cleaned", ".swap")]


def test_no_segment_is_swapped_in_while_another_swap_is_unfinished(tmp_path: Path) -> None:
    """A start would delete the segments between the two."""
    files = FewDescriptors()
    log = open_log(tmp_path, CONFIG, files=files)
    for each in range(60):
        append(log, (b"once %d" % each if each % 4 == 1 else b"often", b"%d" % each))
    log.roll(NOW_MS)
    expected = {key: value for _, key, value in contents(log)}
    plan = plan_compaction(log, assessed(log), CompactionSettings(), NOW_MS)
    groups: list[CompactionReport] = []
    compact(plan.job, files, groups.append)
    # The first is left unfinished, the second is refused, and the third would be left unfinished too.
    files.calls, files.failing = 0, (1, 2, 4)
    for group in groups[:3]:
        assert isinstance(group, CleanedGroup)
        with suppress(NoDescriptorsError):
            swap_in(log, plan, group, NOW_MS)
    log.close_files()
    again = open_log(tmp_path, CONFIG, CRASHED)
    assert {key: value for _, key, value in contents(again)} == expected


def test_swap_that_fails_on_a_full_disk_leaves_no_files_for_the_next_start(tmp_path: Path) -> None:
    files = FewDescriptors()
    log = open_log(tmp_path, CONFIG, files=files)
    for each in range(30):
        append(log, (b"often", b"%d" % each))
    log.roll(NOW_MS)
    expected = contents(log)
    files.failing = range(99)
    files.calls = 0
    with pytest.raises(NoDescriptorsError):
        compact_log(log)
    assert contents(log) == expected
    assert not [path for path in Path(log.directory).iterdir() if path.suffix == ".swap"]


class RenamedMeanwhile(Files):
    """Files of which the next one to be opened has just been renamed."""

    is_renaming = False

    def open(self, path: str, *, create: bool = False) -> File:
        if self.is_renaming:
            self.is_renaming = False
            raise FileNotFoundError(errno.ENOENT, "renamed", path)
        return super().open(path, create=create)


def test_read_continues_when_a_swap_file_is_renamed_during_it(tmp_path: Path) -> None:
    files = RenamedMeanwhile()
    log = open_log(tmp_path, CONFIG, files=files)
    for each in range(30):
        append(log, (b"often", b"%d" % each))
    for segment in log.segments:
        segment.close_files()
    files.is_renaming = True
    assert len(contents(log)) == 30
    assert not files.is_renaming


def test_compacted_log_reopens_with_its_producers(tmp_path: Path) -> None:
    log = open_log(tmp_path, CONFIG)
    for sequence in range(50):
        append_as_leader(
            log, batch_of("v", key=b"a", producer_id=5, producer_epoch=0, base_sequence=sequence), 0, NOW_MS
        )
    append(log, (b"a", b"last"))
    log.roll(NOW_MS)
    compact_log(log)
    assert contents(log) == [(50, b"a", b"last")]
    assert [batch.last_offset for batch in stored_batches(Path(log.directory))] == [49, 50]
    for path in Path(log.directory).glob("*.snapshot"):
        path.unlink()
    log.close_files()
    log = open_log(tmp_path, CONFIG, CRASHED)
    assert log.producer_state.producers[5].last_sequence == 49


# --- choice, groups, pauses ----------------------------------------------------------------------------------------


def candidate(clean: int, cleanable: int, overdue: int = 0) -> Candidate:
    return Candidate(TP, 0, 100, clean, cleanable, overdue, 0.5)


def test_dirtiest_log_is_compacted_first_and_only_above_its_minimum_ratio() -> None:
    assert dirtiest_last([candidate(50, 50)]) == []
    found = [candidate(10, 90), candidate(0, 0), candidate(49, 51)]
    assert dirtiest_last(found) == [candidate(49, 51), candidate(10, 90)]
    assert dirtiest_last([candidate(99, 1, overdue=1)]) == [candidate(99, 1, overdue=1)]
    assert dirtiest_last([candidate(99, 0, overdue=1)]) == []


def test_max_compaction_lag_makes_a_log_due_and_min_compaction_lag_protects_young_records(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=1200, cleanup_policy=("compact",), max_compaction_lag_ms=5000)
    log = open_log(tmp_path, config)
    for number in range(60):
        append(log, (b"a", b"%d" % number))
    assert assessed(log, now_ms=NOW_MS + 5000).overdue_ms == 0
    assert assessed(log, now_ms=NOW_MS + 5003).overdue_ms == 3
    log.update_config(LogConfig(segment_bytes=1200, cleanup_policy=("compact",), min_compaction_lag_ms=1000))
    assert assessed(log, now_ms=NOW_MS + 999).cleanable_bytes == 0
    assert assessed(log, now_ms=NOW_MS + 1000).cleanable_bytes > 0


@pytest.mark.parametrize("checkpoint", [-1, 61])
def test_compaction_checkpoint_outside_the_log_is_ignored(checkpoint: int, tmp_path: Path) -> None:
    log = open_log(tmp_path, CONFIG)
    for number in range(60):
        append(log, (b"a", b"%d" % number))
    assert assessed(log, checkpoint) == assessed(log, 0)


@given(
    st.lists(st.tuples(st.integers(1, 1 << 30), st.integers(0, 50), st.integers(0, 20), st.integers(0, 20))),
)
def test_segment_groups_keep_their_limits_and_are_as_large_as_possible(
    drawn: list[tuple[int, int, int, int]],
) -> None:
    bases = list(itertools.accumulate([0, *(step for step, *_ in drawn)]))
    segments = [
        SegmentSizes(base, end, *sizes)
        for (base, end), (_, *sizes) in zip(itertools.pairwise(bases), drawn, strict=True)
    ]

    def fits(group: tuple[SegmentSizes, ...]) -> bool:
        return (
            sum(each.size_bytes for each in group) <= 100
            and sum(each.offset_index_bytes for each in group) <= 30
            and sum(each.time_index_bytes for each in group) <= 30
            and all(not each.size_bytes or each.end_offset - 1 - group[0].base_offset < 1 << 31 for each in group)
        )

    groups = group_segments(segments, 100, 30)
    assert [segment for group in groups for segment in group] == segments
    assert all(fits(group) for group in groups if len(group) > 1)
    for group, following in itertools.pairwise(groups):
        assert not fits((*group, following[0]))


def test_throttle_keeps_reads_and_writes_to_a_rate() -> None:
    now = 0.0

    def pause(seconds: float) -> None:
        nonlocal now
        now += seconds

    throttle = IoThrottle(1000.0, lambda: now, pause)
    for _ in range(100):
        throttle.spend(50)
        now += 0.001
    assert 4.9 <= now <= 5.1


def test_compaction_pauses_for_all_bytes_it_reads_and_writes(tmp_path: Path) -> None:
    log = open_log(tmp_path, CONFIG)
    for number in range(60):
        append(log, (b"%d" % (number // 2), b"v" * 30))
    rate, now, done = 1000.0, 0.0, []

    def pause(seconds: float) -> None:
        nonlocal now
        now += seconds

    def take(report: CompactionReport) -> None:
        if isinstance(report, CompactionDone):
            done.append(report.statistics)

    plan = plan_compaction(log, assessed(log), CompactionSettings(max_bytes_per_s=rate), NOW_MS)
    compact(plan.job, Files(), take, lambda: now, pause)
    (statistics,) = done
    assert statistics.bytes_written > 1000
    spent = statistics.map_bytes + statistics.bytes_read + statistics.bytes_written
    assert now * rate == pytest.approx(spent, abs=0.01 * rate)

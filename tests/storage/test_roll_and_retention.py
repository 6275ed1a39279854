"""Tests of when segments roll, and when retention deletes them."""

import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pybroker.storage.files.files import Files
from pybroker.storage.log import retention_rules as retention
from pybroker.storage.log.append_group import append_together
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_append import LeaderAppend
from pybroker.storage.log.log_host import StandaloneHost
from pybroker.storage.log.log_retention import apply_retention
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.log.retention_rules import SegmentFacts
from pybroker.storage.log_config import LogConfig
from support.logs.storage_logs import (
    NOW_MS,
    append_as_leader,
    batch_of,
    close_cleanly,
    crash_copy,
    open_log,
    records_from,
)

DAY_MS = 24 * 3600 * 1000


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def append(log: Log, count: int = 1, timestamp_ms: int = NOW_MS, now_ms: int = NOW_MS) -> None:
    for _ in range(count):
        append_as_leader(log, batch_of("x" * 31, timestamp_ms=timestamp_ms), 0, now_ms)


def test_segment_is_never_larger_than_segment_bytes(tmp_path: Path) -> None:
    size = len(batch_of("x" * 31))
    log = open_log(tmp_path, LogConfig(segment_bytes=3 * size))
    append(log, 8)
    assert bases(log) == [0, 3, 6]
    assert [segment.size_bytes for segment in log.segments] == [3 * size, 3 * size, 2 * size]


def test_segment_rolls_when_its_first_record_is_older_than_segment_ms(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(segment_ms=1000))
    append(log, timestamp_ms=NOW_MS)
    append(log, timestamp_ms=NOW_MS + 1000)
    assert bases(log) == [0]
    append(log, timestamp_ms=NOW_MS + 1001)
    assert bases(log) == [0, 2]


def test_segment_jitter_makes_a_segment_roll_earlier(tmp_path: Path) -> None:
    class Jitter(StandaloneHost):
        def roll_jitter_ms(self, bound_ms: int) -> int:
            assert bound_ms == 400
            return 399

    log = open_log(tmp_path, LogConfig(segment_ms=1000, segment_jitter_ms=400), host=Jitter(Files()))
    append(log, timestamp_ms=NOW_MS)
    append(log, timestamp_ms=NOW_MS + 602)
    assert bases(log) == [0, 1]


def test_segment_without_timestamps_rolls_by_the_clock(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(segment_ms=1000))
    append(log, timestamp_ms=-1, now_ms=NOW_MS)
    append(log, timestamp_ms=-1, now_ms=NOW_MS + 1000)
    assert bases(log) == [0]
    append(log, timestamp_ms=-1, now_ms=NOW_MS + 1001)
    assert bases(log) == [0, 2]


def test_segment_rolls_when_an_index_is_full(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(segment_index_bytes=36, index_interval_bytes=0))
    append(log, 12)
    assert len(log.segments) > 1
    assert all(len(segment.offset_index) <= 4 for segment in log.segments)
    assert [offset for offset, _ in records_from(log)] == list(range(12))


@pytest.mark.parametrize(
    ("config", "offsets_ms"),
    [
        pytest.param(LogConfig(segment_index_bytes=36, index_interval_bytes=0), range(12), id="full index"),
        pytest.param(LogConfig(segment_bytes=350), range(12), id="full segment"),
        pytest.param(LogConfig(segment_ms=1000), [0, 500, 1001, 2001, 2002, 9000, 9000], id="old segment"),
    ],
)
def test_grouped_appends_roll_segments_at_the_same_offsets_as_single_ones(
    config: LogConfig, offsets_ms: Sequence[int], tmp_path: Path
) -> None:
    timestamps_ms = [NOW_MS + offset_ms for offset_ms in offsets_ms]
    alone, together = open_log(tmp_path / "alone", config), open_log(tmp_path / "together", config)
    for each in timestamps_ms:
        append(alone, timestamp_ms=each)
    append_together(
        together, [LeaderAppend(batch_of("x" * 31, timestamp_ms=each), 0, NOW_MS) for each in timestamps_ms]
    )
    assert len(bases(alone)) > 2
    assert bases(together) == bases(alone)
    assert records_from(together) == records_from(alone)


def test_segment_rolls_when_an_offset_is_too_far_from_its_base(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log)
    far = batch_of("far")
    far[:8] = (1 << 31).to_bytes(8, "big")
    log.append_as_follower(far, NOW_MS)
    assert bases(log) == [0, 1 << 31]
    assert records_from(log)[1] == (1 << 31, b"far")
    again = open_log(tmp_path, start=close_cleanly(log))
    assert again.log_end_offset == (1 << 31) + 1


def test_flush_messages_syncs_after_that_many_messages(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(flush_messages=3))
    append(log, 2)
    assert log.recovery_point == 0
    append(log)
    assert log.recovery_point == 3


def test_last_index_entries_of_a_rolled_segment_are_synced_by_the_next_flush(tmp_path: Path) -> None:
    """Although its records were synced before, so that the recovery point is after it."""
    log = open_log(tmp_path)
    append(log)
    log.flush(NOW_MS)
    log.roll(NOW_MS)
    append(log)
    closed = log.segments[0].sync_targets()
    plan = log.plan_flush()
    assert plan is not None
    assert set(closed) <= set(plan.targets)
    log.mark_flushed(plan, NOW_MS)
    append(log)
    plan = log.plan_flush()
    assert plan is not None
    assert not set(closed) & set(plan.targets)


class TestRetention:
    def segments(self, log: Log) -> None:
        """Return a log of five segments with one record each, a day apart; the last one is active."""
        for day in range(5):
            append(log, timestamp_ms=NOW_MS + day * DAY_MS)
            if day < 4:
                log.roll(NOW_MS)

    def test_retention_deletes_segments_older_than_retention_ms(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(retention_ms=2 * DAY_MS))
        self.segments(log)
        assert apply_retention(log, NOW_MS + 4 * DAY_MS, log.log_end_offset) == [0, 1]
        assert (log.log_start_offset, bases(log)) == (2, [2, 3, 4])
        assert records_from(log)[0][0] == 2

    def test_retention_by_time_confirms_a_damaged_time_index_by_the_batches(self, tmp_path: Path) -> None:
        """Kafka may have crashed before it synced the last time index entry of a closed segment."""
        log = open_log(tmp_path, LogConfig(retention_ms=2 * DAY_MS))
        self.segments(log)
        start = close_cleanly(log)
        (Path(log.directory) / "00000000000000000001.timeindex").write_bytes(struct.pack(">qi", NOW_MS & ~0xFFFFFF, 0))
        log = open_log(tmp_path, log.config, start)
        assert log.segments[1].max_timestamp.timestamp < NOW_MS
        assert apply_retention(log, NOW_MS + 2 * DAY_MS + 1, log.log_end_offset) == [0]
        assert log.segments[0].max_timestamp == (NOW_MS + DAY_MS, 1)
        assert apply_retention(log, NOW_MS + 4 * DAY_MS, log.log_end_offset) == [1]

    def test_retention_of_all_records_leaves_an_empty_segment_at_the_log_end(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(retention_ms=1))
        self.segments(log)
        apply_retention(log, NOW_MS + 9 * DAY_MS, log.log_end_offset)
        assert (log.log_start_offset, log.log_end_offset, bases(log), log.size_bytes) == (5, 5, [5], 0)
        assert apply_retention(log, NOW_MS + 99 * DAY_MS, 5) == []
        append(log)
        assert log.log_end_offset == 6

    def test_retention_never_deletes_records_above_the_high_watermark(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(retention_ms=1))
        self.segments(log)
        assert apply_retention(log, NOW_MS + 9 * DAY_MS, 2) == [0, 1]

    def test_retention_deletes_segments_beyond_retention_bytes(self, tmp_path: Path) -> None:
        size = len(batch_of("x" * 31))
        log = open_log(tmp_path, LogConfig(retention_bytes=3 * size - 1, retention_ms=-1))
        self.segments(log)
        assert apply_retention(log, NOW_MS, log.log_end_offset) == [0, 1]

    def test_retention_of_a_compacted_topic_deletes_only_segments_before_the_log_start(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(retention_ms=1, retention_bytes=1, cleanup_policy=("compact",)))
        self.segments(log)
        log.increment_log_start_offset(2)
        assert apply_retention(log, NOW_MS + 99 * DAY_MS, log.log_end_offset) == [0, 1]

    def test_retention_renames_files_first_so_that_readers_can_finish(self, tmp_path: Path) -> None:
        class Patient(StandaloneHost):
            paths: list[str] = []  # noqa: RUF012

            def delete_later(self, paths: list[str], delay_ms: int) -> None:
                assert delay_ms == 60_000
                self.paths.extend(paths)

        files = Files()
        host = Patient(files)
        log = open_log(tmp_path, LogConfig(retention_ms=1), files=files, host=host)
        self.segments(log)
        view = log.view
        region = log.read(0, 1000, 5, min_one_batch=True).region
        assert region is not None
        data = region.read()
        apply_retention(log, NOW_MS + 9 * DAY_MS, 3)
        names = sorted(os.path.basename(path) for path in host.paths)
        assert names[:3] == [f"{0:020d}{suffix}.deleted" for suffix in (".index", ".log", ".timeindex")]
        assert all(os.path.exists(path) for path in host.paths)
        assert region.read() == data
        assert view.read(1, 1000, 5, True, False).region is not None
        for path in host.paths:
            files.delete(path)
        assert region.read() == data

    def test_retention_deletes_only_leading_segments(self) -> None:
        segments = [
            SegmentFacts(0, 10, 100, 5000, False),
            SegmentFacts(10, 20, 100, 100, False),
            SegmentFacts(20, 30, 100, 9000, True),
        ]
        assert retention.beyond_time(segments, 30, 1000, 6500) == 2
        assert retention.beyond_time(segments, 30, 1000, 5500) == 0
        assert retention.beyond_time(segments, 30, -1, 99999) == 0
        assert retention.beyond_size(segments, 30, 150) == 1
        assert retention.beyond_size(segments, 30, 0) == 3
        assert retention.beyond_size(segments, 30, -1) == 0
        assert retention.before_log_start(segments, 30, 19) == 1
        assert retention.before_log_start(segments, 30, 30) == 2


@pytest.mark.parametrize("share", [0, 3, 7, 10])
def test_truncation_forgets_epochs_and_producers_after_its_offset(share: int, tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(segment_bytes=400))
    for number in range(10):
        append_as_leader(
            log, batch_of("x" * 31, producer_id=1, producer_epoch=0, base_sequence=number), number // 4, NOW_MS
        )
    truncate_to(log, share, NOW_MS)
    assert log.log_end_offset == share
    assert all(entry.start_offset < share for entry in log.leader_epochs.entries)
    producer = log.producer_state.producers.get(1)
    assert (producer.last_sequence if producer else -1) == share - 1
    append_as_leader(log, batch_of("y", producer_id=1, producer_epoch=0, base_sequence=share), 9, NOW_MS)
    again = open_log(tmp_path, LogConfig(segment_bytes=400), close_cleanly(log))
    assert [offset for offset, _ in records_from(again)] == list(range(share + 1))
    assert again.producer_state.producers[1].last_sequence == share


class TestFuture:
    """A timestamp in the future keeps a segment, and retention logs it."""

    def test_timestamp_in_the_future_is_logged_once_with_partition_and_date(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        log = open_log(tmp_path, LogConfig(retention_ms=DAY_MS))
        append(log, timestamp_ms=4_102_444_800_000)
        log.roll(NOW_MS)
        append(log, timestamp_ms=NOW_MS - 5 * DAY_MS)
        for _ in range(3):
            assert apply_retention(log, NOW_MS, 2) == []
        (line,) = (record.getMessage() for record in caplog.records if "in the future" in record.getMessage())
        assert line.startswith(
            "topic-0: the segment at offset 0 has a record with the timestamp 2100-01-01T00:00:00+00:00"
        )

    def test_timestamp_in_the_future_is_logged_for_each_segment(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        log = open_log(tmp_path, LogConfig(retention_ms=DAY_MS))
        for _ in range(2):
            append(log, timestamp_ms=NOW_MS + DAY_MS)
            log.roll(NOW_MS)
        append(log)
        apply_retention(log, NOW_MS, 3)
        log.increment_log_start_offset(1)
        apply_retention(log, NOW_MS, 3)
        told = [record.getMessage() for record in caplog.records if "in the future" in record.getMessage()]
        assert [line.split("offset ")[1].split()[0] for line in told] == ["0", "1"]

    @pytest.mark.parametrize(
        "config", [LogConfig(retention_ms=-1), LogConfig(cleanup_policy=("compact",)), LogConfig(retention_ms=DAY_MS)]
    )
    def test_timestamp_slightly_ahead_or_without_time_retention_is_not_logged(
        self, config: LogConfig, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        log = open_log(tmp_path, config)
        append(log, timestamp_ms=NOW_MS + (60_000 if config.retention_ms == DAY_MS else 5 * DAY_MS))
        apply_retention(log, NOW_MS, 1)
        assert "in the future" not in caplog.text

    def test_timestamp_beyond_the_calendar_is_logged_as_a_number(self) -> None:
        assert retention.date_of((1 << 63) - 1) == "timestamp 9223372036854775807"


class TestPreallocation:
    CONFIG = LogConfig(segment_bytes=100_000, preallocate=True)

    def sizes(self, log: Log) -> list[int]:
        return [os.path.getsize(segment.log_ref.path) for segment in log.segments]

    def test_active_segment_is_preallocated_and_closed_segments_are_truncated_to_their_contents(
        self, tmp_path: Path
    ) -> None:
        log = open_log(tmp_path, self.CONFIG)
        append(log, 2)
        assert self.sizes(log) == [100_000]
        log.roll(NOW_MS)
        append(log)
        size = log.segments[1].size_bytes
        assert self.sizes(log) == [2 * size, 100_000]
        assert len(records_from(log)) == 3
        start = close_cleanly(log)
        again = open_log(tmp_path, self.CONFIG, start)
        assert self.sizes(again) == [2 * size, size]
        assert len(records_from(again)) == 3

    def test_preallocated_segment_takes_no_disk_blocks_before_it_is_written(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(segment_bytes=1 << 30, preallocate=True))
        append(log)
        status = os.stat(log.segments[-1].log_ref.path)
        assert status.st_size == 1 << 30
        assert status.st_blocks * 512 < 1 << 20

    def test_preallocated_bytes_are_cut_off_after_a_crash(self, tmp_path: Path) -> None:
        log = open_log(tmp_path / "before", self.CONFIG)
        append(log, 3)
        size = log.segments[0].size_bytes
        again = open_log(tmp_path / "after", self.CONFIG, crash_copy(log, tmp_path / "after"))
        assert (self.sizes(again), again.log_end_offset) == ([size], 3)
        append(again)
        assert len(records_from(again)) == 4

    def test_truncated_preallocated_log_ends_at_its_last_batch(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, self.CONFIG)
        append(log, 3)
        size = log.segments[0].size_bytes
        truncate_to(log, 1, NOW_MS)
        append(log)
        start = close_cleanly(log)
        again = open_log(tmp_path, self.CONFIG, start)
        assert (self.sizes(again), len(records_from(again))) == ([size // 3 * 2], 2)


def test_segment_age_of_a_compacted_topic_is_bounded_by_max_compaction_lag() -> None:
    bounds: dict[str, Any] = {"segment_ms": 10_000, "max_compaction_lag_ms": 1000}
    assert LogConfig(**bounds).max_segment_ms == 10_000
    assert LogConfig(**bounds, cleanup_policy=("compact",)).max_segment_ms == 1000
    assert LogConfig(segment_ms=500, max_compaction_lag_ms=1000, cleanup_policy=("compact",)).max_segment_ms == 500


def test_leader_epochs_begin_no_earlier_than_the_log(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append_as_leader(log, batch_of("a", "b"), 3, NOW_MS)
    append_as_leader(log, batch_of("c", "d"), 4, NOW_MS)
    for start_offset, entries in ((1, [(3, 1), (4, 2)]), (3, [(4, 3)])):
        log.increment_log_start_offset(start_offset)
        assert list(log.leader_epochs.entries) == entries

"""Lag in seconds is within a second of the truth, whatever happens to the log and to the clock."""

import shutil
import tempfile
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.lag.unread_times import UnreadTimes
from pybroker.protocol.records.compression import Codec
from pybroker.storage.files.files import File, NotCachedError
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_retention import apply_retention
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.log_config import LogConfig
from pybroker.storage.producers.producer_state import AppendOrigin
from pybroker.storage.recovery.log_recovery import StartingPoint
from support.examples import examples
from support.logs.compaction import compact_log, records_of
from support.logs.log_tool import marker
from support.logs.storage_logs import NOW_MS, TP, append_as_leader, batch_of, close_cleanly, open_log

HOUR_MS = 3_600_000
SPAN_MS = 900
"""The greatest distance between the first and the last timestamp of a batch."""


async def at_once(function: Callable[[], Any]) -> Any:
    return function()


class LagMachine(RuleBasedStateMachine):
    """The model: of each record its timestamp, and how long the broker had run when it was appended.

    The truth is the age of the first unread record. When the clock was set, its age by the clock and its true age
    differ; any value between them is right.
    """

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="pybroker-lag-"))
        self.now_ms = NOW_MS
        self.elapsed_ms = 0
        self.records: dict[int, tuple[int, int]] = {}
        self.high_watermark = 0
        self.producer_id = 0
        self.times = UnreadTimes(lambda: self.now_ms, lambda: self.elapsed_ms / 1000, at_once)

    @initialize(interval=st.sampled_from([0, 4096]), compacts=st.booleans(), stamps=st.booleans())
    def begin(self, interval: int, compacts: bool, stamps: bool) -> None:
        """``stamps``: the time of a record is that of its append, whatever its producer says."""
        self.config = LogConfig(
            segment_bytes=3000,
            index_interval_bytes=interval,
            retention_ms=-1,
            cleanup_policy=("compact",) if compacts else ("delete",),
            message_timestamp_type="LogAppendTime" if stamps else "CreateTime",
        )
        self.log = open_log(self.root, self.config, now_ms=self.now_ms)

    @rule(passed_ms=st.sampled_from([1, 700, 60_000, 5 * HOUR_MS]))
    def time_passes(self, passed_ms: int) -> None:
        self.now_ms += passed_ms
        self.elapsed_ms += passed_ms

    @rule(step_ms=st.sampled_from([-HOUR_MS, -2_000, 2_000, HOUR_MS]))
    def clock_is_set(self, step_ms: int) -> None:
        self.now_ms += step_ms

    @rule(
        count=st.integers(1, 12),
        size=st.integers(0, 200),
        key=st.integers(0, 3),
        age_ms=st.integers(0, SPAN_MS),
        codec=st.sampled_from([Codec.NONE, Codec.GZIP]),
    )
    def append(
        self, count: int, size: int, key: int, age_ms: int, codec: Codec = Codec.NONE, *, is_replicated: bool = True
    ) -> None:
        """A batch whose records were written in the last ``age_ms`` before it is sent."""
        start_ms = self.now_ms - max(age_ms, count - 1)
        batch = batch_of(*[b"v" * size] * count, timestamp_ms=start_ms, key=b"%d" % key, codec=codec)
        info = append_as_leader(self.log, batch, 0, self.now_ms)
        is_stamped = self.config.message_timestamp_type == "LogAppendTime"
        for number in range(count):
            time_ms = self.now_ms if is_stamped else start_ms + number
            self.records[info.first_offset + number] = (time_ms, self.elapsed_ms)
        if is_replicated:
            self.advance_high_watermark()

    @rule(count=st.integers(5, 40))
    def burst(self, count: int) -> None:
        for _ in range(count):
            self.append(1, 100, 0, 0)

    @rule(count=st.integers(1, 3))
    def append_before_followers(self, count: int) -> None:
        self.append(count, 10, 0, SPAN_MS, is_replicated=False)

    @rule(commit=st.booleans())
    def end_transaction(self, commit: bool) -> None:
        self.producer_id += 1
        producer: dict[str, Any] = {"producer_id": self.producer_id, "producer_epoch": 0, "base_sequence": 0}
        records = batch_of(b"in a transaction", timestamp_ms=self.now_ms, is_transactional=True, **producer)
        info = append_as_leader(self.log, records, 0, self.now_ms, AppendOrigin.CLIENT)
        self.records[info.first_offset] = (self.now_ms, self.elapsed_ms)
        append_as_leader(self.log, marker(self.producer_id, commit=commit), 0, self.now_ms, AppendOrigin.COORDINATOR)
        self.advance_high_watermark()
        self.append_before_followers(1)

    @rule()
    def advance_high_watermark(self) -> None:
        self.high_watermark = self.log.log_end_offset

    @rule()
    def roll(self) -> None:
        self.log.roll(self.now_ms)

    @rule(keep=st.integers(0, 6000))
    def retain(self, keep: int) -> None:
        self.log.update_config(replace(self.config, retention_bytes=keep, cleanup_policy=("delete",)))
        apply_retention(self.log, self.now_ms, self.high_watermark)
        self.log.update_config(self.config)

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        self.log.increment_log_start_offset(int(self.high_watermark * share))

    @precondition(lambda self: self.config.compact)
    @rule(passed_ms=st.sampled_from([60_000, 48 * HOUR_MS]))
    def overwrite_and_compact(self, passed_ms: int) -> None:
        for value in (b"new", None):
            self.time_passes(passed_ms)
            records = batch_of(value, timestamp_ms=self.now_ms, key=b"0")
            info = append_as_leader(self.log, records, 0, self.now_ms)
            self.records[info.first_offset] = (self.now_ms, self.elapsed_ms)
            self.advance_high_watermark()
            self.lag_in_seconds_is_true()
        self.log.roll(self.now_ms)
        compact_log(self.log, now_ms=self.now_ms)

    @rule(share=st.sampled_from([1.0, 1.0, 0.8]))
    def truncate(self, share: float) -> None:
        """As a follower does with a new leader; below the high watermark after an unclean election."""
        truncate_to(self.log, int(self.high_watermark * share), self.now_ms)
        self.high_watermark = min(self.high_watermark, self.log.log_end_offset)
        self.records = {offset: known for offset, known in self.records.items() if offset < self.log.log_end_offset}

    @rule()
    def restart(self) -> None:
        start = close_cleanly(self.log, self.now_ms)
        self.log = open_log(self.root, self.config, start, now_ms=self.now_ms)
        self.high_watermark = min(self.high_watermark, self.log.log_end_offset)

    @rule()
    def crash(self) -> None:
        start = StartingPoint(self.log.log_start_offset, 0, clean_stop=False)
        self.log.close_files()
        self.log = open_log(self.root, self.config, start, now_ms=self.now_ms)
        self.high_watermark = min(self.high_watermark, self.log.log_end_offset)

    @invariant()
    def lag_in_seconds_is_true(self) -> None:
        if not hasattr(self, "log"):
            return
        log, end = self.log, self.high_watermark
        left = [record.offset for record in records_of(log) if record.offset in self.records]
        start = log.log_start_offset
        for first in range(start, end, 1 + (end - start) // 40):  # a group may have committed any offset
            seconds = self.times.seconds(TP, log, first, end, self.now_ms)
            place = bisect_left(left, first)
            unread = left[place] if place < len(left) else end
            if unread >= end:
                assert seconds == 0
                continue
            timestamp, appended = self.records[unread]
            ages = sorted([max(self.now_ms - timestamp, 0), self.elapsed_ms - appended])
            assert seconds is not None
            assert ages[0] - SPAN_MS <= seconds * 1000 <= ages[1] + SPAN_MS, (first, unread, seconds, ages)

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.close_files()
        shutil.rmtree(self.root)


LagMachine.TestCase.settings = settings(
    max_examples=examples(60), stateful_step_count=30, phases=[Phase.explicit, Phase.reuse, Phase.generate]
)
TestLagInSeconds = LagMachine.TestCase


def log_with(root: Path, *timestamps_ms: int, **fields: Any) -> Log:
    log = open_log(root, now_ms=NOW_MS)
    for timestamp_ms in timestamps_ms:
        append_as_leader(log, batch_of(b"v", timestamp_ms=timestamp_ms, **fields), 0, NOW_MS)
    return log


def age_of(log: Log, offset: int, now_ms: int) -> float | None:
    return UnreadTimes(lambda: now_ms, lambda: 0.0, at_once).seconds(TP, log, offset, log.log_end_offset, now_ms)


@pytest.mark.parametrize("timestamp_ms", [-1, NOW_MS + HOUR_MS])
def test_file_time_replaces_a_timestamp_that_is_missing_or_in_the_future(tmp_path: Path, timestamp_ms: int) -> None:
    log = log_with(tmp_path, timestamp_ms)
    log.files.files.set_modified_ms(log.segments[0].log_ref.path, NOW_MS - 5_000)
    assert age_of(log, 0, NOW_MS) == 5


def test_time_of_the_append_counts_with_log_append_time(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(message_timestamp_type="LogAppendTime"))
    append_as_leader(log, batch_of(b"v", timestamp_ms=NOW_MS - HOUR_MS), 0, NOW_MS)
    assert age_of(log, 0, NOW_MS + 3_000) == 3


async def test_cold_pages_are_read_by_a_worker_and_the_lag_is_unknown_until_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_with(tmp_path, NOW_MS - 3_000, NOW_MS - 2_000)
    workers: list[int] = []

    async def in_worker(function: Callable[[], Any]) -> Any:
        workers.append(1)
        return function()

    def cold(file: File, position: int, size_bytes: int) -> bytes:
        raise NotCachedError("cold")

    monkeypatch.setattr(File, "read_cached_at", cold)
    times = UnreadTimes(lambda: NOW_MS, lambda: 0.0, in_worker)

    assert times.seconds(TP, log, 0, 2, NOW_MS) is None
    assert times.seconds(TP, log, 1, 2, NOW_MS) is None
    await times.settled()

    assert (times.seconds(TP, log, 0, 2, NOW_MS), times.seconds(TP, log, 1, 2, NOW_MS)) == (3, 2)
    assert workers == [1]


def test_unreadable_file_gives_no_lag_in_seconds_and_no_error(tmp_path: Path) -> None:
    log = log_with(tmp_path, NOW_MS)
    log.close_files()
    Path(log.segments[0].log_ref.path).unlink()
    assert age_of(log, 0, NOW_MS) is None


def test_only_offsets_that_moved_are_looked_up_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_with(tmp_path, NOW_MS - 3_000, NOW_MS - 2_000)
    reads: list[int] = []
    read = File.read_cached_at

    def counted(file: File, position: int, size_bytes: int) -> bytes | bytearray:
        reads.append(position)
        return read(file, position, size_bytes)

    monkeypatch.setattr(File, "read_cached_at", counted)
    clock = [0.0]
    times = UnreadTimes(lambda: NOW_MS, lambda: clock[0], at_once)
    for _ in range(3):
        assert times.seconds(TP, log, 0, 2, NOW_MS) == 3
    assert len(reads) == 1
    times.seconds(TP, log, 1, 2, NOW_MS)
    assert len(reads) == 2
    for _ in range(5):  # an offset that is asked for stays known; one that is not is forgotten
        clock[0] += 61
        times.seconds(TP, log, 1, 2, NOW_MS)
        append_as_leader(log, batch_of(b"v"), 0, NOW_MS)
        times.seconds(TP, log, log.log_end_offset - 1, log.log_end_offset, NOW_MS)
    assert len(reads) == 7
    times.seconds(TP, log, 0, 2, NOW_MS)
    assert len(reads) == 8


def test_header_of_a_batch_is_read_once_for_all_its_offsets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_log(tmp_path, now_ms=NOW_MS)
    for age_ms in (3_000, 2_000):
        append_as_leader(log, batch_of(*[b"v"] * 10, timestamp_ms=NOW_MS - age_ms), 0, NOW_MS)
    reads: list[int] = []
    read = File.read_cached_at

    def counted(file: File, position: int, size_bytes: int) -> bytes | bytearray:
        reads.append(position)
        return read(file, position, size_bytes)

    monkeypatch.setattr(File, "read_cached_at", counted)
    clock = [0.0]
    times = UnreadTimes(lambda: NOW_MS, lambda: clock[0], at_once)
    for offset in (14, 19, 10):
        assert times.seconds(TP, log, offset, 20, NOW_MS) == 2
        clock[0] += 61  # a generation: the batch stays known as long as its offsets are asked for
    assert len(reads) == 1
    assert times.seconds(TP, log, 9, 20, NOW_MS) == 3
    assert len(reads) == 2


def test_offset_that_is_found_among_the_known_ones_stays_known_and_others_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_with(tmp_path, NOW_MS - 3_000, NOW_MS - 2_000)
    reads: list[int] = []
    read = File.read_cached_at

    def counted(file: File, position: int, size_bytes: int) -> bytes | bytearray:
        reads.append(position)
        return read(file, position, size_bytes)

    monkeypatch.setattr(File, "read_cached_at", counted)
    clock = [0.0]
    times = UnreadTimes(lambda: NOW_MS, lambda: clock[0], at_once)
    times.seconds(TP, log, 0, 2, NOW_MS)
    times.seconds(TP, log, 1, 2, NOW_MS)
    others = [TopicPartition("others", number) for number in range(4)]
    for other in others:
        clock[0] += 61
        times.seconds(other, log, 0, 2, NOW_MS)  # a look-up begins a generation
        if 0 not in times.known(TP, log):
            times.seconds(TP, log, 0, 2, NOW_MS)
    known = times.known(TP, log)
    assert (0 in known, 1 in known) == (True, False)
    assert len(reads) == 2 + len(others)

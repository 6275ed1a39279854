"""Periodic work on logs: retention, producer expiry and flushes skip the thousands of idle logs."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.config.load import load_config
from pybroker.storage.files.files import File, Files
from pybroker.storage.log.log import Log
from pybroker.storage.store.log_store import LogStore
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of
from support.logs.storage_pools import InlinePool

DAY_MS = 86_400_000
IDLE, BUSY = TopicPartition("idle", 0), TopicPartition("busy", 0)


class CountingPool(InlinePool):
    steps = 0

    def submit(self, step: Callable[[], None]) -> None:
        self.steps += 1
        super().submit(step)


@pytest.fixture
def pool() -> CountingPool:
    return CountingPool()


def open_store(directory: Path, pool: CountingPool, clock: Callable[[], int]) -> LogStore:
    config = load_config(f"log.dirs={directory}\nlog.retention.ms={DAY_MS}\n")
    store = LogStore.open(config, Files(), pool, clock)
    for tp in (IDLE, BUSY):
        store.get_or_create(tp, is_new=True)
    return store


def log_of(store: LogStore, tp: TopicPartition) -> Log:
    log = store.get(tp)
    assert log is not None
    return log


def test_retention_examines_only_logs_with_records(tmp_path: Path, pool: CountingPool) -> None:
    now_ms = NOW_MS
    store = open_store(tmp_path, pool, lambda: now_ms)
    append_as_leader(log_of(store, BUSY), batch_of("x"), 0, NOW_MS)
    now_ms += 2 * DAY_MS
    pool.steps = 0
    store.upkeep.apply_retention(lambda log: log.log_end_offset)
    assert pool.steps == 1
    assert log_of(store, BUSY).log_start_offset == 1


def test_empty_last_segment_does_not_protect_earlier_segments_from_retention(
    tmp_path: Path, pool: CountingPool
) -> None:
    now_ms = NOW_MS
    store = open_store(tmp_path, pool, lambda: now_ms)
    log = log_of(store, BUSY)
    append_as_leader(log, batch_of("x"), 0, NOW_MS)
    log.roll(NOW_MS)
    now_ms += 2 * DAY_MS
    store.upkeep.apply_retention(lambda log: log.log_end_offset)
    assert (log.log_start_offset, len(log.segments)) == (1, 1)


def test_producer_expiry_examines_only_logs_with_producers(tmp_path: Path, pool: CountingPool) -> None:
    now_ms = NOW_MS
    store = open_store(tmp_path, pool, lambda: now_ms)
    log = log_of(store, BUSY)
    append_as_leader(log_of(store, IDLE), batch_of("x"), 0, NOW_MS)
    append_as_leader(log, batch_of("x", producer_id=7, producer_epoch=0, base_sequence=0), 0, NOW_MS)
    now_ms += 2 * DAY_MS
    pool.steps = 0
    store.upkeep.remove_expired_producers()
    assert pool.steps == 1
    assert log.producer_state.producers == {}
    store.upkeep.remove_expired_producers()
    assert pool.steps == 1


def test_log_has_one_flush_at_a_time_while_segments_are_closed(tmp_path: Path, pool: CountingPool) -> None:
    store = open_store(tmp_path, pool, lambda: NOW_MS)
    log = log_of(store, BUSY)
    held: list[Callable[[], None]] = []
    store.upkeep.in_background = held.append
    for number in range(100):
        append_as_leader(log, batch_of("x"), 0, NOW_MS)
        log.roll(NOW_MS)
        assert len(held) == 1, f"after {number + 1} segments"
    assert log.recovery_point == 0
    while held:
        held.pop()()
        assert len(held) <= 1
    assert log.recovery_point == log.log_end_offset == 100
    append_as_leader(log, batch_of("x"), 0, NOW_MS)
    store.upkeep.flush_in_background(log)
    append_as_leader(log, batch_of("x"), 0, NOW_MS)
    store.upkeep.flush_in_background(log)
    while held:
        held.pop()()
    assert log.recovery_point == 102
    store.close()


def test_number_of_flushes_over_all_logs_is_limited(tmp_path: Path, pool: CountingPool) -> None:
    store = open_store(tmp_path, pool, lambda: NOW_MS)
    logs = [store.get_or_create(TopicPartition("many", partition), is_new=True) for partition in range(30)]
    held: list[Callable[[], None]] = []
    store.upkeep.in_background = held.append
    for log in logs:
        for _ in range(20):
            append_as_leader(log, batch_of("x"), 0, NOW_MS)
            log.roll(NOW_MS)
    assert len(held) == 8, "each of them keeps the files of 8 segments open"
    done = 0
    while held:
        assert len(held) <= 8
        held.pop(0)()
        done += 1
    assert all(log.recovery_point == 20 for log in logs)
    assert done >= 30 * 3
    store.close()


def test_flush_of_closed_segments_keeps_few_files_open(tmp_path: Path, pool: CountingPool) -> None:
    store = open_store(tmp_path, pool, lambda: NOW_MS)
    log = log_of(store, BUSY)
    for _ in range(100):
        append_as_leader(log, batch_of("x"), 0, NOW_MS)
        log.roll(NOW_MS)
    rounds = 0
    while (plan := log.plan_flush(with_active=False)) is not None:
        assert sum(isinstance(target, File) for target in plan.targets) <= 3 * 8
        assert log.files.snapshots.path(plan.end_offset) in plan.targets
        plan.run(Files())
        log.mark_flushed(plan, NOW_MS)
        rounds += 1
    assert log.recovery_point == 100
    assert rounds == 15
    store.close()

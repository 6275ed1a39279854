"""Compaction that does not wait for the cleaner's next examination."""

from collections import deque
from collections.abc import Callable
from pathlib import Path

from pybroker.base.topic_partition import TopicPartition
from pybroker.storage.files.files import Files
from pybroker.storage.store.log_cleaner import LogCleaner
from pybroker.storage.store.log_store import LogStore
from support.logs.busy_store import store_config
from support.logs.compacting_store import Timer, Worker, fill_with_keys
from support.logs.compaction import records_of
from support.logs.storage_logs import NOW_MS
from support.logs.storage_pools import InlinePool

ONE, OTHER = TopicPartition("topic", 0), TopicPartition("topic", 1)
DAY_MS = 86_400_000


class Bench:
    """A store whose examinations of logs run only in `work`; no timer fires."""

    def __init__(self, path: Path) -> None:
        self.now_ms = NOW_MS + 5_000
        self.background: deque[Callable[[], None]] = deque()
        self.rests = 0
        overrides = {"cleanup.policy": "compact", "max.compaction.lag.ms": "1000"}
        self.store = LogStore.open(
            store_config(path), Files(), InlinePool(), lambda: self.now_ms, topic_overrides=lambda topic: overrides
        )
        self.store.start_cleaner(
            self.background.append,
            lambda delay_s, step: Timer(),
            lambda log: log.log_end_offset,
            lambda: Worker(Files()),
        )

    @property
    def cleaner(self) -> LogCleaner:
        assert self.store.cleaner is not None
        return self.store.cleaner

    def clean_now(self) -> None:
        self.cleaner.clean_now(self._rested)

    def _rested(self) -> None:
        self.rests += 1

    def work(self) -> None:
        while self.background:
            self.background.popleft()()

    def is_compacted(self, tp: TopicPartition) -> bool:
        log = self.store.get(tp)
        assert log is not None
        return len(records_of(log)) < 24


def test_due_logs_are_compacted_before_the_cleaner_rests(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    fill_with_keys(bench.store, [ONE, OTHER])
    bench.clean_now()
    assert bench.rests == 0
    bench.work()
    assert bench.rests == 1
    assert bench.is_compacted(ONE)
    assert bench.is_compacted(OTHER)


def test_cleaner_without_a_due_log_rests_at_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.clean_now()
    bench.work()
    assert bench.rests == 1


def test_logs_are_examined_again_when_an_examination_was_under_way(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    fill_with_keys(bench.store, [ONE])
    bench.clean_now()
    bench.work()
    bench.cleaner.look()
    assert len(bench.background) == 1  # it will find that nothing is due
    fill_with_keys(bench.store, [OTHER])  # not among the logs of that examination
    bench.clean_now()
    bench.work()
    assert bench.rests == 2
    assert bench.is_compacted(OTHER)


def test_clock_that_moves_during_an_examination_delays_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    fill_with_keys(bench.store, [ONE, OTHER])
    bench.cleaner.look()
    bench.now_ms += 8 * DAY_MS
    bench.clean_now()
    bench.work()
    assert bench.rests == 1
    assert bench.is_compacted(OTHER)


def test_stop_ends_the_wait(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    fill_with_keys(bench.store, [ONE])
    bench.clean_now()
    bench.cleaner.stop()
    assert bench.rests == 1
    bench.clean_now()
    assert bench.rests == 2

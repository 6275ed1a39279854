"""Tests of the stored state of replays and mirrors, without Spark and without a broker."""

from typing import Any

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.client.pace import Pace
from support.spark.gathered_rows import need_columns

SHORTEST_S = 0.001
PLACE = TopicPartition("t", 0)


class OwnTime:
    """A clock that only `sleep` advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds / 2, SHORTEST_S)  # like a sleep that ends early


@pytest.mark.parametrize("rate", [0.5, 7, 1000])
def test_rate_limit_holds_back_rows(rate: float) -> None:
    time = OwnTime()
    pace = Pace(rate, time.clock, time.sleep)
    sent = 0
    for rows in (1, 5, 2, 30, 1):
        pace.wait_for(rows)
        assert sent <= rate * (time.now - 100.0) + 1e-6
        assert sent >= rate * (time.now - 100.0 - SHORTEST_S) - 1e-6, "it waits no longer than it must"
        sent += rows


def test_no_wait_without_a_rate_limit() -> None:
    time = OwnTime()
    Pace(None, time.clock, time.sleep).wait_for(1_000_000)
    assert time.now == 100.0


def plan_of(**changed: Any) -> Any:
    need_columns()
    from pybroker.pipeline.replay.replay_plan import PartitionPlan, ReplayPlan

    place = PartitionPlan(PLACE, TopicPartition("copy", 0), rows=4, first=3, last=7, base=11, oldest_ms=5)
    given = {"selection": {"archive": "/a", "where": "x"}, "cluster": "c", "producer_id": 8, "partitions": (place,)}
    return ReplayPlan(**{**given, **changed})


def test_replay_plan_is_read_as_written() -> None:
    plan = plan_of()
    from pybroker.pipeline.replay.replay_plan import parse_plan

    assert parse_plan("p", plan.to_text()) == plan
    assert not plan.partitions[0].is_dense
    assert plan.rows == 4


@pytest.mark.parametrize("text", ["", "{}", '{"version": 2}', '{"version": 1, "partitions": [{}]}'])
def test_invalid_replay_plan_is_refused(text: str) -> None:
    need_columns()
    from pybroker.pipeline.replay.replay_plan import PlanError, parse_plan

    with pytest.raises(PlanError, match=r"^p "):
        parse_plan("p", text)


class Files:
    """Files in memory with the three calls that micro-batches need."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def read_text(self, path: str) -> str:
        if path not in self.texts:
            raise FileNotFoundError(path)
        return self.texts[path]

    def write_text(self, path: str, text: str) -> None:
        self.texts[path] = text

    def delete(self, path: str) -> None:
        self.texts.pop(path, None)


def test_each_micro_batch_keeps_its_own_producer_epoch() -> None:
    need_columns()
    from pybroker.pipeline.mirror.mirror_batch import begin_batch, find_batch

    files: Any = Files()
    ids = iter(range(7, 100))
    assert find_batch(files, 0) is None
    begun = [begin_batch(files, number, {PLACE: number}, lambda: next(ids)) for number in range(6)]
    assert [each.identity for each in begun] == [(7, epoch) for epoch in range(6)]
    assert find_batch(files, 5) == begun[5]
    assert sorted(files.texts) == ["mirror/3.json", "mirror/4.json", "mirror/5.json"]
    files.texts["mirror/8.json"] = files.texts["mirror/5.json"].replace('"epoch": 5', '"epoch": 32766')
    assert begin_batch(files, 9, {}, lambda: next(ids)).identity == (8, 0), "epochs have an end"


def test_written_rows_are_found_after_the_source_lost_records() -> None:
    need_columns()
    from pybroker.pipeline.mirror.partition_mirror import AlreadyWritten
    from pybroker.protocol.records.batch import iter_batches
    from pybroker.protocol.records.record import Record, build_batch

    def row(number: int) -> Any:
        return number, b"k", None if number % 2 else b"v", (("h", None),)

    def written() -> AlreadyWritten:
        records = [Record(50 + number, *row(number)) for number in range(6)]
        return AlreadyWritten(iter_batches(build_batch(records)))

    assert (written().rows, written().end) == (6, 56)
    assert (AlreadyWritten(()).rows, AlreadyWritten(()).end) == (0, None)
    for left, found in (
        (range(8), [50, 51, 52, 53, 54, 55, None, None]),
        ((1, 4, 6), [51, 54, None]),
        ((6, 7), [None, None]),
        ((0, 9, 3), [50, None, None]),
    ):
        there = written()
        assert [there.find(row(number)) for number in left] == found


class CommittingLog:
    """A partition of five records; each look finds one more committed, or none."""

    def __init__(self, step: int) -> None:
        self.committed = 2
        self._step = step

    def log_end_offset(self, at: TopicPartition) -> int:
        return 5

    def high_watermark(self, at: TopicPartition) -> int:
        self.committed = min(self.committed + self._step, 5)
        return self.committed


def test_search_for_rows_waits_until_the_whole_log_is_committed() -> None:
    """Records above the high watermark may be rows that are still being replicated."""
    need_columns()
    from pybroker.pipeline.appending.sequenced_batches import ProducerIdentity
    from pybroker.pipeline.appending.written_batches import UnsettledError, WrittenBatches
    from pybroker.pipeline.options.kafka_settings import reader_settings

    def settled_end(log: Any, retry_timeout_ms: int) -> int:
        settings = reader_settings({"bootstrap.servers": "b:9092"})
        return WrittenBatches(settings, PLACE, ProducerIdentity(7, 0), retry_timeout_ms).settled_end(log)

    log = CommittingLog(step=1)
    assert (settled_end(log, retry_timeout_ms=10**9), log.committed) == (5, 5)
    with pytest.raises(UnsettledError, match="t-0: records before 5 are not committed"):
        settled_end(CommittingLog(step=0), retry_timeout_ms=0)

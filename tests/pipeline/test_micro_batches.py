"""Tests of the start and end of micro-batches."""

import json

from pybroker.base.topic_partition import TopicPartition
from pybroker.pipeline.topics.micro_batches import MicroBatches
from pybroker.pipeline.topics.stream_position import Position, beginning_of, offsets_of, position_of, reported

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
NOW = 1_000_000


def batches(max_offsets: int | None = None, min_offsets: int | None = None, max_delay_ms: int = 60_000) -> MicroBatches:
    return MicroBatches(max_offsets, min_offsets, max_delay_ms)


def kept(position: Position) -> Position:
    """Returns the position after Spark has stored it as JSON."""
    result: Position = json.loads(json.dumps(position))
    return result


def test_batch_ends_where_the_partitions_end() -> None:
    query = batches()
    query.learn({T0: 10, T1: 5})
    end = query.end(position_of({T0: 3, T1: 5}), {}, now_ms=NOW, takes_all=False)
    assert end == {"t": {"0": 10, "1": 5}}


def test_no_batch_without_new_records() -> None:
    query = batches()
    query.learn({T0: 10})
    start = kept({"t": {"0": 10}, "": {"t": {"0": 3}}})
    assert query.end(start, {}, now_ms=NOW, takes_all=False) is start


def test_end_of_the_first_batch_holds_its_start() -> None:
    query = batches()
    start = kept(query.begin({T0: 7}))
    query.learn({T0: 10})
    end = kept(query.end(start, {}, now_ms=NOW, takes_all=False))
    assert offsets_of(end) == {T0: 10}
    assert beginning_of(end) == {T0: 7}
    query.learn({T0: 12})
    assert beginning_of(query.end(end, {}, now_ms=NOW, takes_all=False)) is None


def test_end_of_an_empty_first_batch_holds_its_start() -> None:
    """Spark runs an empty first batch too. If it is interrupted, `latest` is another offset at the next run."""
    query = batches()
    start = kept(query.begin({T0: 7}))
    query.learn({T0: 7})
    end = kept(query.end(start, {}, now_ms=NOW, takes_all=False))
    assert (beginning_of(end), offsets_of(end)) == ({T0: 7}, {T0: 7})
    assert query.end(end, {}, now_ms=NOW, takes_all=False) is end


def test_text_of_a_position_depends_only_on_the_offsets() -> None:
    many = {TopicPartition(topic, number): 1 for topic in "cab" for number in (11, 2, 0)}
    other = dict(reversed(many.items()))
    assert json.dumps(position_of(many)) == json.dumps(position_of(other))
    assert list(position_of(many)["a"]) == ["0", "2", "11"]


def test_limit_counts_new_partitions_from_their_first_offset() -> None:
    query = batches(max_offsets=10)
    query.learn({T0: 100, T1: 1100})
    end = query.end(position_of({T0: 0}), {T1: 1000}, now_ms=NOW, takes_all=False)
    assert offsets_of(end) == {T0: 5, T1: 1005}


def test_batch_below_min_offsets_waits_until_max_trigger_delay() -> None:
    query = batches(min_offsets=10, max_delay_ms=1000)
    start = position_of({T0: 0})
    query.learn({T0: 3})
    first = query.end(start, {}, now_ms=NOW, takes_all=False)
    assert offsets_of(first) == {T0: 3}, "the first batch does not wait, as with Spark's source"
    query.learn({T0: 12})
    assert query.end(first, {}, now_ms=NOW + 999, takes_all=False) is first
    assert offsets_of(query.end(first, {}, now_ms=NOW + 1000, takes_all=False)) == {T0: 12}


def test_batch_with_min_offsets_does_not_wait() -> None:
    query = batches(min_offsets=10, max_delay_ms=1000)
    query.learn({T0: 3})
    first = query.end(position_of({T0: 0}), {}, now_ms=NOW, takes_all=False)
    query.learn({T0: 13})
    assert offsets_of(query.end(first, {}, now_ms=NOW + 1, takes_all=False)) == {T0: 13}


def test_read_all_available_ignores_limits() -> None:
    query = batches(max_offsets=2, min_offsets=2, max_delay_ms=1000)
    query.learn({T0: 50})
    assert offsets_of(query.end(position_of({T0: 0}), {}, now_ms=NOW, takes_all=True)) == {T0: 50}


def test_available_now_reads_to_its_target_in_limited_batches() -> None:
    query = batches(max_offsets=4, min_offsets=3)
    query.stop_at({T0: 9})
    position = position_of({T0: 0})
    ends = []
    while (end := query.end(position, {}, now_ms=NOW, takes_all=False)) is not position:
        position = kept(end)
        ends.append(offsets_of(end)[T0])
    assert ends == [4, 8, 9]


def test_progress_report_names_the_isolation_level_and_the_lag() -> None:
    found = reported({T0: 9, T1: 5}, {T0: 4}, "read_committed", 2.5)
    facts = {"isolation.level": "read_committed", "lag": 10, "lag.seconds": 2.5}
    assert found == {"t": {"0": 9, "1": 5}, "": facts}
    assert offsets_of(found) == {T0: 9, T1: 5}
    assert reported({T0: 9}, {T0: 9}, "read_committed", 2.5)[""]["lag.seconds"] is None

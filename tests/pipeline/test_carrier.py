"""Tests of when a mirror carries what is no record, without Spark and without a cluster."""

from typing import Any

import pytest
from support.spark.gathered_rows import need_columns

need_columns()


class Carrying:
    """A carrier whose clock stands, and the groups that it carried."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from pybroker.pipeline.mirror import carrier
        from pybroker.pipeline.mirror.topic_rules import mirrored_source
        from pybroker.pipeline.options.kafka_settings import reader_settings

        self.now_s = 1000.0
        self.groups: list[str] = []
        self.carrier: carrier.Carrier
        target = reader_settings({"bootstrap.servers": "b:2"})
        source = mirrored_source({"kafka.bootstrap.servers": "b:1", "subscribe": "t"})
        spark: Any = None

        def carry(spark: Any, offset_map: str, group: str, *_: Any) -> None:
            self.groups.append(group)
            self.carrier.carry_if_idle()

        def refuse(options: Any) -> Any:
            raise ConnectionRefusedError("no broker\nat b:1")

        monkeypatch.setattr(carrier, "carry_group", carry)
        monkeypatch.setattr(carrier, "SourceOffsets", refuse)
        carried = carrier.Carried(groups=("g",))
        self.carrier = carrier.Carrier(spark, source, target, "map", "of.", carried, lambda: self.now_s)


@pytest.fixture
def carrying(monkeypatch: pytest.MonkeyPatch) -> Carrying:
    return Carrying(monkeypatch)


def test_offsets_of_groups_are_carried_each_minute_although_no_records_come(carrying: Carrying) -> None:
    for now_s, times in ((1000.0, 1), (1059.0, 1), (1060.0, 2), (1119.0, 2), (1120.0, 3)):
        carrying.now_s = now_s
        carrying.carrier.carry_if_idle()
        assert len(carrying.groups) == times


def test_nothing_is_carried_while_a_micro_batch_is_written_but_at_its_end(carrying: Carrying) -> None:
    with carrying.carrier.micro_batch():
        carrying.carrier.carry_if_idle()
        assert carrying.groups == []
    assert carrying.groups == ["g"]
    with carrying.carrier.micro_batch():
        carrying.now_s += 1
    assert carrying.groups == ["g"]


def test_failure_to_carry_topics_is_logged_in_one_line_and_groups_are_carried(
    carrying: Carrying, caplog: pytest.LogCaptureFixture
) -> None:
    carrying.carrier.carry()
    assert [each.getMessage() for each in caplog.records] == ["Topics not carried to the target: no broker"]
    assert carrying.groups == ["g"]


def test_rows_of_a_task_that_ran_twice_are_counted_once() -> None:
    from pybroker.base.topic_partition import TopicPartition
    from pybroker.pipeline.mirror.written_rows import WrittenRows

    one, other = TopicPartition("t", 0), TopicPartition("t", 1)
    counts = WrittenRows().zero({})
    for each in ({one: 5}, {other: 2}, {one: 5}):
        counts = WrittenRows().addInPlace(counts, each)
    assert counts == {one: 5, other: 2}

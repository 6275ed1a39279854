"""What a replay and a mirror keep in mind and write down, without Spark and without a broker."""

from typing import Any

import pytest
from pybroker.pipeline.appending.pace import Pace
from pybroker.storage.topic_partition import TopicPartition
from support.gathered_rows import need_columns

SHORTEST_S = 0.001
PLACE = TopicPartition("t", 0)


class OwnTime:
    """A clock that only sleepers move."""

    def __init__(self) -> None:
        self.now = 100.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds / 2, SHORTEST_S)  # as a sleeper does that is woken early


@pytest.mark.parametrize("rate", [0.5, 7, 1000])
def test_no_more_rows_go_out_than_the_rate_allows(rate: float) -> None:
    time = OwnTime()
    pace = Pace(rate, time.clock, time.sleep)
    sent = 0
    for rows in (1, 5, 2, 30, 1):
        pace.wait_for(rows)
        assert sent <= rate * (time.now - 100.0) + 1e-6
        assert sent >= rate * (time.now - 100.0 - SHORTEST_S) - 1e-6, "it waits no longer than it must"
        sent += rows


def test_without_a_rate_nobody_waits() -> None:
    time = OwnTime()
    Pace(None, time.clock, time.sleep).wait_for(1_000_000)
    assert time.now == 100.0


def plan_of(**changed: Any) -> Any:
    need_columns()
    from pybroker.pipeline.replay.replay_plan import PartitionPlan, ReplayPlan

    place = PartitionPlan(PLACE, TopicPartition("copy", 0), rows=4, first=3, last=7, base=11, oldest_ms=5)
    given = {"selection": {"archive": "/a", "where": "x"}, "cluster": "c", "producer_id": 8, "partitions": (place,)}
    return ReplayPlan(**{**given, **changed})


def test_a_plan_is_read_as_it_was_written() -> None:
    plan = plan_of()
    from pybroker.pipeline.replay.replay_plan import parse_plan

    assert parse_plan("p", plan.to_text()) == plan
    assert not plan.partitions[0].is_dense
    assert plan.rows == 4


@pytest.mark.parametrize("text", ["", "{}", '{"version": 2}', '{"version": 1, "partitions": [{}]}'])
def test_what_is_no_plan_is_refused(text: str) -> None:
    need_columns()
    from pybroker.pipeline.replay.replay_plan import PlanError, parse_plan

    with pytest.raises(PlanError, match=r"^p "):
        parse_plan("p", text)

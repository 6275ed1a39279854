"""The lag of a group: records, seconds and verdicts, as commits, appends and retention go on."""

from pathlib import Path

import pytest
from pybroker.base.lag_verdicts import Verdict
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.lag.end_ring import EndRing
from pybroker.broker.lag.group_lags import PartitionLag
from pybroker.broker.lag.partition_ends import PartitionEnd
from pybroker.protocol.errors import ErrorCode
from support.in_process.lag_world import LOCAL, P0, P1, LagWorld


@pytest.fixture
async def world(tmp_path: Path) -> LagWorld:
    world = LagWorld(tmp_path)
    world.host(P0)
    world.host(P1)
    return world


class AnsweringLeader:
    """Another leader whose answer has come."""

    def __init__(self) -> None:
        self.ring = EndRing()
        self.start: int | None = None

    def end_of(self, topic_partition: TopicPartition) -> PartitionEnd | None:
        end = self.ring.last_end
        return None if end is None else (self.start, end, None, self.ring)

    def known_end(self, topic_partition: TopicPartition) -> int | None:
        return self.ring.last_end


async def test_lag_is_the_distance_to_the_high_watermark_and_the_age_of_the_first_unread_record(
    world: LagWorld,
) -> None:
    world.produce(P0, 10)
    world.time.advance(5_000)
    world.produce(P0, 10)
    world.time.advance(2_000)
    world.commit(10)
    lag = world.lag_of()
    assert (lag.committed, lag.start, lag.end, lag.lag, lag.is_offset_lost) == (10, 0, 20, 10, False)
    assert lag.lag_s == pytest.approx(2, abs=0.02)
    world.commit(0)
    assert world.lag_of().lag_s == pytest.approx(7, abs=0.02)
    world.commit(20)
    assert (world.lag_of().lag, world.lag_of().lag_s, world.lag_of().verdict) == (0, 0.0, Verdict.OK)


async def test_partition_without_a_commit_has_no_lag(world: LagWorld) -> None:
    world.produce(P1, 5)
    world.commit(0)
    assert [each.topic_partition for each in world.lag.partitions] == [P0]


async def test_sums_and_greatest_lags_of_a_group(world: LagWorld) -> None:
    world.produce(P0, 10)
    world.time.advance(3_000)
    world.produce(P1, 4)
    world.commit(4)
    world.commit(0, P1)
    assert (world.lag.lag, world.lag.max_lag) == (10, 6)
    assert world.lag.max_lag_s == pytest.approx(3, abs=0.02)


async def test_group_with_no_known_lag_has_no_sum(world: LagWorld) -> None:
    world.commit(5, TopicPartition("elsewhere", 0))
    assert (world.lag.lag, world.lag.max_lag, world.lag.max_lag_s) == (None, None, None)
    assert world.lag.catch_up_s is None


async def test_records_deleted_before_they_were_read_are_lost_and_not_counted(world: LagWorld) -> None:
    world.produce(P0, 10)
    world.commit(2)
    log = world.partitions.require(P0).log
    log.increment_log_start_offset(6)
    assert (world.lag_of().lag, world.lag_of().is_offset_lost) == (4, True)
    log.increment_log_start_offset(10)
    assert (world.lag_of().lag, world.lag_of().lag_s, world.lag_of().is_offset_lost) == (0, 0.0, True)


async def test_offset_above_the_log_is_lost_and_its_lag_is_zero(world: LagWorld) -> None:
    world.produce(P0, 10)
    world.commit(11)
    assert (world.lag_of().lag, world.lag_of().is_offset_lost) == (0, True)
    world.commit(10)
    assert world.lag_of().is_offset_lost is False


async def test_group_that_gains_on_the_end_is_catching_up_and_its_time_is_told(world: LagWorld) -> None:
    world.produce(P0, 100)
    for offset in (10, 20, 30, 40):
        world.commit(offset)
        world.time.advance(5_000)
    lag = world.lag_of()
    assert lag.verdict is Verdict.CATCHING_UP
    assert lag.catch_up_s == pytest.approx(60 / (30 / 15))
    assert world.lag.catch_up_s == lag.catch_up_s


async def test_group_that_loses_on_the_end_falls_behind(world: LagWorld) -> None:
    for number in range(5):
        world.produce(P0, 20)
        world.commit(number)
        world.time.advance(5_000)
    assert world.lag_of().verdict is Verdict.FALLING_BEHIND
    assert world.lag.catch_up_s is None


async def test_group_that_commits_the_same_offset_is_stalled(world: LagWorld) -> None:
    for _ in range(5):
        world.produce(P0, 1)
        world.commit(0)
        world.time.advance(5_000)
    assert world.lag.verdict is Verdict.STALLED


async def test_group_that_commits_no_more_has_stopped_until_it_commits_again(world: LagWorld) -> None:
    world.produce(P0, 100)
    for offset in (10, 20, 30):
        world.commit(offset)
        world.time.advance(5_000)
    world.time.advance(70_000)
    assert world.lag_of().verdict is Verdict.STOPPED
    assert world.lag_of().catch_up_s is None
    world.commit(50)
    assert world.lag_of().verdict is Verdict.CATCHING_UP


async def test_group_at_the_end_of_an_idle_topic_has_not_stopped_when_a_record_comes(world: LagWorld) -> None:
    world.produce(P0, 1)
    world.commit(1)
    world.time.advance(3_600_000)
    assert world.lag_of().verdict is Verdict.OK
    world.produce(P0, 1)
    world.time.advance(10_000)
    assert world.lag_of().verdict is Verdict.OK
    world.time.advance(60_000)
    assert world.lag_of().verdict is Verdict.STOPPED


async def test_reset_to_the_start_is_seen_as_a_rewind(world: LagWorld) -> None:
    world.produce(P0, 100)
    for offset in (50, 60, 0):
        world.commit(offset)
        world.time.advance(5_000)
    assert world.lag.verdict is Verdict.REWOUND


async def test_commit_in_a_transaction_counts_when_the_transaction_commits(world: LagWorld) -> None:
    world.produce(P0, 100)
    assert world.groups.commit({P0: 40}, producer_id=7).error is ErrorCode.NONE
    assert not world.lag.partitions
    world.groups.end_transaction(7, is_commit=True)
    assert world.lag_of().lag == 60
    histories = world.groups.group().offsets.histories
    assert histories is not None
    assert histories.by_partition[P0].columns()[1] == [40]


async def test_deleted_offset_loses_its_history_and_its_memory(world: LagWorld) -> None:
    registry = world.groups.parts.registry
    world.groups.commit({P0: 1, P1: 1})
    histories = world.groups.group().offsets.histories
    assert histories is not None
    used_bytes = registry.histories.used_bytes
    world.groups.group().offsets.remove([P0])
    assert list(histories.by_partition) == [P1]
    assert registry.histories.used_bytes == used_bytes / 2
    world.groups.parts.administration.delete_offsets("g", [P1])
    assert registry.get("g") is None
    assert registry.histories.used_bytes == 0


async def test_group_read_from_the_log_has_stopped_when_its_last_commit_is_old(world: LagWorld) -> None:
    world.produce(P0, 10)
    world.commit(1)
    histories = world.groups.group().offsets.histories
    assert histories is not None
    histories.clear()
    assert world.lag_of().verdict is Verdict.OK
    world.time.advance(61_000)
    assert world.lag_of().verdict is Verdict.STOPPED


async def test_replica_out_of_sync_does_not_tell_the_end(tmp_path: Path) -> None:
    others = AnsweringLeader()
    world = LagWorld(tmp_path, others)
    world.host(P0, leader=2)
    world.commit(0)
    world.isr = [LOCAL, 2]
    assert world.lag_of().end == 0
    world.isr = [2]
    assert world.lag_of() == PartitionLag(P0, 0, None, None, None, None, False, None, None)
    others.ring.add(0, 30)
    assert (world.lag_of().lag, world.lag_of().start) == (30, None)


async def test_lag_of_a_partition_elsewhere_comes_from_the_ring_of_its_ends(tmp_path: Path) -> None:
    others = AnsweringLeader()
    world = LagWorld(tmp_path, others)
    for end in (10, 20, 30):
        others.ring.add(int(world.time.time() * 1000), end)
        world.time.advance(10_000)
    world.commit(25)
    assert world.lag_of().lag == 5
    assert world.lag_of().lag_s == pytest.approx(14, abs=0.001)
    others.start = 28
    assert (world.lag_of().lag, world.lag_of().is_offset_lost) == (2, True)


async def test_steps_of_a_large_group_are_short(world: LagWorld) -> None:
    world.groups.commit({TopicPartition("many", number): 0 for number in range(1_000)})
    steps = list(world.lags.steps(world.groups.group()))
    assert steps[:-1] == [None] * 31
    assert steps[-1] is not None
    assert len(steps[-1].partitions) == 1_000


async def test_a_step_looks_up_few_offsets_in_the_log(world: LagWorld) -> None:
    partitions = [TopicPartition("many", number) for number in range(20)]
    for each in partitions:
        world.host(each)
        world.produce(each)
    world.groups.commit(dict.fromkeys(partitions, 0))
    group = world.groups.group()
    steps = list(world.lags.steps(group))
    assert steps[:-1] == [None, None]
    assert list(world.lags.steps(group)) == steps[-1:], "the times of these offsets are known now"


async def test_groups_that_share_readings_have_the_lags_that_each_has_alone(world: LagWorld) -> None:
    world.produce(P0, 10)
    world.produce(P0, 10)
    world.time.advance(3_000)
    world.produce(P1, 5)
    for number, offset in enumerate((0, 9, 10, 19, 20, 21)):
        world.groups.commit({P0: offset, P1: offset % 6, TopicPartition("missing", 0): 1}, group_id=f"g{number}")
    world.partitions.require(P0).log.increment_log_start_offset(3)
    readings = world.lags.readings()
    for group in world.groups.parts.registry.groups():
        (alone,) = [step for step in world.lags.steps(group) if step is not None]
        for _ in range(2):
            (shared,) = [step for step in world.lags.steps(group, readings) if step is not None]
            assert shared == alone

"""Tests of the replica that a leader recommends to a consumer."""

import pytest
from pybroker.replication.partition.nearest_replica import nearest_replica
from pybroker.replication.partition.partition import Partition
from support.in_process.partitions import FakeLog, leading_partition, partition_state

RACKS = {1: "a", 2: "b", 3: "b", 4: "c"}


def led(*, isr: tuple[int, ...] = (1, 2, 3, 4)) -> Partition:
    """Led by broker 1 in rack a; 2 and 3 are in rack b, 4 in rack c; all have fetched up to 100."""
    partition = leading_partition(FakeLog(100), state=partition_state(isr=isr, replicas=(1, 2, 3, 4)))
    assert partition.leader is not None
    for broker_id, replica in partition.leader.replicas.items():
        replica.record_fetch(100, 10, 1000 + broker_id, 100, -1)
    return partition


def nearest(partition: Partition, rack: str, offset: int = 50, unreachable: int = -1) -> int | None:
    return nearest_replica(
        rack, "a", RACKS.get, lambda broker_id: broker_id != unreachable, partition, offset, now_ms=2000
    )


@pytest.mark.parametrize(("rack", "chosen"), [("a", None), ("b", 3), ("c", 4), ("d", None)])
def test_nearest_replica_is_in_the_consumers_rack_and_never_the_leader(rack: str, chosen: int | None) -> None:
    assert nearest(led(), rack) == chosen


def test_nearest_replica_is_the_one_with_the_greatest_log_end_offset() -> None:
    partition = led()
    assert partition.leader is not None
    partition.leader.replicas[3].record_fetch(99, 10, 1500, 100, -1)
    assert nearest(partition, "b") == 2


def test_nearest_replica_is_in_sync_has_the_offset_and_is_reachable() -> None:
    assert nearest(led(isr=(1, 2)), "c") is None
    assert nearest(led(), "c", offset=101) is None
    assert nearest(led(), "c", offset=9) is None
    assert nearest(led(), "c", offset=10) == 4
    assert nearest(led(), "c", unreachable=4) is None


def test_follower_recommends_no_replica() -> None:
    partition = led()
    partition.become_follower(partition_state(leader=2, leader_epoch=6, partition_epoch=2))
    assert nearest(partition, "b") is None

"""LEO, high watermark and the follower's LEO at the leader, after each produce and each fetch."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.in_process.replica_cluster import ReplicaCluster
from support.in_process.replicas import batch_of


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[ReplicaCluster]:
    cluster = ReplicaCluster(tmp_path)
    await cluster.order(leader=1, leader_epoch=0)
    yield cluster
    cluster.close()


def row(cluster: ReplicaCluster) -> tuple[int, int, int, int, int]:
    """The leader's LEO, HW and its follower's LEO as it knows it; then the follower's LEO and HW."""
    leader = cluster[1].hosted()
    assert leader.partition.leader is not None
    remote = leader.partition.leader.replicas[2]
    follower = cluster[2].hosted()
    return (
        leader.log.log_end_offset,
        leader.partition.high_watermark,
        remote.log_end_offset,
        follower.log.log_end_offset,
        follower.partition.high_watermark,
    )


async def test_offsets_after_each_produce_and_each_fetch(cluster: ReplicaCluster) -> None:
    steps = [
        # step        leader: LEO, HW, follower's LEO  follower: LEO, HW
        ("at first", (0, 0, -1, 0, 0)),
        ("produce", (1, 0, -1, 0, 0)),
        ("fetch", (1, 0, 0, 1, 0)),  # asks from 0: nothing is known to be there; gets the record
        ("fetch", (1, 1, 1, 1, 0)),  # asks from 1: has it, it is committed; the response was made just before that
        ("fetch", (1, 1, 1, 1, 1)),  # learns the new high watermark
        ("produce", (2, 1, 1, 1, 1)),
        ("fetch", (2, 1, 1, 2, 1)),
        ("produce", (3, 1, 1, 2, 1)),
        ("fetch", (3, 2, 2, 3, 1)),  # commits the second record and brings the third
        ("fetch", (3, 3, 3, 3, 2)),
        ("fetch", (3, 3, 3, 3, 3)),
    ]
    for step, expected in steps:
        if step == "produce":
            cluster[1].produce(batch_of(b"record"))
        elif step == "fetch":
            await cluster[2].fetch_from(1)
        assert row(cluster) == expected, step


async def test_parked_fetch_of_a_follower_is_completed_by_a_produce(tmp_path: Path) -> None:
    cluster = ReplicaCluster(tmp_path, max_wait_ms=3_600_000)  # no fetch reaches its max wait
    await cluster.order(leader=1, leader_epoch=0)
    acknowledged = cluster[1].produce(batch_of(b"first"), acks=-1)
    await cluster[2].fetch_from(1)
    assert row(cluster) == (1, 0, 0, 1, 0)

    parked = asyncio.create_task(cluster[2].fetch_from(1))
    await asyncio.sleep(0)
    assert row(cluster) == (1, 1, 1, 1, 0)  # the leader has heard of the first record
    assert [result.base_offset for result in acknowledged] == [0]
    assert not parked.done()
    assert len(cluster[1].hosted().waiting_followers) == 1

    cluster[1].produce(batch_of(b"second"), acks=-1)
    await parked
    assert row(cluster) == (2, 1, 1, 2, 1)  # woken: it brought the record, and the HW of now
    assert len(cluster[1].hosted().waiting_followers) == 0

    parked = asyncio.create_task(cluster[2].fetch_from(1))
    await asyncio.sleep(0)
    assert row(cluster) == (2, 2, 2, 2, 1)
    cluster.close()
    parked.cancel()
    await asyncio.gather(parked, return_exceptions=True)

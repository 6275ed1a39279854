"""Followers truncate by leader epochs instead of their high watermark (KIP-101), shown step by step.

Two brokers, min.insync.replicas = 1. Broker 2 follows broker 1 and has both records, but does not know yet that the
second one is committed; its next fetch would tell. Then broker 2 restarts, and soon after broker 1 fails.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.replication.partition.hosted_partition import HostedPartition
from pybroker.storage.log.log_truncation import truncate_to
from support.in_process.replica_cluster import ReplicaCluster, SteppedFetcher
from support.in_process.replicas import batch_of


class BeforeLeaderEpochs(SteppedFetcher):
    """A follower without KIP-101: it first truncates its log to the high watermark it remembers."""

    def follow(self, hosted: HostedPartition, leader_epoch: int) -> None:
        hosted.strand.submit(lambda log: truncate_to(log, hosted.partition.high_watermark, 0))
        super().follow(hosted, leader_epoch)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[ReplicaCluster]:
    """Both records are in both logs, and acknowledged to a producer with acks=all."""
    cluster = ReplicaCluster(tmp_path)
    await cluster.order(leader=1, leader_epoch=0)
    cluster[1].produce(batch_of(b"first"))
    await cluster[2].fetch_from(1, times=3)

    acknowledged = cluster[1].produce(batch_of(b"second"), acks=-1)
    await cluster[2].fetch_from(1)  # gets the record
    assert acknowledged == []
    await cluster[2].fetch_from(1)  # says so, and the leader commits it
    assert [result.base_offset for result in acknowledged] == [1]

    assert cluster[1].offsets == (0, 2, 2)
    assert cluster[2].offsets == (0, 1, 2)  # HW 1: the response to that fetch was made before the leader's HW moved
    yield cluster
    cluster.close()


async def test_truncation_by_high_watermark_loses_an_acknowledged_record(cluster: ReplicaCluster) -> None:
    cluster.fetcher_kind = BeforeLeaderEpochs
    await cluster.restart(2)
    await cluster.order(leader=1, leader_epoch=0, to=(2,), is_new=False)
    assert cluster[2].records() == [(0, b"first")]  # cut at its HW; it would fetch the rest again...

    await cluster.stop(1)  # ...but its leader is gone
    await cluster.order(leader=2, leader_epoch=1, isr=(2,), replicas=(1, 2))
    cluster[2].produce(batch_of(b"third"))
    assert cluster[2].records() == [(0, b"first"), (1, b"third")]  # the acknowledged record is lost

    cluster.start(1)
    await cluster[1].changes.load_high_watermarks()
    await cluster.order(leader=2, leader_epoch=1, to=(1,), is_new=False)
    assert cluster[1].hosted().partition.high_watermark == 2  # nothing to cut, by its HW
    first, second = cluster[1].records()[1], cluster[2].records()[1]
    assert (first, second) == ((1, b"second"), (1, b"third"))  # and the logs are not the same


async def test_truncation_by_leader_epochs_keeps_an_acknowledged_record(cluster: ReplicaCluster) -> None:
    await cluster.restart(2)
    await cluster.order(leader=1, leader_epoch=0, to=(2,), is_new=False)
    assert cluster[2].records() == [(0, b"first"), (1, b"second")]  # nothing is cut before the leader says so

    await cluster.stop(1)
    await cluster.order(leader=2, leader_epoch=1, isr=(2,), replicas=(1, 2))
    cluster[2].produce(batch_of(b"third"))
    kept = [(0, b"first"), (1, b"second"), (2, b"third")]
    assert cluster[2].records() == kept

    cluster.start(1)
    await cluster[1].changes.load_high_watermarks()
    await cluster.order(leader=2, leader_epoch=1, to=(1,), is_new=False)
    await cluster[1].fetch_from(2)
    assert cluster[1].records() == kept
    assert cluster[1].epochs() == cluster[2].epochs() == [(0, 0), (1, 2)]


async def test_truncation_by_leader_epochs_makes_diverged_logs_equal(cluster: ReplicaCluster) -> None:
    """Both brokers crash with broker 1's records unsynced. Broker 2 leads with fewer records and writes others."""
    await cluster.stop(1)
    await cluster[2].hosted().run(lambda log: truncate_to(log, 1, 0))
    await cluster.order(leader=2, leader_epoch=1, isr=(2,), replicas=(1, 2))
    cluster[2].produce(batch_of(b"other second"))

    cluster.start(1)
    await cluster[1].changes.load_high_watermarks()
    await cluster.order(leader=2, leader_epoch=1, to=(1,), is_new=False)
    assert cluster[1].offsets == (0, 2, 2)  # by its HW, all is well
    await cluster[1].fetch_from(2, times=2)
    assert cluster[1].records() == cluster[2].records() == [(0, b"first"), (1, b"other second")]

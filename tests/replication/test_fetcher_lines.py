"""Log lines of a follower's fetcher after an election that concerns many partitions."""

from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from support.in_process.replica_cluster import ReplicaCluster
from support.in_process.replicas import TP, batch_of

FETCHER = "pybroker.replication.follower.fetcher"


async def test_ended_epochs_of_many_partitions_are_logged_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = ReplicaCluster(tmp_path)
    partitions = [TopicPartition(TP.topic, number) for number in range(8)]
    for each in partitions:
        await cluster.order(1, 0, topic_partition=each)
        await cluster.order(1, 1, topic_partition=each, to=(1,))
    with caplog.at_level("INFO", FETCHER):
        await cluster[2].fetch_from(1)
    (line,) = [record.getMessage() for record in caplog.records if record.name == FETCHER]
    assert line.count("leader epoch 0 ended; waiting for the next LeaderAndIsr") == 3
    assert line.endswith("; and 5 more like these")
    cluster.close()


async def test_truncations_of_many_partitions_are_logged_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = ReplicaCluster(tmp_path)
    partitions = [TopicPartition(TP.topic, number) for number in range(8)]
    for each in partitions:
        await cluster.order(1, 0, topic_partition=each)
        cluster[1].append(batch_of(b"lost"), each)
        await cluster.order(2, 1, topic_partition=each)
        cluster[2].append(batch_of(b"kept"), each)
    with caplog.at_level("INFO", FETCHER):
        await cluster[1].fetch_from(2, times=2)
    (line,) = [record.getMessage() for record in caplog.records if record.name == FETCHER]
    assert line.count(": truncated to offset 0, the log ended at 1: leader epoch ") == 3
    assert line.endswith("; and 5 more like these")
    cluster.close()

"""The coordinator tells the lag of partitions without a replica on its broker, and of partitions that it follows."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.lag.group_lags import PartitionLag
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from support.in_process.broker_cluster import BrokerCluster, until

ELSEWHERE, LED, FOLLOWED = TopicPartition("single", 0), TopicPartition("single", 1), TopicPartition("double", 0)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[BrokerCluster]:
    cluster = BrokerCluster(tmp_path)
    yield cluster
    await cluster.close()


async def coordinator_of(cluster: BrokerCluster, group_id: str) -> int:
    while True:
        answer = await cluster.ask(1, FindCoordinatorRequest(key=group_id), 3)
        if answer.error_code == ErrorCode.NONE:
            return int(answer.node_id)


async def commit(cluster: BrokerCluster, broker_id: int, offset: int) -> None:
    """Commit the offset in each partition, when the coordinator has loaded its groups."""
    topics = [
        OffsetCommitRequestTopic(
            name=each.topic,
            partitions=[OffsetCommitRequestPartition(partition_index=each.partition, committed_offset=offset)],
        )
        for each in (ELSEWHERE, LED, FOLLOWED)
    ]
    request = OffsetCommitRequest(group_id="g", topics=topics)
    while (await cluster.ask(broker_id, request, 7)).topics[0].partitions[0].error_code != ErrorCode.NONE:
        pass


def lag_of(cluster: BrokerCluster, broker_id: int, partition: TopicPartition) -> PartitionLag:
    lags = cluster[broker_id].observability.lags
    assert lags is not None
    (group,) = lags.groups()
    (found,) = [each for each in lags.of(group).partitions if each.topic_partition == partition]
    return found


async def test_coordinator_tells_the_lag_of_every_partition_wherever_its_replicas_are(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2)
    here = await coordinator_of(cluster, "g")
    other = 3 - here
    await cluster.create_topic("single", [other], [here])
    await cluster.create_topic("double", [other, here])
    for partition, leader in ((ELSEWHERE, other), (FOLLOWED, other), (LED, here)):
        await until(partial(cluster.leader_of, partition), "a leader")
        for _ in range(3):
            assert (await cluster.produce(leader, partition, b"a", b"b"))[0] is ErrorCode.NONE
    await until(lambda: cluster.isr_of(FOLLOWED) == {1, 2}, "both replicas in sync")
    await commit(cluster, here, 2)
    assert cluster[here]._partitions.get(ELSEWHERE) is None

    await until(lambda: lag_of(cluster, here, ELSEWHERE).start is not None, "the answer of the other leader")
    await until(lambda: lag_of(cluster, here, FOLLOWED).end == 6, "the high watermark of the follower")

    for partition in (ELSEWHERE, FOLLOWED, LED):
        found = lag_of(cluster, here, partition)
        assert (found.committed, found.start, found.end, found.lag) == (2, 0, 6, 4), found
        assert found.lag_s is not None
        assert not found.is_offset_lost
    lags = cluster[other].observability.lags
    assert lags is not None
    assert list(lags.groups()) == []

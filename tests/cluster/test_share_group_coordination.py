"""A share group on a broker of a cluster: it is served at level 1 of share.version, its partitions get states, and its
offsets are set and deleted."""

import asyncio
from pathlib import Path
from typing import Any

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from pybroker.protocol.messages.delete_groups import DeleteGroupsRequest
from pybroker.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.list_groups import ListGroupsRequest
from pybroker.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pybroker.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from support.in_process.broker_cluster import BrokerCluster

SETTINGS = {
    "group.coordinator.rebalance.protocols": "classic,share",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
UPGRADE, DOWNGRADE = 1, 2
RETRIABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR


async def change_level(cluster: BrokerCluster, level: int, upgrade_type: int) -> None:
    update = FeatureUpdateKey(feature="share.version", max_version_level=level, upgrade_type=upgrade_type)
    answer = await cluster.ask(cluster.controller_id, UpdateFeaturesRequest(feature_updates=[update]), 1)
    assert answer.results[0].error_code == ErrorCode.NONE
    cluster.hang_up()  # the brokers have closed these connections


async def test_share_group_is_served_from_level_1_on_with_offsets_that_are_set_and_deleted(tmp_path: Path) -> None:
    cluster = BrokerCluster(tmp_path, SETTINGS)
    try:
        await cluster.start(1)
        await cluster.create_topic("t", [1], [1])

        async def ask(request: Any, version: int) -> Any:
            return await cluster.ask(1, request, version)

        await ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4)

        async def beat(epoch: int) -> Any:
            names = ["t"] if epoch == 0 else None
            request = ShareGroupHeartbeatRequest(
                group_id="g", member_id="m", member_epoch=epoch, subscribed_topic_names=names
            )
            return await ask(request, 1)

        assert (await beat(0)).error_code == ErrorCode.UNSUPPORTED_VERSION
        await change_level(cluster, 1, UPGRADE)
        answer = await beat(0)
        while answer.error_code in RETRIABLE:
            await asyncio.sleep(0.01)
            answer = await beat(0)
        while answer.assignment is None or not answer.assignment.topic_partitions:
            answer = await beat(answer.member_epoch)
        (topic,) = answer.assignment.topic_partitions
        assert topic.partitions == [0, 1]
        (group,) = (await ask(ListGroupsRequest(types_filter=["share"]), 5)).groups
        assert (group.group_id, group.group_state) == ("g", "Stable")
        await beat(-1)
        partitions = [AlterShareGroupOffsetsRequestPartition(partition_index=1, start_offset=7)]
        named = AlterShareGroupOffsetsRequestTopic(topic_name="t", partitions=partitions)
        altered = await ask(AlterShareGroupOffsetsRequest(group_id="g", topics=[named]), 0)
        assert [each.error_code for topic in altered.responses for each in topic.partitions] == [0]
        wanted = DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)
        (described,) = (await ask(DescribeShareGroupOffsetsRequest(groups=[wanted]), 1)).groups
        (topic,) = described.topics
        assert {each.partition_index: each.start_offset for each in topic.partitions} == {0: -1, 1: 7}
        (deleted,) = (await ask(DeleteGroupsRequest(groups_names=["g"]), 2)).results
        assert deleted.error_code == 0
        assert not (await ask(ListGroupsRequest(types_filter=["share"]), 5)).groups
        await change_level(cluster, 0, DOWNGRADE)
        assert (await beat(0)).error_code == ErrorCode.UNSUPPORTED_VERSION
        (refused,) = (await ask(DescribeShareGroupOffsetsRequest(groups=[wanted]), 1)).groups
        assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
    finally:
        await cluster.close()

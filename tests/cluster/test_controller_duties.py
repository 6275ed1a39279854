"""Tests of the controller over real sockets: reassignments, elections, and terms that end in the middle of them."""

from collections.abc import Sequence

from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from pybroker.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from pybroker.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pybroker.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from support.in_process.broker_cluster import BrokerCluster, until

TP = TopicPartition("orders", 0)
TOPIC = 2
SET = 0


async def reassign(cluster: BrokerCluster, replicas: Sequence[int] | None) -> ErrorCode:
    wish = ReassignablePartition(partition_index=TP.partition, replicas=None if replicas is None else list(replicas))
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name=TP.topic, partitions=[wish])])
    answer = await cluster.ask(cluster.controller_id, request, 0)
    assert answer.error_code == ErrorCode.NONE
    return ErrorCode(answer.responses[0].partitions[0].error_code)


async def moves(cluster: BrokerCluster) -> int:
    request = ListPartitionReassignmentsRequest(topics=None)
    return len((await cluster.ask(cluster.controller_id, request, 0)).topics)


def is_controlled(cluster: BrokerCluster) -> bool:
    return any(server._metadata.controller.is_active for server in cluster.servers.values())


async def write(cluster: BrokerCluster, first: int, count: int) -> None:
    """Produces records with acks=all, across changes of the leader."""
    for number in range(first, first + count):
        error: ErrorCode | None = None
        while error is not ErrorCode.NONE:
            await until(lambda: cluster.leader_of(TP) is not None, "a leader")
            leader = cluster.leader_of(TP)
            assert leader is not None
            error, _ = await cluster.produce(leader, TP, b"%d" % number)


async def test_partition_is_reassigned_with_its_records_while_it_is_written(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2, 3, 4)
    await cluster.create_topic("orders", [1, 2])
    await write(cluster, 0, 10)
    assert await reassign(cluster, [3, 4]) is ErrorCode.NONE
    await write(cluster, 10, 10)
    await until(lambda: cluster.leader_of(TP) == 3 and cluster.isr_of(TP) == {3, 4}, "it is on 3 and 4")
    await write(cluster, 20, 10)
    assert cluster.offsets(3, TP)[1] == cluster.offsets(4, TP)[1] >= 30
    await until(lambda: all(cluster[b]._partitions.get(TP) is None for b in (1, 2)), "1 and 2 have let go of it")
    assert await moves(cluster) == 0


async def test_reassignment_survives_the_end_of_the_controller(cluster: BrokerCluster) -> None:
    await cluster.start(2, 1, 3)
    await cluster.create_topic("orders", [1])
    await write(cluster, 0, 5)
    assert cluster.controller_id == 2
    await cluster.kill(3)  # it can't catch up before the controller is gone; the controller still believes it alive
    assert await reassign(cluster, [3]) is ErrorCode.NONE
    await cluster.kill(2)
    cluster.expire(2)
    cluster.expire(3)
    await until(lambda: is_controlled(cluster), "another controller")
    await cluster.start(3)
    await until(lambda: cluster.leader_of(TP) == 3 and cluster.isr_of(TP) == {3}, "the move is done")
    assert cluster.offsets(3, TP)[1] == 5
    await until(lambda: cluster[1]._partitions.get(TP) is None, "1 has let go of it")


async def test_cancelled_reassignment_leaves_no_replica_behind(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2, 3)
    await cluster.create_topic("orders", [1, 2])
    await write(cluster, 0, 5)
    await cluster.kill(3)  # it can't catch up before the reassignment is cancelled
    assert await reassign(cluster, [3, 2]) is ErrorCode.NONE
    assert await moves(cluster) == 1
    assert await reassign(cluster, None) is ErrorCode.NONE
    assert await moves(cluster) == 0
    cluster.expire(3)
    await cluster.start(3)
    await write(cluster, 5, 5)
    await until(lambda: cluster.isr_of(TP) == {1, 2}, "it is where it was")
    assert cluster[3]._partitions.get(TP) is None


async def test_controller_with_expired_session_becomes_an_ordinary_broker(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2, 3)
    await cluster.create_topic("orders", [1, 2, 3], min_insync_replicas="1")
    await write(cluster, 0, 5)
    assert cluster.controller_id == 1
    epoch = cluster[1]._metadata.broker_epoch
    cluster.zookeeper.expire(cluster[1].metadata_store.session_id)
    await until(lambda: cluster[1]._metadata.broker_epoch > epoch, "it is registered again")
    await until(lambda: is_controlled(cluster), "a controller")
    await write(cluster, 5, 5)
    await until(lambda: cluster.isr_of(TP) == {1, 2, 3}, "all are in sync again")
    assert cluster[1]._orders.broker_epoch == cluster[1]._metadata.broker_epoch
    assert len({cluster.offsets(broker_id, TP)[1] for broker_id in (1, 2, 3)}) == 1


async def test_preferred_replica_becomes_leader_again(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2, 3)
    await cluster.create_topic("orders", [3, 2])
    await write(cluster, 0, 3)
    await cluster.stop(3)
    await until(lambda: cluster.leader_of(TP) == 2, "2 leads")
    await cluster.start(3)
    await until(lambda: cluster.isr_of(TP) == {2, 3}, "3 is in sync")
    request = ElectLeadersRequest(
        election_type=0, topic_partitions=[TopicPartitions(topic="orders", partitions=[0])], timeout_ms=30_000
    )
    answer = await cluster.ask(1, request, 2)
    assert answer.replica_election_results[0].partition_result[0].error_code == ErrorCode.NONE
    await until(lambda: cluster.leader_of(TP) == 3, "3 leads")
    await write(cluster, 3, 3)


async def test_unclean_leader_is_elected_after_it_is_allowed_at_any_broker(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2, 3)
    await cluster.create_topic("orders", [2, 3], min_insync_replicas="1")
    await write(cluster, 0, 3)
    await cluster.kill(3)
    cluster.expire(3)
    await until(lambda: cluster.isr_of(TP) == {2}, "2 alone is in sync")
    await write(cluster, 3, 3)
    await cluster.kill(2)
    cluster.expire(2)
    await cluster.start(3)
    controller = cluster[1]._metadata.controller
    await controller.drained()
    assert cluster.leader_of(TP) is None
    resource = AlterConfigsResource(
        resource_type=TOPIC,
        resource_name="orders",
        configs=[AlterableConfig(name="unclean.leader.election.enable", config_operation=SET, value="true")],
    )
    answer = await cluster.ask(3, IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert answer.responses[0].error_code == ErrorCode.NONE
    await until(lambda: cluster.leader_of(TP) == 3, "3 leads")
    assert cluster.offsets(3, TP)[1] == 3
    await cluster.start(2)
    await until(lambda: cluster.isr_of(TP) == {2, 3}, "2 follows")
    assert cluster.offsets(2, TP)[1] == 3, "what 3 never had is gone"

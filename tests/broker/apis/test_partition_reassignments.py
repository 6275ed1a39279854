"""AlterPartitionReassignments and ListPartitionReassignments over a real controller."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.cluster.alter_partition_reassignments import AlterPartitionReassignments
from pybroker.broker.apis.cluster.list_partition_reassignments import ListPartitionReassignments
from pybroker.controller.tree.replica_assignment import ReplicaAssignment
from pybroker.protocol.errors import ErrorCode, NotControllerError
from pybroker.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from pybroker.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from support.in_process.group_handlers import call
from support.in_process.topic_apis import TopicApis


async def alter(apis: TopicApis, *wishes: tuple[str, int, list[int] | None]) -> dict[tuple[str, int], ErrorCode]:
    topics: dict[str, list[ReassignablePartition]] = {}
    for topic, index, replicas in wishes:
        topics.setdefault(topic, []).append(ReassignablePartition(partition_index=index, replicas=replicas))
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=name, partitions=partitions) for name, partitions in topics.items()]
    )
    response = await call(AlterPartitionReassignments(apis.plane.controller), 0, request)
    assert response.error_code == ErrorCode.NONE
    results = {}
    for topic in response.responses:
        for partition in topic.partitions:
            assert (partition.error_message is None) == (partition.error_code == ErrorCode.NONE)
            results[topic.name, partition.partition_index] = ErrorCode(partition.error_code)
    return results


async def test_alter_partition_reassignments_reports_a_result_for_each_partition(apis: TopicApis) -> None:
    assert await alter(apis, ("t", 0, [1]), ("t", 1, None), ("t", 9, [1]), ("u", 0, [7])) == {
        ("t", 0): ErrorCode.NONE,
        ("t", 1): ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        ("t", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("u", 0): ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    }


async def test_the_last_of_two_reassignments_of_one_partition_is_used(apis: TopicApis) -> None:
    assert await alter(apis, ("t", 0, [7]), ("t", 0, [1])) == {("t", 0): ErrorCode.NONE}


async def test_alter_partition_reassignments_without_topics_returns_none(apis: TopicApis) -> None:
    assert await alter(apis) == {}


async def test_reassignments_in_progress_are_listed(apis: TopicApis) -> None:
    handler = ListPartitionReassignments(apis.plane.controller)
    assert (await call(handler, 0, ListPartitionReassignmentsRequest(topics=None))).topics == []
    partition = TopicPartition("t", 1)
    apis.plane.controller.context.put_assignment(partition, ReplicaAssignment((1, 2), adding=(2,), removing=(1,)))
    apis.plane.controller.context.partitions_being_reassigned[partition] = None

    (topic,) = (await call(handler, 0, ListPartitionReassignmentsRequest(topics=None))).topics
    (listed,) = topic.partitions
    assert (topic.name, listed.partition_index) == ("t", 1)
    assert (listed.replicas, listed.adding_replicas, listed.removing_replicas) == ([1, 2], [2], [1])

    asked = [ListPartitionReassignmentsTopics(name="t", partition_indexes=[0])]
    assert (await call(handler, 0, ListPartitionReassignmentsRequest(topics=asked))).topics == []
    asked[0].partition_indexes.append(1)
    assert len((await call(handler, 0, ListPartitionReassignmentsRequest(topics=asked))).topics) == 1


async def test_reassignment_apis_sent_to_another_broker_get_not_controller(apis: TopicApis) -> None:
    await apis.plane.controller.call("resign", apis.plane.controller._resign)
    with pytest.raises(NotControllerError):
        await alter(apis, ("t", 0, [1]))
    with pytest.raises(NotControllerError):
        await call(ListPartitionReassignments(apis.plane.controller), 0, ListPartitionReassignmentsRequest())

"""Tests of error codes of brokers that do not coordinate a group, or whose coordinator can't work.

With `--against-kafka`, Apache Kafka gets the same requests; the expected codes were taken from it.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.delete_groups import DeleteGroupsRequest
from pybroker.protocol.messages.describe_groups import DescribeGroupsRequest
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.heartbeat import HeartbeatRequest
from pybroker.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pybroker.protocol.messages.leave_group import LeaveGroupRequest
from pybroker.protocol.messages.list_groups import ListGroupsRequest
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pybroker.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pybroker.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from pybroker.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from support.processes.cluster_processes import ClusterProcesses
from support.time.patience import await_answer, await_that

OFFSETS = "__consumer_offsets"
SETTINGS = {
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.retry.backoff.ms": "200",
    "group.initial.rebalance.delay.ms": "0",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "2",
    "zookeeper.connection.timeout.ms": "120000",
    "zookeeper.session.timeout.ms": "10000",
}


@pytest.fixture
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ClusterProcesses]:
    with ExitStack() as stack:
        kafkas = (1, 2) if request.config.getoption("--against-kafka") else ()
        cluster = ClusterProcesses(tmp_path, 2, SETTINGS, kafkas)
        stack.callback(cluster.close)
        cluster.start(1)
        yield cluster


def find(cluster: ClusterProcesses, broker_id: int) -> tuple[ErrorCode, int]:
    answer = cluster.ask(broker_id, FindCoordinatorRequest(key="g"), 3)
    return ErrorCode(answer.error_code), answer.node_id


def join(member_id: str = "") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id="g",
        member_id=member_id,
        session_timeout_ms=600_000,
        rebalance_timeout_ms=600_000,
        protocol_type="test",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )


def sync(member_id: str = "m", generation_id: int = 1) -> SyncGroupRequest:
    assignments = [SyncGroupRequestAssignment(member_id=member_id, assignment=b"all")]
    return SyncGroupRequest(group_id="g", generation_id=generation_id, member_id=member_id, assignments=assignments)


COMMIT = OffsetCommitRequest(
    group_id="g",
    topics=[
        OffsetCommitRequestTopic(
            name=OFFSETS, partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=5)]
        )
    ],
)
FETCH = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name=OFFSETS, partition_indexes=[0])])
DELETE_OFFSETS = OffsetDeleteRequest(
    group_id="g",
    topics=[OffsetDeleteRequestTopic(name=OFFSETS, partitions=[OffsetDeleteRequestPartition(partition_index=0)])],
)
REQUESTS: list[tuple[Message, int]] = [
    (join(), 3),
    (sync(), 2),
    (HeartbeatRequest(group_id="g", member_id="m", generation_id=1), 2),
    (LeaveGroupRequest(group_id="g", member_id="m"), 2),
    (COMMIT, 7),
    (FETCH, 5),
    (DescribeGroupsRequest(groups=["g"]), 2),
    (DeleteGroupsRequest(groups_names=["g"]), 1),
    (DELETE_OFFSETS, 0),
]
"""All requests to a coordinator, each in one version. OffsetFetch 1 is in docs/operator/deviations.md."""


def code_of(answer: Any) -> ErrorCode:
    """Returns the first error code, from the outermost field inwards."""
    if getattr(answer, "error_code", 0):
        return ErrorCode(answer.error_code)
    for name in ("topics", "partitions", "groups", "results"):
        for each in getattr(answer, name, ()):
            return code_of(each)
    return ErrorCode.NONE


def test_non_coordinator_answers_not_coordinator_and_single_broker_coordinator_not_available(
    cluster: ClusterProcesses,
) -> None:
    assert find(cluster, 1) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    metadata = cluster.ask(1, MetadataRequest(topics=[MetadataRequestTopic(name=OFFSETS)]), 9)
    assert code_of(metadata) is ErrorCode.INVALID_REPLICATION_FACTOR
    for request, version in REQUESTS:
        expected = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if request is COMMIT else ErrorCode.NOT_COORDINATOR
        assert code_of(cluster.ask(1, request, version)) is expected, request

    cluster.start(2)
    cluster.await_brokers()
    _, coordinator = await_answer(lambda: find(cluster, 1), lambda found: found[0] is ErrorCode.NONE, "a coordinator")
    other = 3 - coordinator
    await_that(lambda: find(cluster, other) == (ErrorCode.NONE, coordinator), "the other broker knows of it")
    for request, version in REQUESTS:
        assert code_of(cluster.ask(other, request, version)) is ErrorCode.NOT_COORDINATOR, request
    listed = cluster.ask(other, ListGroupsRequest(), 2)
    assert (listed.error_code, listed.groups) == (ErrorCode.NONE, [])


def test_coordinator_below_min_insync_replicas_is_not_available(cluster: ClusterProcesses) -> None:
    cluster.start(2)
    cluster.await_brokers()
    await_that(lambda: find(cluster, 1)[0] is ErrorCode.NONE, "there is a coordinator")
    cluster.reassign(OFFSETS, 0, [1, 2])
    cluster.elect_preferred(OFFSETS, 0)

    def commit() -> ErrorCode:
        return code_of(cluster.ask(1, COMMIT, 7))

    await_answer(commit, lambda code: code is ErrorCode.NONE, "a commit is taken")
    cluster.brokers[2].stop()
    await_answer(commit, lambda code: code is not ErrorCode.NONE, "the other replica has left the ISR")
    assert commit() is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert cluster.ask(1, FETCH, 5).topics[0].partitions[0].committed_offset == 5

    joined = cluster.ask(1, join(), 3)
    assert code_of(joined) is ErrorCode.NONE, "a generation is not written before it is synced"
    assert code_of(cluster.ask(1, sync(joined.member_id), 2)) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    again = cluster.ask(1, join(joined.member_id), 3)
    assert (code_of(again), again.generation_id) == (ErrorCode.NONE, 2)
    leave = LeaveGroupRequest(group_id="g", member_id=joined.member_id)
    assert code_of(cluster.ask(1, leave, 2)) is ErrorCode.NONE
    assert code_of(cluster.ask(1, DeleteGroupsRequest(groups_names=["g"]), 1)) is ErrorCode.NONE
    assert cluster.ask(1, FETCH, 5).topics[0].partitions[0].committed_offset == -1

    cluster.start(2)
    cluster.await_in_sync(OFFSETS, 0)
    cluster.reassign(OFFSETS, 0, [2, 1])
    cluster.elect_preferred(OFFSETS, 0)
    found = await_answer(
        lambda: cluster.ask(2, FETCH, 5), lambda answer: not answer.error_code, "the other has loaded the groups"
    )
    assert found.topics[0].partitions[0].committed_offset == -1, "deletions came to it"

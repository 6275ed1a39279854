"""Tests of error codes for groups while the leadership of `__consumer_offsets` moves between brokers."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.server import BrokerServer
from pybroker.controller.topics import topic_growth
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from pybroker.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pybroker.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pybroker.protocol.messages.metadata import MetadataRequest
from pybroker.protocol.messages.metadata import MetadataRequestTopic as AskedTopic
from pybroker.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pybroker.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from support.clients.async_wire_client import AsyncWireClient
from support.in_process.broker_cluster import BrokerCluster, until

OFFSETS = TopicPartition("__consumer_offsets", 0)
SETTINGS = {
    "offsets.topic.replication.factor": "2",
    "auto.leader.rebalance.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.commit.timeout.ms": "600000",
}


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[BrokerCluster]:
    cluster = BrokerCluster(tmp_path, SETTINGS)
    yield cluster
    await cluster.close()


async def find(cluster: BrokerCluster, broker_id: int) -> tuple[ErrorCode, int]:
    answer = await cluster.ask(broker_id, FindCoordinatorRequest(key="g"), 3)
    return ErrorCode(answer.error_code), answer.node_id


async def found(cluster: BrokerCluster) -> int:
    """The coordinator, asked for until its topic is created, as clients do."""
    code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    while code is ErrorCode.COORDINATOR_NOT_AVAILABLE:
        code, coordinator = await find(cluster, 1)
    assert code is ErrorCode.NONE
    return coordinator


def commit_request(offset: int) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    return OffsetCommitRequest(
        group_id="g", topics=[OffsetCommitRequestTopic(name=OFFSETS.topic, partitions=[partition])]
    )


def code_in(answer: Any) -> ErrorCode:
    return ErrorCode(answer.topics[0].partitions[0].error_code)


async def commit(cluster: BrokerCluster, broker_id: int, offset: int) -> ErrorCode:
    """Commits an offset of a partition of the only topic."""
    return code_in(await cluster.ask(broker_id, commit_request(offset), 7))


async def committed(cluster: BrokerCluster, broker_id: int) -> tuple[ErrorCode, int]:
    topic = OffsetFetchRequestTopic(name=OFFSETS.topic, partition_indexes=[0])
    answer = await cluster.ask(broker_id, OffsetFetchRequest(group_id="g", topics=[topic]), 5)
    if answer.error_code:
        return ErrorCode(answer.error_code), -1
    return ErrorCode.NONE, answer.topics[0].partitions[0].committed_offset


def is_coordinator(server: BrokerServer) -> bool:
    """Returns whether the broker is coordinator and its groups are loaded."""
    return server._coordinators.groups.registry.ownership.owns(OFFSETS.partition)


def knows_leader(server: BrokerServer, leader: int) -> bool:
    known = server._cache.leader_of(*OFFSETS)
    return known is not None and known[0] == leader


async def begin(cluster: BrokerCluster, *broker_ids: int, **settings: str) -> int:
    """Starts these brokers; returns the coordinator once both replicas are in sync."""
    await cluster.start(*broker_ids, **settings)
    await until(lambda: len(cluster[1]._cache.broker_ids) == len(cluster.servers), "the first knows all")
    coordinator = await found(cluster)
    await until(lambda: is_coordinator(cluster[coordinator]), "its groups are loaded")
    await until(lambda: len(cluster.isr_of(OFFSETS)) == 2, "both replicas are in sync")
    await until(lambda: all(knows_leader(server, coordinator) for server in cluster.servers.values()), "all know")
    return coordinator


async def reassign(cluster: BrokerCluster, *replicas: int) -> None:
    partition = ReassignablePartition(partition_index=0, replicas=list(replicas))
    topic = ReassignableTopic(name=OFFSETS.topic, partitions=[partition])
    await cluster.ask(cluster.controller_id, AlterPartitionReassignmentsRequest(topics=[topic], timeout_ms=60_000), 0)
    await until(lambda: cluster.isr_of(OFFSETS) == set(replicas), "they are in sync")


async def elect_preferred(cluster: BrokerCluster) -> None:
    election = TopicPartitions(topic=OFFSETS.topic, partitions=[0])
    await cluster.ask(
        cluster.controller_id, ElectLeadersRequest(topic_partitions=[election], timeout_ms=60_000, election_type=0), 2
    )


async def move(cluster: BrokerCluster, *replicas: int) -> None:
    """Waits until the first broker is the coordinator and the others know it."""
    await reassign(cluster, *replicas)
    await elect_preferred(cluster)
    await until(lambda: is_coordinator(cluster[replicas[0]]), "the first has loaded its groups")
    others = [server for broker_id, server in cluster.servers.items() if broker_id != replicas[0]]
    await until(lambda: not any(is_coordinator(server) for server in others), "the others have heard of it")


async def test_no_coordinator_with_fewer_brokers_than_replicas(cluster: BrokerCluster) -> None:
    await cluster.start(1)
    assert await find(cluster, 1) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    answer = await cluster.ask(1, MetadataRequest(topics=[AskedTopic(name=OFFSETS.topic)]), 9)
    assert answer.topics[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    await cluster.start(2)
    await until(lambda: len(cluster[1]._cache.broker_ids) == 2, "the first has heard of the second")
    assert await found(cluster) in (1, 2)
    assert len((await cluster.metadata_of(1, OFFSETS)).replica_nodes) == 2


async def test_groups_stay_with_their_coordinator_when_the_offsets_topic_grows(
    cluster: BrokerCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the new number of partitions, the group would belong to the other broker."""
    monkeypatch.setattr(topic_growth, "_FIXED", {})  # as a controller that does not refuse it
    first = await begin(cluster, 1, 2)
    assert await commit(cluster, first, 5) is ErrorCode.NONE
    others = [CreatePartitionsAssignment(broker_ids=[3 - first, first])]
    more = CreatePartitionsTopic(name=OFFSETS.topic, count=2, assignments=others)
    answer = await cluster.ask(cluster.controller_id, CreatePartitionsRequest(topics=[more], timeout_ms=30_000), 3)
    assert answer.results[0].error_code == ErrorCode.NONE
    servers = cluster.servers.values()
    await until(lambda: all(each._cache.partition_count(OFFSETS.topic) == 2 for each in servers), "growth")
    for broker_id in (1, 2):
        assert await find(cluster, broker_id) == (ErrorCode.NONE, first)
    assert await committed(cluster, first) == (ErrorCode.NONE, 5)
    assert await commit(cluster, first, 6) is ErrorCode.NONE


async def test_committed_offsets_move_with_the_coordinator_and_back(cluster: BrokerCluster) -> None:
    first = await begin(cluster, 1, 2)
    second = 3 - first
    assert await commit(cluster, second, 5) is ErrorCode.NOT_COORDINATOR
    assert await commit(cluster, first, 5) is ErrorCode.NONE
    await move(cluster, second, first)
    await until(lambda: all(knows_leader(server, second) for server in cluster.servers.values()), "all know of it")
    for broker_id in (first, second):
        assert await find(cluster, broker_id) == (ErrorCode.NONE, second)
    assert await committed(cluster, first) == (ErrorCode.NOT_COORDINATOR, -1)
    assert await committed(cluster, second) == (ErrorCode.NONE, 5)
    assert await commit(cluster, second, 6) is ErrorCode.NONE
    await move(cluster, first, second)
    assert await committed(cluster, first) == (ErrorCode.NONE, 6)


async def test_former_coordinator_without_replica_forgets_its_groups(cluster: BrokerCluster) -> None:
    first = await begin(cluster, 1, 2, 3)
    others = [broker_id for broker_id in (1, 2, 3) if broker_id != first]
    assert await commit(cluster, first, 5) is ErrorCode.NONE
    await move(cluster, *others)
    await until(lambda: cluster[first]._partitions.get(OFFSETS) is None, "its log is gone")
    assert await committed(cluster, first) == (ErrorCode.NOT_COORDINATOR, -1)
    assert await committed(cluster, others[0]) == (ErrorCode.NONE, 5)
    await move(cluster, first, others[1])
    assert await committed(cluster, first) == (ErrorCode.NONE, 5)


async def test_commit_below_min_insync_replicas_gets_coordinator_not_available(cluster: BrokerCluster) -> None:
    first = await begin(cluster, 1, 2, min_insync_replicas="2")
    second = 3 - first
    assert await commit(cluster, first, 5) is ErrorCode.NONE
    await cluster.stop(second)
    await until(lambda: cluster.isr_of(OFFSETS) == {first}, "one is left")
    assert await commit(cluster, first, 6) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert await committed(cluster, first) == (ErrorCode.NONE, 5)
    await cluster.start(second, min_insync_replicas="2")
    await until(lambda: len(cluster.isr_of(OFFSETS)) == 2, "both are in sync again")
    assert await commit(cluster, first, 6) is ErrorCode.NONE


def join(client: str) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id="h",
        session_timeout_ms=600_000,
        rebalance_timeout_ms=600_000,
        protocol_type=client,
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )


async def test_waiting_requests_get_not_coordinator_when_the_coordinator_moves(cluster: BrokerCluster) -> None:
    """A join waits for a member, and a commit waits for a replica that no longer fetches."""
    first = await begin(cluster, 1, 2)
    second = 3 - first
    await reassign(cluster, second, first)
    clients = [await AsyncWireClient.connect(f"127.0.0.1:{cluster[first].endpoints[0].port}") for _ in range(3)]
    assert (await clients[0].ask(join("test"), 3)).error_code == ErrorCode.NONE
    waiting_join = asyncio.create_task(clients[1].ask(join("test"), 3))
    describe = cluster[first]._coordinators.groups.administration.describe
    await until(lambda: describe("h").state == "PreparingRebalance", "the join waits for the first member")
    links = cluster[second]._links
    assert links is not None
    links.fetchers.unfollow(OFFSETS)  # suspends the process
    end = cluster.offsets(first, OFFSETS)[1]
    waiting_commit = asyncio.create_task(clients[2].ask(commit_request(5), 7))
    await until(lambda: cluster.offsets(first, OFFSETS)[1] > end, "the leader has written it")
    assert not waiting_join.done()
    assert not waiting_commit.done()

    await elect_preferred(cluster)

    assert (await waiting_join).error_code == ErrorCode.NOT_COORDINATOR
    assert code_in(await waiting_commit) is ErrorCode.NOT_COORDINATOR
    for client in clients:
        client.close()
    await until(lambda: is_coordinator(cluster[second]), "the other has loaded the groups")
    assert await committed(cluster, second) == (ErrorCode.NONE, -1), "it was not acknowledged"
    assert await commit(cluster, second, 6) is ErrorCode.NONE
    await move(cluster, first, second)
    assert await committed(cluster, first) == (ErrorCode.NONE, 6), "nor does it come back"


async def test_groups_move_from_a_coordinator_with_a_failed_log_directory(cluster: BrokerCluster) -> None:
    roots = {broker_id: str(cluster.directory / f"{broker_id}-only") for broker_id in (1, 2)}
    for broker_id in (1, 2):
        await cluster.start(broker_id, log_dirs=f"{roots[broker_id]},{roots[broker_id]}-other")
    first = await begin(cluster)
    second = 3 - first
    assert await commit(cluster, first, 5) is ErrorCode.NONE
    path = cluster.hosted(first, OFFSETS).log.directory
    directories = cluster[first]._logs.directories
    lost = next(each for each in directories.online() if path.startswith(f"{each.path}/"))
    directories.failed(lost, "test", OSError(5, "EIO"))
    await until(lambda: not is_coordinator(cluster[first]), "it has noticed")
    assert await committed(cluster, first) == (ErrorCode.NOT_COORDINATOR, -1)
    await until(lambda: is_coordinator(cluster[second]), "the other has loaded the groups")
    assert await committed(cluster, second) == (ErrorCode.NONE, 5)


async def test_groups_work_after_the_offsets_topic_is_deleted_and_created_again(cluster: BrokerCluster) -> None:
    first = await begin(cluster, 1, 2)
    await move(cluster, 3 - first, first)  # its leader epoch is no longer the first
    assert await commit(cluster, 3 - first, 5) is ErrorCode.NONE
    deletion = DeleteTopicsRequest(topics=[DeleteTopicState(name=OFFSETS.topic)], timeout_ms=600_000)
    answer = await cluster.ask(cluster.controller_id, deletion, 6)
    assert answer.responses[0].error_code == ErrorCode.NONE
    await until(lambda: not any(map(is_coordinator, cluster.servers.values())), "all have heard of it")
    coordinator = await begin(cluster)
    assert await committed(cluster, coordinator) == (ErrorCode.NONE, -1)
    assert await commit(cluster, coordinator, 1) is ErrorCode.NONE
    await move(cluster, 3 - coordinator, coordinator)
    assert await committed(cluster, 3 - coordinator) == (ErrorCode.NONE, 1)

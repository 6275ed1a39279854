"""Faults and acts on a cluster whose brokers run on threads."""

from collections.abc import Iterator

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic
from pybroker import Cluster
from pybroker.broker.library.cluster.blocking_cluster import BlockingCluster
from pybroker.broker.test_kit.act_error import ActError
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from support.clients.wire_client import WireClient
from support.load.request_of_each_api import plain_request


@pytest.fixture(scope="module")
def cluster() -> Iterator[BlockingCluster]:
    with Cluster(3, {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}) as cluster:
        admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
        admin.create_topics([NewTopic("t", 1, 3)])
        admin.close()
        yield cluster


def leader_of(cluster: BlockingCluster, topic: str) -> int:
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    try:
        (described,) = admin.describe_topics([topic])
        return int(described["partitions"][0]["leader_id"])
    finally:
        admin.close()


def test_leader_moves_to_each_broker_in_turn(cluster: BlockingCluster) -> None:
    for broker in cluster.broker_ids:
        cluster.acts.move_leader("t", 0, broker)
        assert leader_of(cluster, "t") == broker


def test_coordinator_moves_to_another_broker(cluster: BlockingCluster) -> None:
    first = cluster.acts.move_coordinator("g")
    assert leader_of(cluster, "__consumer_offsets") == first
    second = cluster.acts.move_coordinator("g")
    assert second != first
    assert leader_of(cluster, "__consumer_offsets") == second


def test_fault_of_a_cluster_is_counted_over_all_brokers(cluster: BlockingCluster) -> None:
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, retries=100, retry_backoff_ms=20)
    try:
        with cluster.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic="t", times=3) as fault:
            for broker in cluster.broker_ids:
                cluster.acts.move_leader("t", 0, broker)
                producer.send("t", b"value", partition=0).get(30)
        assert fault.fired == 3
    finally:
        producer.close()


def test_transaction_is_left_open_where_coordinator_and_leader_are_different_brokers(
    cluster: BlockingCluster,
) -> None:
    coordinators: set[int] = set()
    for number in range(3):
        transactional_id = f"open-{number}"
        cluster.acts.leave_open(transactional_id, "t")
        coordinator = leader_of(cluster, "__transaction_state")
        coordinators.add(coordinator)
        cluster.acts.move_leader("t", 0, 1 + coordinator % 3)
        assert stable_offset(cluster) < end_of_log(cluster)
        left = cluster.acts.leave_open(f"beside-{number}", "t")
        assert left["offset"] == end_of_log(cluster) - 1
        for each in (transactional_id, f"beside-{number}"):
            cluster.acts.fence(each)
        assert stable_offset(cluster) == end_of_log(cluster)
        cluster.acts.move_leader("__transaction_state", 0, 1 + coordinator % 3)
    assert len(coordinators) == 3


def end_of_log(cluster: BlockingCluster, isolation_level: int = 0) -> int:
    partitions = [{"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}]
    topics = [{"name": "t", "partitions": partitions}]
    request = plain_request(ApiKey.LIST_OFFSETS, replica_id=-1, isolation_level=isolation_level, topics=topics)
    with WireClient(cluster.bootstrap_server(leader_of(cluster, "t")), 20) as client:
        while True:
            found = client.ask(request, 5).topics[0].partitions[0]
            if found.error_code != ErrorCode.OFFSET_NOT_AVAILABLE:  # a new leader does not know the offset yet
                break
    assert found.error_code == 0
    return int(found.offset)


def stable_offset(cluster: BlockingCluster) -> int:
    return end_of_log(cluster, isolation_level=1)


@pytest.mark.long
def test_compaction_of_a_cluster_reaches_the_leader(cluster: BlockingCluster) -> None:
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    admin.create_topics([NewTopic("kept", 1, 3, topic_configs={"cleanup.policy": "compact"})])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all", batch_size=0)
    for value in (b"1", b"2", b"3"):
        producer.send("kept", value, b"key").get(30)
    producer.close()
    cluster.acts.compact("kept")
    consumer = KafkaConsumer(
        "kept", bootstrap_servers=cluster.bootstrap_servers, auto_offset_reset="earliest", consumer_timeout_ms=20_000
    )
    assert next(consumer).value == b"3"
    consumer.close()


def test_fault_of_one_broker_does_not_fire_on_another(cluster: BlockingCluster) -> None:
    with cluster.brokers[2].faults.error("ApiVersions", "NOT_CONTROLLER", client="wire") as fault:
        codes = []
        for broker in cluster.broker_ids:
            with WireClient(cluster.bootstrap_server(broker), 20) as client:
                codes.append(client.ask(plain_request(ApiKey.API_VERSIONS), 0).error_code)
    assert codes == [0, ErrorCode.NOT_CONTROLLER, 0]
    assert fault.fired == 1


def test_fault_on_every_api_leaves_the_brokers_to_one_another(cluster: BlockingCluster) -> None:
    with cluster.faults.hang("*"):
        for broker in cluster.broker_ids:
            cluster.acts.move_leader("t", 0, broker)
    assert leader_of(cluster, "t") == cluster.broker_ids[-1]


def test_session_expires_and_the_broker_registers_again(cluster: BlockingCluster) -> None:
    cluster.acts.expire_session(2)
    cluster.acts.expire_session(2)
    cluster.acts.move_leader("t", 0, 1)


def test_acts_that_no_broker_can_do_are_refused(cluster: BlockingCluster) -> None:
    with pytest.raises(ActError, match="there is no topic"):
        cluster.acts.move_leader("missing", 0, 1)
    with pytest.raises(ValueError, match="the cluster has no broker 9"):
        cluster.acts.disk(9)

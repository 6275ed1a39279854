"""Tests of replication between whole brokers over real sockets, with their real controller."""

from dataclasses import replace
from pathlib import Path

from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.inter_broker.cluster_links import ClusterLinks
from pybroker.broker.inter_broker.remote_leader import FetchSettings, RemoteLeader
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from pybroker.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pybroker.protocol.messages.init_producer_id import InitProducerIdRequest
from pybroker.protocol.messages.metadata import MetadataRequest
from pybroker.protocol.messages.metadata import MetadataRequestTopic as AskedTopic
from pybroker.replication.follower.fetcher import Fetcher
from support.in_process.broker_cluster import BrokerCluster, until
from support.in_process.replicas import offsets_and_values

TP = TopicPartition("orders", 0)
BROKER = 4
SET = 0


async def test_record_with_acks_all_is_on_all_replicas(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2, 3)
    await cluster.create_topic("orders", [2, 1, 3])
    await until(lambda: cluster.leader_of(TP) == 2, "broker 2 leads")
    for number in range(10):
        assert await cluster.produce(2, TP, b"%d" % number) == (ErrorCode.NONE, number)
    for broker_id in (1, 2, 3):
        assert cluster.offsets(broker_id, TP)[1] == 10
    assert cluster.isr_of(TP) == {1, 2, 3}
    await until(lambda: cluster.offsets(1, TP) == cluster.offsets(3, TP) == (10, 10), "the HW is known everywhere")


async def test_returning_follower_catches_up_and_rejoins_the_isr(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2)
    await cluster.create_topic("orders", [1, 2])
    await until(lambda: cluster.leader_of(TP) == 1, "broker 1 leads")
    await cluster.produce(1, TP, b"before")
    await cluster.stop(2)
    await until(lambda: cluster.isr_of(TP) == {1}, "the controller takes broker 2 out")
    assert await cluster.produce(1, TP, b"alone") == (ErrorCode.NONE, 1)
    await cluster.start(2)
    await until(lambda: cluster.isr_of(TP) == {1, 2}, "broker 2 is in sync")
    assert cluster.offsets(2, TP)[1] == 2
    assert await cluster.produce(1, TP, b"both") == (ErrorCode.NONE, 2)
    assert cluster.offsets(2, TP)[1] == 3


async def test_crashed_leader_is_replaced_and_follows_when_it_returns(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2, 3)
    await cluster.create_topic("orders", [3, 2], min_insync_replicas="1")
    await until(lambda: cluster.leader_of(TP) == 3, "broker 3 leads")
    assert await cluster.produce(3, TP, b"a") == (ErrorCode.NONE, 0)
    await cluster.kill(3)
    cluster.expire(3)
    await until(lambda: cluster.leader_of(TP) == 2, "broker 2 leads")
    assert await cluster.produce(2, TP, b"b") == (ErrorCode.NONE, 1)
    await cluster.start(3)
    await until(lambda: cluster.isr_of(TP) == {2, 3}, "broker 3 is in sync")
    assert cluster.offsets(3, TP)[1] == 2


async def test_hanging_follower_is_removed_from_the_isr_by_the_leader(tmp_path: Path) -> None:
    cluster = BrokerCluster(tmp_path, {"replica.lag.time.max.ms": "1000", "replica.fetch.wait.max.ms": "100"})
    await cluster.start(1, 2)
    await cluster.create_topic("orders", [1, 2], min_insync_replicas="1")
    await until(lambda: cluster.isr_of(TP) == {1, 2} and cluster.follows(2, TP), "both are in sync")
    links = cluster[2]._links
    assert links is not None
    hosted = cluster.hosted(2, TP)
    links.fetchers.unfollow(TP)  # suspends the process: it stays registered but does not fetch
    acknowledged = await cluster.produce(1, TP, b"a")
    assert acknowledged == (ErrorCode.NONE, 0)
    assert cluster.isr_of(TP) == {1}
    links.fetchers.follow(hosted, 1)
    await until(lambda: cluster.isr_of(TP) == {1, 2}, "it is in sync again")
    await cluster.close()


async def test_stopping_broker_hands_over_its_leaderships_first(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2)
    await cluster.create_topic("orders", [2, 1])
    await until(lambda: cluster.leader_of(TP) == 2, "broker 2 leads")
    await cluster.produce(2, TP, b"a")
    controller, leader_when_it_left = cluster[1]._metadata.controller, []
    links = cluster[2]._links
    assert links is not None
    leave = links.leave

    async def watched() -> None:
        await leave()
        leadership = controller.context.leadership(TP)
        assert leadership is not None
        leader_when_it_left.append(leadership.leader_and_isr.leader)

    cluster[2].open_parts._parts[-1] = replace(cluster[2].open_parts._parts[-1], close=watched)
    await cluster.stop(2)
    assert leader_when_it_left == [1]
    await until(lambda: cluster.leader_of(TP) == 1, "broker 1 has heard of it")
    assert await cluster.produce(1, TP, b"b") == (ErrorCode.NONE, 1)


async def test_acks_all_is_refused_below_min_insync_replicas(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2)
    await cluster.create_topic("orders", [1, 2], min_insync_replicas="2")
    await until(lambda: cluster.isr_of(TP) == {1, 2}, "both are in sync")
    assert await cluster.produce(1, TP, b"a") == (ErrorCode.NONE, 0)
    await cluster.stop(2)
    await until(lambda: cluster.isr_of(TP) == {1}, "one is left")
    assert (await cluster.produce(1, TP, b"b"))[0] is ErrorCode.NOT_ENOUGH_REPLICAS
    assert await cluster.produce(1, TP, b"c", acks=1) == (ErrorCode.NONE, 1)
    assert cluster.offsets(1, TP) == (1, 2)  # not committed
    await cluster.start(2)
    await until(lambda: cluster.offsets(1, TP) == (2, 2), "both have it")


async def test_brokers_other_than_the_controller_create_topics_and_assign_producer_ids(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2, offsets_topic_replication_factor="2", default_replication_factor="2")
    other = 3 - cluster.controller_id
    answer = await cluster.ask(other, MetadataRequest(topics=[AskedTopic(name="orders")]), 12)
    assert answer.topics[0].error_code == ErrorCode.LEADER_NOT_AVAILABLE
    await until(lambda: cluster[other]._cache.has_partition(*TP), "the topic is made, and it is told of it")
    assert len((await cluster.metadata_of(other, TP)).replica_nodes) == 2
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
    ids = [(await cluster.ask(broker_id, request, 4)).producer_id for broker_id in (1, 2, 1, 2)]
    assert len(set(ids)) == 4
    assert sorted(each // 1000 for each in ids) in ([0, 0, 1, 1], [1, 1, 2, 2])


async def test_consumer_is_redirected_to_the_follower_in_its_rack_and_reads_there(cluster: BrokerCluster) -> None:
    by_rack = {"replica_selector_class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
    await cluster.start(1, broker_rack="a", **by_rack)
    await cluster.start(2, broker_rack="b", **by_rack)
    await cluster.create_topic("orders", [1, 2])
    await until(lambda: cluster.isr_of(TP) == {1, 2}, "both are in sync")
    await cluster.produce(1, TP, b"a", b"b")

    async def fetch(broker_id: int, rack: str) -> PartitionData:
        partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0, topics=[FetchTopic(topic="orders", partitions=[partition])], rack_id=rack, session_epoch=-1
        )
        response = await cluster.ask(broker_id, request, 12)
        data: PartitionData = response.responses[0].partitions[0]
        return data

    sent_on = await fetch(1, "b")
    assert (sent_on.preferred_read_replica, sent_on.records) == (2, b"")
    for rack in ("a", "c", ""):
        here = await fetch(1, rack)
        assert here.preferred_read_replica == -1
        assert offsets_and_values(here.records) == [(0, b"a"), (1, b"b")]
    await until(lambda: cluster.offsets(2, TP) == (2, 2), "the follower knows that they are committed")
    there = await fetch(2, "b")
    assert there.preferred_read_replica == -1
    assert offsets_and_values(there.records) == [(0, b"a"), (1, b"b")]


async def test_throttled_follower_catches_up_when_the_throttle_is_removed(tmp_path: Path) -> None:
    """The follower is throttled on its own side, and only because it is out of sync. One batch exceeds its quota of an
    hour.
    """
    hour = {"replication.quota.window.num": "2", "replication.quota.window.size.seconds": "3600"}
    cluster = BrokerCluster(tmp_path, {**hour, "replica.fetch.max.bytes": "1000"})
    try:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [1, 2], follower_replication_throttled_replicas="*")
        await until(lambda: cluster.isr_of(TP) == {1, 2}, "both are in sync")
        await cluster.stop(2)
        for _ in range(5):
            await cluster.produce(1, TP, b"x" * 1000, acks=1)
        await set_for_all_brokers(cluster, "follower.replication.throttled.rate", "0")
        await cluster.start(2)
        links = cluster[2]._links
        assert links is not None
        await until(lambda: links._is_held_back(TP), "it has had too much")
        await until(lambda: TP not in only_fetcher_of(links)._wanted, "it asks for no more")
        assert cluster.offsets(2, TP)[1] == 1
        assert cluster.isr_of(TP) == {1}
        await set_for_all_brokers(cluster, "follower.replication.throttled.rate", "1000000")
        await until(lambda: cluster.isr_of(TP) == {1, 2}, "it is in sync again")
        assert cluster.offsets(2, TP)[1] == 5
    finally:
        await cluster.close()


async def set_for_all_brokers(cluster: BrokerCluster, name: str, value: str) -> None:
    change = AlterableConfig(name=name, config_operation=SET, value=value)
    resource = AlterConfigsResource(resource_type=BROKER, resource_name="", configs=[change])
    answer = await cluster.ask(1, IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert answer.responses[0].error_code == ErrorCode.NONE, answer


def only_fetcher_of(links: ClusterLinks) -> Fetcher:
    (fetcher,) = links.fetchers._fetchers.values()
    assert isinstance(fetcher, Fetcher)
    return fetcher


async def test_replica_fetchers_follow_their_settings(tmp_path: Path) -> None:
    """The fetch requests are inspected, because a leader's responses do not show the settings reliably."""
    settings = {
        "replica.fetch.wait.max.ms": "101",
        "replica.fetch.min.bytes": "102",
        "replica.fetch.response.max.bytes": "103",
        "replica.fetch.max.bytes": "104",
        "replica.socket.timeout.ms": "10500",
        "replica.fetch.backoff.ms": "106",
        "num.replica.fetchers": "2",
    }
    cluster = BrokerCluster(tmp_path, settings)
    try:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [1, 2], [1, 2])
        second = TopicPartition("orders", 1)
        await until(lambda: cluster.follows(2, TP) and cluster.follows(2, second), "broker 2 follows")
        links = cluster[2]._links
        assert links is not None
        assert sorted(links.fetchers._fetchers) == [(1, 0), (1, 1)]
        for fetcher in links.fetchers._fetchers.values():
            assert isinstance(fetcher, Fetcher)
            assert isinstance(fetcher._leader, RemoteLeader)
            assert fetcher._leader._settings == FetchSettings(
                max_wait_ms=101, min_bytes=102, response_max_bytes=103, partition_max_bytes=104, timeout_ms=10500
            )
            assert fetcher._backoff_ms == 106
    finally:
        await cluster.close()


async def test_delete_records_is_answered_after_followers_have_deleted_too(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2)
    await cluster.create_topic("orders", [1, 2])
    await until(lambda: cluster.isr_of(TP) == {1, 2}, "both are in sync")
    for number in range(3):
        await cluster.produce(1, TP, b"%d" % number)
    await until(lambda: cluster.offsets(2, TP) == (3, 3), "the follower has them")
    partition = DeleteRecordsPartition(partition_index=0, offset=2)
    topic = DeleteRecordsTopic(name="orders", partitions=[partition])
    answer = await cluster.ask(1, DeleteRecordsRequest(topics=[topic], timeout_ms=60_000), 2)
    result = answer.topics[0].partitions[0]
    assert (result.error_code, result.low_watermark) == (ErrorCode.NONE, 2)
    assert cluster.hosted(2, TP).log.log_start_offset == 2


async def test_leader_with_a_failed_log_directory_is_replaced(cluster: BrokerCluster) -> None:
    second = str(cluster.directory / "second")
    await cluster.start(1, log_dirs=f"{cluster.directory / 'first'},{second}")
    await cluster.start(2)
    await cluster.create_topic("orders", [1, 2], [1, 2])
    both = [TP, TopicPartition("orders", 1)]
    for each in both:
        await until(lambda each=each: cluster.isr_of(each) == {1, 2}, "both are in sync")  # type: ignore[misc]
        assert await cluster.produce(1, each, b"a") == (ErrorCode.NONE, 0)
    lost = next(each for each in both if cluster.hosted(1, each).log.directory.startswith(second))
    kept = next(each for each in both if each != lost)
    directories = cluster[1]._logs.directories
    directories.failed(next(each for each in directories.online() if each.path == second), "test", OSError(5, "EIO"))
    await until(lambda: cluster.leader_of(lost) == 2, "broker 2 leads what was lost")
    assert cluster.leader_of(kept) == 1
    assert await cluster.produce(2, lost, b"b") == (ErrorCode.NONE, 1)
    assert (await cluster.produce(1, lost, b"c", acks=1))[0] is ErrorCode.KAFKA_STORAGE_ERROR

"""Tests of the reader's view of a cluster, against a real broker."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ConfluentPartition
from pybroker.base.topic_partition import TopicPartition
from pybroker.client.cluster import NO_OFFSET, Cluster
from pybroker.pipeline.options.kafka_settings import reader_settings
from pybroker.protocol.errors import UnknownTopicOrPartitionError
from pybroker.protocol.sentinels import EARLIEST, LATEST
from support.clients.produced import START_MS, numbered, produce
from support.clients.topics import create_topic
from support.processes.broker_process import BrokerProcess
from support.processes.ports import free_port


@pytest.fixture
def cluster(servers: str) -> Iterator[Cluster]:
    with Cluster(reader_settings({"bootstrap.servers": servers})) as cluster:
        yield cluster


def test_partitions_of_existing_topics_are_listed(cluster: Cluster, servers: str, topic: str) -> None:
    create_topic(servers, topic, 3)
    assert cluster.partitions([topic, "nonsense"]) == [TopicPartition(topic, number) for number in range(3)]
    assert cluster.partitions(["nonsense"]) == []


def test_missing_topics_are_named_if_all_are_required(servers: str, topic: str) -> None:
    create_topic(servers, topic, 2)
    with Cluster(reader_settings({"bootstrap.servers": servers}), retry_ms=0) as cluster:
        assert cluster.partitions_of_all([topic]) == [TopicPartition(topic, number) for number in range(2)]
        with pytest.raises(UnknownTopicOrPartitionError, match="there is no topic nonsense, other"):
            cluster.partitions_of_all(["other", topic, "nonsense"])


def test_topic_names_exclude_internal_topics(cluster: Cluster, servers: str, topic: str) -> None:
    create_topic(servers, topic, 1)
    cluster.commit(f"group-of-{topic}", {TopicPartition(topic, 0): 0})
    assert cluster.partitions(["__consumer_offsets"]), "it is there"
    names = cluster.topic_names()
    assert topic in names
    assert "__consumer_offsets" not in names


def test_offsets_are_found_by_end_and_by_timestamp(cluster: Cluster, servers: str, topic: str) -> None:
    create_topic(servers, topic, 2)
    produce(servers, numbered(topic, [0, 1], 20))
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert cluster.offsets({first: EARLIEST, second: LATEST}) == {first: 0, second: 10}
    assert cluster.offsets({first: START_MS + 10, second: START_MS + 1000}) == {first: 5, second: NO_OFFSET}


def test_commit_stores_offsets_in_a_group(cluster: Cluster, servers: str, topic: str) -> None:
    create_topic(servers, topic, 2)
    group = f"group-of-{topic}"
    cluster.commit(group, {TopicPartition(topic, 0): 7, TopicPartition(topic, 1): 9})
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    found = consumer.committed([ConfluentPartition(topic, 0), ConfluentPartition(topic, 1)])
    consumer.close()
    assert [each.offset for each in found] == [7, 9]


def test_request_for_missing_partition_is_given_up(servers: str, topic: str) -> None:
    with (
        Cluster(reader_settings({"bootstrap.servers": servers}), retry_ms=0) as cluster,
        pytest.raises(UnknownTopicOrPartitionError, match=f"{topic}-0"),
    ):
        cluster.offsets({TopicPartition(topic, 0): LATEST})


def test_cluster_reconnects_to_a_restarted_broker(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as broker:
        create_topic(broker.bootstrap_servers, "t", 1)
        settings = reader_settings({"bootstrap.servers": broker.bootstrap_servers})
        with Cluster(settings, first_ms=0) as cluster:  # limits only the first connection
            at = TopicPartition("t", 0)
            assert cluster.offsets({at: LATEST}) == {at: 0}
            broker.kill()
            broker.start()
            assert cluster.offsets({at: LATEST}) == {at: 0}
            assert cluster.partitions(["t"]) == [at]


def test_request_follows_the_partition_to_its_new_leader(cluster: Cluster, servers: str, topic: str) -> None:
    create_topic(servers, topic, 2)
    places = [TopicPartition(topic, number) for number in range(2)]
    assert cluster.partitions([topic]) == places
    cluster._leaders[places[1]] = 99
    cluster._addresses[99] = ("127.0.0.1", free_port())
    assert cluster.offsets(dict.fromkeys(places, LATEST)) == dict.fromkeys(places, 0)


@pytest.mark.parametrize("limits", [{"retry_ms": 0}, {"retry_ms": 10**9, "first_ms": 0}])
def test_unreachable_bootstrap_server_raises_connection_error(topic: str, limits: dict[str, int]) -> None:
    settings = reader_settings({"bootstrap.servers": "127.0.0.1:1"})
    with (
        Cluster(settings, **limits) as cluster,
        pytest.raises(ConnectionError, match=r"no connection to 127\.0\.0\.1:1"),
    ):
        cluster.partitions([topic])

"""What a reader asks of a cluster, of a real broker."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ConfluentPartition
from pybroker.base.topic_partition import TopicPartition
from pybroker.pipeline.client.cluster import NO_OFFSET, Cluster
from pybroker.pipeline.options.kafka_settings import reader_settings
from pybroker.pipeline.options.offset_limits import EARLIEST, LATEST
from pybroker.protocol.errors import UnknownTopicOrPartitionError
from support.clients.produced import START_MS, numbered, produce
from support.clients.topics import create_topic
from support.processes.broker_process import BrokerProcess
from support.processes.ports import free_port


@pytest.fixture
def cluster(servers: str) -> Iterator[Cluster]:
    with Cluster(reader_settings({"bootstrap.servers": servers})) as cluster:
        yield cluster


def test_the_partitions_of_topics_that_exist(cluster: Cluster, servers: str, topic: str) -> None:
    create_topic(servers, topic, 3)
    assert cluster.partitions([topic, "nonsense"]) == [TopicPartition(topic, number) for number in range(3)]
    assert cluster.partitions(["nonsense"]) == []


def test_topics_that_do_not_exist_are_named_to_whoever_needs_them_all(servers: str, topic: str) -> None:
    create_topic(servers, topic, 2)
    with Cluster(reader_settings({"bootstrap.servers": servers}), retry_ms=0) as cluster:
        assert cluster.partitions_of_all([topic]) == [TopicPartition(topic, number) for number in range(2)]
        with pytest.raises(UnknownTopicOrPartitionError, match="there is no topic nonsense, other"):
            cluster.partitions_of_all(["other", topic, "nonsense"])


def test_internal_topics_are_not_among_the_names(cluster: Cluster, servers: str, topic: str) -> None:
    create_topic(servers, topic, 1)
    cluster.commit(f"group-of-{topic}", {TopicPartition(topic, 0): 0})
    assert cluster.partitions(["__consumer_offsets"]), "it is there"
    names = cluster.topic_names()
    assert topic in names
    assert "__consumer_offsets" not in names


def test_offsets_of_ends_and_times(cluster: Cluster, servers: str, topic: str) -> None:
    create_topic(servers, topic, 2)
    produce(servers, numbered(topic, [0, 1], 20))
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert cluster.offsets({first: EARLIEST, second: LATEST}) == {first: 0, second: 10}
    assert cluster.offsets({first: START_MS + 10, second: START_MS + 1000}) == {first: 5, second: NO_OFFSET}


def test_offsets_are_stored_in_a_group(cluster: Cluster, servers: str, topic: str) -> None:
    create_topic(servers, topic, 2)
    group = f"group-of-{topic}"
    cluster.commit(group, {TopicPartition(topic, 0): 7, TopicPartition(topic, 1): 9})
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    found = consumer.committed([ConfluentPartition(topic, 0), ConfluentPartition(topic, 1)])
    consumer.close()
    assert [each.offset for each in found] == [7, 9]


def test_a_partition_that_does_not_exist_is_given_up(servers: str, topic: str) -> None:
    with (
        Cluster(reader_settings({"bootstrap.servers": servers}), retry_ms=0) as cluster,
        pytest.raises(UnknownTopicOrPartitionError, match=f"{topic}-0"),
    ):
        cluster.offsets({TopicPartition(topic, 0): LATEST})


def test_a_broker_that_was_killed_is_found_again(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as broker:
        create_topic(broker.bootstrap_servers, "t", 1)
        with Cluster(reader_settings({"bootstrap.servers": broker.bootstrap_servers})) as cluster:
            at = TopicPartition("t", 0)
            assert cluster.offsets({at: LATEST}) == {at: 0}
            broker.kill()
            broker.start()
            assert cluster.offsets({at: LATEST}) == {at: 0}
            assert cluster.partitions(["t"]) == [at]


def test_a_partition_whose_leader_is_gone_is_asked_of_the_next_one(cluster: Cluster, servers: str, topic: str) -> None:
    create_topic(servers, topic, 2)
    places = [TopicPartition(topic, number) for number in range(2)]
    assert cluster.partitions([topic]) == places
    cluster._leaders[places[1]] = 99
    cluster._addresses[99] = ("127.0.0.1", free_port())
    assert cluster.offsets(dict.fromkeys(places, LATEST)) == dict.fromkeys(places, 0)


def test_nobody_at_the_address(topic: str) -> None:
    settings = reader_settings({"bootstrap.servers": "127.0.0.1:1"})
    with (
        Cluster(settings, retry_ms=0) as cluster,
        pytest.raises(ConnectionError, match=r"no connection to 127\.0\.0\.1:1"),
    ):
        cluster.partitions([topic])

"""Tests with topic creation and deletion switched off, and of legal and illegal topic names."""

from collections.abc import Iterator, Mapping

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka.cimpl import NewTopic as ConfluentTopic
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic
from kafka.errors import (
    InvalidTopicError,
    KafkaTimeoutError,
    TopicAlreadyExistsError,
    TopicDeletionDisabledError,
    UnknownTopicOrPartitionError,
)
from support.clients.kafka_tools import TOOLS, run_tool
from support.clients.topics import admin_client, create_topic
from support.processes.broker_or_kafka import StartedBroker, broker_or_kafka, complaints

SETTINGS = {"auto.create.topics.enable": "false", "delete.topic.enable": "false"}
LONGEST = 249


@pytest.fixture(scope="module")
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedBroker]:
    with broker_or_kafka(request.config, tmp_path_factory.mktemp("switches"), SETTINGS) as started:
        yield started
        assert not complaints(started)


@pytest.fixture
def admin(servers: str) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=servers)
    yield client
    client.close()


def topics(servers: str, *arguments: str, expected: int = 0) -> str:
    """Returns the output of `kafka-topics`."""
    return run_tool(f"{TOOLS}.TopicCommand", "--bootstrap-server", servers, *arguments, expected=expected)


def refusal(topic: str, settings: Mapping[str, object]) -> str:
    """Returns librdkafka's error for an undeliverable record."""
    errors: list[str] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        assert error is not None
        errors.append(error.name())

    producer = Producer(dict(settings))
    producer.produce(topic, "x", on_delivery=delivered)
    producer.flush()
    (error,) = errors
    return error


def partitions_seen(consumer: KafkaConsumer, topic: str) -> set[int]:
    """Returns the partitions that kafka-python sees, or None. It either knows none or raises, because its periodic
    request for the subscribed topic may be answered together with the one for all topics.
    """
    try:
        return consumer.partitions_for_topic(topic) or set()
    except UnknownTopicOrPartitionError:
        return set()


# -- auto.create.topics.enable=false


def test_kafka_python_creates_no_topic_when_auto_create_is_off(
    admin: KafkaAdminClient, servers: str, topic: str, group: str
) -> None:
    producer = KafkaProducer(bootstrap_servers=servers, max_block_ms=500)
    with pytest.raises(KafkaTimeoutError):
        producer.send(topic, b"x").get()
    producer.close()
    consumer = KafkaConsumer(topic, bootstrap_servers=servers, group_id=group)
    assert consumer.poll(timeout_ms=1000) == {}
    assert not partitions_seen(consumer, topic)
    consumer.close()
    assert topic not in admin.list_topics()


def test_confluent_kafka_creates_no_topic_when_auto_create_is_off(
    admin: KafkaAdminClient, servers: str, topic: str, group: str
) -> None:
    patience: dict[str, object] = {"bootstrap.servers": servers, "topic.metadata.propagation.max.ms": 0}
    assert refusal(topic, patience) in ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC")
    consumer = Consumer({**patience, "group.id": group, "allow.auto.create.topics": True})
    consumer.subscribe([topic])
    while (message := consumer.poll(1)) is None:
        pass
    error = message.error()
    consumer.close()
    assert error is not None
    assert error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert topic not in admin.list_topics()


def test_waiting_clients_find_the_topic_once_it_is_created(servers: str, topic: str, group: str) -> None:
    consumer = KafkaConsumer(
        topic, bootstrap_servers=servers, group_id=group, auto_offset_reset="earliest", metadata_max_age_ms=200
    )
    consumer.poll(timeout_ms=1000)
    create_topic(servers, topic, 1)
    producer = KafkaProducer(bootstrap_servers=servers)
    assert producer.send(topic, b"x").get().offset == 0
    producer.close()
    while not consumer.poll(timeout_ms=1000):
        pass
    consumer.close()


# -- delete.topic.enable=false


def test_no_client_can_delete_a_topic_when_deletion_is_off(admin: KafkaAdminClient, servers: str, topic: str) -> None:
    create_topic(servers, topic, 1)
    with pytest.raises(TopicDeletionDisabledError):
        admin.delete_topics([topic])
    other = admin_client(servers)
    with pytest.raises(KafkaException) as caught:
        other.delete_topics([topic])[topic].result()
    assert caught.value.args[0].code() == KafkaError.TOPIC_DELETION_DISABLED
    refused = topics(servers, "--delete", "--topic", topic, expected=1)
    assert "Topic deletion is disabled." in refused
    assert topic in topics(servers, "--list").split()
    producer = KafkaProducer(bootstrap_servers=servers)
    assert producer.send(topic, b"x").get().offset == 0
    producer.close()


# -- names


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "a,b", "café", "a" * (LONGEST + 1)])
def test_illegal_topic_names_are_refused(admin: KafkaAdminClient, servers: str, name: str) -> None:
    before = set(admin.list_topics())
    with pytest.raises(InvalidTopicError):
        admin.create_topics([NewTopic(name, 1, 1)])
    if name:  # librdkafka itself refuses the empty name
        other = admin_client(servers)
        with pytest.raises(KafkaException) as caught:
            other.create_topics([ConfluentTopic(name, 1, 1)])[name].result()
        assert caught.value.args[0].code() == KafkaError.TOPIC_EXCEPTION
    assert set(admin.list_topics()) == before


def test_legal_topic_names_of_every_kind_are_accepted(admin: KafkaAdminClient, servers: str) -> None:
    names = ["a" * LONGEST, "...", "-", "Az09._-", "_", "__almost_internal"]
    admin.create_topics([NewTopic(name, 1, 1) for name in names])
    producer = KafkaProducer(bootstrap_servers=servers)
    assert [producer.send(name, b"x").get().offset for name in names] == [0] * len(names)
    producer.close()
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([NewTopic("-", 1, 1)])


def test_topic_names_that_differ_only_in_dots_and_underscores_collide(
    admin: KafkaAdminClient, servers: str, topic: str
) -> None:
    create_topic(servers, f"{topic}.of.dots", 1)
    for other in ("_of_dots", ".of_dots", "_of.dots"):
        with pytest.raises(InvalidTopicError):
            admin.create_topics([NewTopic(f"{topic}{other}", 1, 1)])
    refused = topics(servers, "--create", "--topic", f"{topic}_of.dots", expected=1)
    assert f"Topic '{topic}_of.dots' collides with existing topics: {topic}.of.dots" in refused
    assert topics(servers, "--create", "--topic", f"{topic}-of-dots").endswith(f"Created topic {topic}-of-dots.")


def test_internal_topics_are_marked_and_clients_can_not_write_to_them(
    admin: KafkaAdminClient, servers: str, topic: str, group: str
) -> None:
    create_topic(servers, topic, 1)
    consumer = KafkaConsumer(topic, bootstrap_servers=servers, group_id=group)
    consumer.poll(timeout_ms=1000)
    consumer.commit()
    consumer.close()
    (described,) = admin.describe_topics(["__consumer_offsets"])
    assert described["is_internal"]
    assert "__consumer_offsets" in topics(servers, "--list").split()
    listed = topics(servers, "--list", "--exclude-internal").split()
    assert topic in listed
    assert "__consumer_offsets" not in listed
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([NewTopic("__consumer_offsets", 1, 1)])
    assert refusal("__consumer_offsets", {"bootstrap.servers": servers}) == "TOPIC_EXCEPTION"

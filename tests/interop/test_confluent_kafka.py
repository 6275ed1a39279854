"""Tests with confluent-kafka, the client on librdkafka."""

import logging

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.cimpl import NewTopic
from support.clients.topics import admin_client
from support.processes.started_broker import StartBroker

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def produce(servers: str, topic: str, amount: int, **options: object) -> list[int]:
    offsets: list[int] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        offset = message.offset()
        assert offset is not None
        offsets.append(offset)

    producer = Producer({"bootstrap.servers": servers, **options})
    for n in range(amount):
        producer.produce(topic, f"value {n}", f"key {n}", partition=0, on_delivery=delivered, headers=[("n", str(n))])
        producer.poll(0)
    assert producer.flush(60) == 0
    return offsets


def consume(consumer: Consumer, amount: int) -> list[Message]:
    messages: list[Message] = []
    while len(messages) < amount:
        message = consumer.poll(1)
        if message is None:
            continue
        error = message.error()
        # The first request returns an error while the topic is being created; the next finds it.
        if error is not None and error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            continue
        assert error is None, error
        messages.append(message)
    return messages


class LogLines(logging.Handler):
    """A log handler that keeps its lines."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(record.getMessage())


@pytest.mark.parametrize("codec", CODECS)
def test_confluent_kafka_reads_records_of_its_idempotent_producer(
    servers: str, topic: str, group: str, codec: str
) -> None:
    options = {"enable.idempotence": True, "compression.type": codec, "linger.ms": 5}
    assert produce(servers, topic, 2000, **options) == list(range(2000))
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    messages = consume(consumer, 2000)
    consumer.close()
    assert [message.value() for message in messages] == [f"value {n}".encode() for n in range(2000)]
    assert messages[7].headers() == [("n", b"7")]


def test_confluent_kafka_group_resumes_after_its_commit(servers: str, topic: str, group: str) -> None:
    produce(servers, topic, 100)
    options = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
    first = Consumer({**options, "enable.auto.commit": False})
    first.subscribe([topic])
    messages = consume(first, 30)
    first.commit(message=messages[-1], asynchronous=False)
    first.close()
    second = Consumer(options)
    second.subscribe([topic])
    (message,) = consume(second, 1)
    assert message.offset() == 30
    second.close()


def test_confluent_admin_creates_and_deletes_topics_and_reads_watermarks(servers: str, topic: str) -> None:
    admin = admin_client(servers)
    admin.create_topics([NewTopic(topic, num_partitions=3, replication_factor=1)])[topic].result(30)
    produce(servers, topic, 5)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "watermarks"})
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30) == (0, 5)
    assert consumer.get_watermark_offsets(TopicPartition(topic, 2), timeout=30) == (0, 0)
    consumer.close()
    assert len(admin.list_topics(timeout=30).topics[topic].partitions) == 3
    admin.delete_topics([topic])[topic].result(30)
    assert topic not in admin.list_topics(timeout=30).topics


def test_consumer_protocol_is_reported_as_unsupported_by_a_broker_for_classic_groups(
    start_broker: StartBroker, topic: str, group: str
) -> None:
    """KIP-848: librdkafka detects it by ApiVersions and retries for ever, as with a Kafka on ZooKeeper."""
    servers = start_broker({"group.coordinator.rebalance.protocols": "classic"}).bootstrap_servers
    produce(servers, topic, 1)
    logged: list[str] = []
    logger = logging.Logger("librdkafka")
    logger.addHandler(LogLines(logged))
    options = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer({**options, "group.protocol": "consumer", "debug": "cgrp"}, logger=logger)
    consumer.subscribe([topic])
    while not any("ConsumerGroupHeartbeatRequest not supported by broker" in line for line in logged):
        assert consumer.poll(0.1) is None
    consumer.close()
    classic = Consumer(options)
    classic.subscribe([topic])
    (message,) = consume(classic, 1)
    assert message.value() == b"value 0"
    classic.close()

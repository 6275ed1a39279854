"""A producer commits offsets of a member of the consumer protocol in its transactions (KIP-447, KIP-848)."""

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from pybroker import Broker
from support.clients.topics import create_topic

SETTINGS = {
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
WAIT_S = 60


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker(SETTINGS) as broker:
        yield broker.bootstrap_servers


def joined(servers: str, group: str, *topics: str) -> Consumer:
    """A member that owns the partition of each topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(list(topics))
    poll_until(lambda: len(consumer.assignment()) == len(topics), consumer)
    return consumer


def poll_until(condition: Callable[[], bool], consumer: Consumer) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, consumer.assignment()
        consumer.poll(0.05)


def started(servers: str, transactional_id: str) -> Producer:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": transactional_id})
    producer.init_transactions(WAIT_S)
    return producer


def committed(consumer: Consumer, topic: str) -> int:
    (found,) = consumer.committed([TopicPartition(topic, 0)], WAIT_S)
    return found.offset


def test_offsets_of_a_member_count_when_their_transaction_is_committed(servers: str) -> None:
    create_topic(servers, "counted", 1)
    consumer = joined(servers, "counting", "counted")
    producer = started(servers, "counter")
    for offset, commits, expected in ((3, False, -1001), (7, True, 7)):
        producer.begin_transaction()
        offsets = [TopicPartition("counted", 0, offset)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), WAIT_S)
        (producer.commit_transaction if commits else producer.abort_transaction)(WAIT_S)
        assert committed(consumer, "counted") == expected
    consumer.close()


def test_offsets_of_a_member_in_an_epoch_that_is_over_are_refused(servers: str) -> None:
    for topic in ("kept", "added"):
        create_topic(servers, topic, 1)
    consumer = joined(servers, "moving", "kept")
    stale = consumer.consumer_group_metadata()
    consumer.subscribe(["kept", "added"])
    poll_until(lambda: len(consumer.assignment()) == 2, consumer)
    producer = started(servers, "mover")
    producer.begin_transaction()
    with pytest.raises(KafkaException) as refused:
        producer.send_offsets_to_transaction([TopicPartition("kept", 0, 7)], stale, WAIT_S)
    assert refused.value.args[0].code() == KafkaError.ILLEGAL_GENERATION
    assert refused.value.args[0].txn_requires_abort()
    producer.abort_transaction(WAIT_S)
    producer.begin_transaction()
    producer.send_offsets_to_transaction([TopicPartition("kept", 0, 9)], consumer.consumer_group_metadata(), WAIT_S)
    producer.commit_transaction(WAIT_S)
    assert committed(consumer, "kept") == 9
    consumer.close()

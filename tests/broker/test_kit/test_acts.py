"""Acts: what a test makes a broker do at once."""

import asyncio
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from pybroker.broker.test_kit.act_error import ActError
from pybroker.protocol.apis import ApiKey
from support.clients.wire_client import WireClient
from support.in_process.replicas import batch_of
from support.load.request_of_each_api import plain_request

SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    with Broker(SETTINGS) as broker, WireClient(broker.bootstrap_servers) as client:
        topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in ("t", "open")]
        client.ask(plain_request(ApiKey.CREATE_TOPICS, topics=topics, timeout_ms=60_000), 5)
        yield broker


def produce_code(client: WireClient, topic: str = "t") -> int:
    data = [{"name": topic, "partition_data": [{"index": 0, "records": batch_of(b"value")}]}]
    response = client.ask(plain_request(ApiKey.PRODUCE, acks=1, timeout_ms=10_000, topic_data=data), 7)
    return int(response.responses[0].partition_responses[0].error_code)


def test_fenced_producer_cannot_go_on(broker: BlockingBroker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "fenced"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("t", b"value")
    producer.flush(30)
    before = broker.acts.fence("fenced")
    assert broker.acts.fence("fenced")["producer_epoch"] == before["producer_epoch"] + 1
    with pytest.raises(KafkaException):
        producer.commit_transaction(30)


def test_open_transaction_holds_readers_of_committed_records(broker: BlockingBroker) -> None:
    left = broker.acts.leave_open("left", "open")
    assert left["offset"] == 0
    with WireClient(broker.bootstrap_servers, 20) as client:
        assert produce_code(client, "open") == 0
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"})
    try:
        consumer.assign([TopicPartition("open", 0, 0)])
        partition = TopicPartition("open", 0)
        assert consumer.get_watermark_offsets(partition, timeout=20)[1] == 0, "the last stable offset"
        broker.acts.fence("left")
        low_high = consumer.get_watermark_offsets(partition, timeout=20)
        assert low_high[1] == 3, "the record, the one behind it, and the marker"
    finally:
        consumer.close()


def test_leader_cannot_move_to_a_broker_without_a_replica(broker: BlockingBroker) -> None:
    with pytest.raises(ValueError, match="broker 7 has no replica of t-0"):
        broker.acts.move_leader("t", 0, 7)
    with pytest.raises(ValueError, match="topic 't' has no partition 9"):
        broker.acts.move_leader("t", 9, 7)
    with pytest.raises(ActError, match="no other broker has a replica of __consumer_offsets-0"):
        broker.acts.move_coordinator("g")


def test_rounds_of_upkeep_end(broker: BlockingBroker) -> None:
    broker.acts.apply_retention()
    broker.acts.compact()
    broker.acts.expire_offsets()


def test_act_on_a_stopped_broker_is_refused() -> None:
    async def work() -> None:
        with pytest.raises(ActError, match="the broker does not run"):
            await Broker().acts.fence("t")

    asyncio.run(work())

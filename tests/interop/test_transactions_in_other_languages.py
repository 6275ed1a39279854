"""Tests of transactions by Java clients of Kafka 3.9 and 4.1, franz-go and kafkajs."""

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.cimpl import NewTopic
from pybroker.protocol.messages.describe_transactions import DescribeTransactionsRequest
from support.clients.topics import admin_client
from support.clients.transactional_traffic import read_committed
from support.clients.transactors import Transactor
from support.clients.wire_client import WireClient
from support.processes.started_broker import StartBroker
from support.time.patience import await_that

PARTITIONS = 3
QUICK_TIME_OUTS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
WAIT_S = 60
SPEAK_VERSION_2 = ("java-4.1.1",)


def create(servers: str, *topics: str) -> None:
    admin = admin_client(servers)
    for created in admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in topics]).values():
        created.result()


def committed_values(servers: str, topic: str, amount: int) -> list[str]:
    return sorted(read_committed(servers, topic, PARTITIONS, amount))


def values(first: int, amount: int) -> list[str]:
    return sorted(f"value-{number}" for number in range(first, first + amount))


def consumer_of(servers: str, group: str) -> Consumer:
    return Consumer({"bootstrap.servers": servers, "group.id": group, "isolation.level": "read_committed"})


def stable_offsets(servers: str, topic: str) -> list[int]:
    """The last stable offset of each partition."""
    consumer = consumer_of(servers, "stable-offsets")
    ends = [consumer.get_watermark_offsets(TopicPartition(topic, index))[1] for index in range(PARTITIONS)]
    consumer.close()
    return ends


def committed_offsets(servers: str, topic: str, group: str) -> list[int]:
    consumer = consumer_of(servers, group)
    partitions = [TopicPartition(topic, index) for index in range(PARTITIONS)]
    offsets = [each.offset for each in consumer.committed(partitions, timeout=WAIT_S)]
    consumer.close()
    return offsets


def producer_epoch(servers: str, transactional_id: str) -> int:
    """The epoch that the coordinator knows."""
    with WireClient(servers) as client:
        answer = client.ask(DescribeTransactionsRequest(transactional_ids=[transactional_id]), 0)
    (described,) = answer.transaction_states
    epoch: int = described.producer_epoch
    return epoch


@pytest.fixture(params=[pytest.param("java-3.9.1", marks=pytest.mark.long), "java-4.1.1", "go", "node"])
def client(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_group_copies_each_committed_record_once(client: str, servers: str, topic: str, group: str) -> None:
    """Each transaction of the copier is aborted, repeated and committed; another process goes on at its offsets."""
    copied = f"{topic}-copied"
    create(servers, topic, copied)
    transactor = Transactor(client, servers)
    transactor.transact(topic, topic, 0, 20)
    transactor.transact(topic, topic, 20, 10, commits=False)
    places = transactor.transact(topic, topic, 30, 20)
    expected = sorted(values(0, 20) + values(30, 20))
    assert committed_values(servers, topic, 40) == expected

    first = transactor.copy(topic, copied, group, f"{topic}-copier", 10)
    assert first + transactor.copy(topic, copied, group, f"{topic}-copier", 40 - first) == 40
    assert committed_values(servers, copied, 40) == expected
    ends = {
        index: 1 + max(int(str(each["offset"])) for each in places if each["partition"] == index) for index in (0, 1, 2)
    }
    assert committed_offsets(servers, topic, group) == [ends[index] for index in range(PARTITIONS)]


def test_clients_of_kafka_4_get_a_new_epoch_with_every_transaction(
    client: str, servers: str, topic: str, request: pytest.FixtureRequest
) -> None:
    """Only EndTxn of version 5 gives a producer a new epoch when its transaction ends. Kafka 3.9 does not serve it."""
    create(servers, topic)
    Transactor(client, servers).transact(topic, topic, 0, 5)
    has_version_2 = client in SPEAK_VERSION_2 and not request.config.getoption("--against-kafka")
    assert producer_epoch(servers, topic) == (1 if has_version_2 else 0)


def test_second_instance_fences_the_first_and_aborts_its_transaction(client: str, servers: str, topic: str) -> None:
    create(servers, topic)
    transactor = Transactor(client, servers)
    with transactor.hold(topic, topic) as held:
        transactor.transact(topic, topic, 0, 5)
        assert not held.commit()
    assert committed_values(servers, topic, 5) == values(0, 5)


def test_transaction_that_times_out_is_aborted(client: str, start_broker: StartBroker) -> None:
    servers, topic = start_broker(QUICK_TIME_OUTS).bootstrap_servers, "timed-out"
    create(servers, topic)
    transactor = Transactor(client, servers)
    with transactor.hold(topic, "slow", timeout_ms=1_000) as held:
        await_that(lambda: stable_offsets(servers, topic)[0] == held.offset + 2, "the transaction is aborted")
        assert not held.commit()
    transactor.transact(topic, "slow", 0, 5)
    assert committed_values(servers, topic, 5) == values(0, 5)


def test_open_transaction_is_committed_after_the_broker_was_killed(client: str, start_broker: StartBroker) -> None:
    broker, topic = start_broker(QUICK_TIME_OUTS), "killed"
    create(broker.bootstrap_servers, topic)
    with Transactor(client, broker.bootstrap_servers).hold(topic, topic) as held:
        broker.kill()
        broker.start()
        assert held.commit()
    assert committed_values(broker.bootstrap_servers, topic, 1) == ["held"]

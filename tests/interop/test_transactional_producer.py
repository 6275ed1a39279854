"""Transactions with stock clients: commit, abort, fencing, offsets, time-outs, and restarts of the broker."""

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioPartition
from aiokafka.errors import ProducerFenced
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata
from support.clients.kafka_tools import TOOLS, run_tool
from support.clients.transactional_traffic import TransactionalTraffic, await_offset, read_committed
from support.processes.started_broker import StartBroker
from support.time.patience import READS, await_answer, await_that

PARTITIONS = 3
WAIT_S = 60
QUICK_TIME_OUTS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}


@pytest.fixture
def created(servers: str, topic: str) -> str:
    """A topic with three partitions."""
    return create(servers, topic)


def create(servers: str, topic: str) -> str:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result()
    return topic


def producer_of(servers: str, transactional_id: str, **settings: object) -> Producer:
    """A started producer of librdkafka."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    producer = Producer({"bootstrap.servers": servers, "transactional.id": transactional_id, **named})
    producer.init_transactions(WAIT_S)
    return producer


def transact(producer: Producer, topic: str, *values: str, commits: bool = True) -> None:
    producer.begin_transaction()
    for index, value in enumerate(values):
        producer.produce(topic, value, partition=index % PARTITIONS)
    if commits:
        producer.commit_transaction(WAIT_S)
    else:
        producer.flush()
        producer.abort_transaction(WAIT_S)


def committed_values(servers: str, topic: str, amount: int) -> list[str]:
    return sorted(read_committed(servers, topic, PARTITIONS, amount))


def last_stable_offsets(servers: str, topic: str) -> list[int]:
    """The last stable offset of each partition."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "lso", "isolation.level": "read_committed"})
    ends = [consumer.get_watermark_offsets(TopicPartition(topic, index))[1] for index in range(PARTITIONS)]
    consumer.close()
    return ends


def await_group_offset(servers: str, topic: str, group: str, expected: int) -> None:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    await_answer(
        lambda: consumer.committed([TopicPartition(topic, 0)], timeout=WAIT_S)[0].offset,
        lambda offset: offset == expected,
        f"offset {expected} is committed",
        READS,
    )
    consumer.close()


def test_librdkafka_reads_only_what_was_committed(servers: str, created: str) -> None:
    producer = producer_of(servers, created)
    for number in range(6):
        transact(producer, created, f"{number}.0", f"{number}.1", f"{number}.2", commits=number % 2 == 0)
    expected = [f"{number}.{index}" for number in (0, 2, 4) for index in range(3)]
    assert committed_values(servers, created, len(expected)) == expected


def test_second_instance_fences_the_first_and_aborts_its_transaction(servers: str, created: str) -> None:
    first = producer_of(servers, created)
    first.begin_transaction()
    first.produce(created, "of the first", partition=0)
    first.flush()
    second = producer_of(servers, created)
    with pytest.raises(KafkaException) as refused:
        first.commit_transaction(WAIT_S)
    assert refused.value.args[0].fatal()
    transact(second, created, "of the second")
    assert committed_values(servers, created, 1) == ["of the second"]


def test_offsets_sent_to_a_transaction_count_only_after_its_commit(servers: str, created: str, group: str) -> None:
    producer = producer_of(servers, created)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    partition = TopicPartition(created, 0, 7)
    for commits, expected in ((False, -1001), (True, 7)):
        producer.begin_transaction()
        producer.send_offsets_to_transaction([partition], consumer.consumer_group_metadata())
        (producer.commit_transaction if commits else producer.abort_transaction)(WAIT_S)
        await_group_offset(servers, created, group, expected)
    consumer.close()


def test_consume_transform_produce_copies_each_record_once(servers: str, created: str, group: str) -> None:
    copied = create(servers, f"{created}-copy")
    transact(producer_of(servers, f"{created}-source"), created, *(str(number) for number in range(30)))
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([created])
    producer, count = producer_of(servers, f"{created}-copier"), 0
    while count < 30:
        messages = [each for each in consumer.consume(7, timeout=0.5) if each.error() is None]
        if not messages:
            continue
        producer.begin_transaction()
        for message in messages:
            producer.produce(copied, message.value(), partition=message.partition() or 0)
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata()
        )
        producer.commit_transaction(WAIT_S)
        count += len(messages)
    consumer.close()
    assert committed_values(servers, copied, 30) == sorted(str(number) for number in range(30))


def test_transaction_that_times_out_is_aborted_and_readers_go_on(start_broker: StartBroker) -> None:
    servers = start_broker(QUICK_TIME_OUTS).bootstrap_servers
    topic = create(servers, "timed-out")
    slow = producer_of(servers, "slow", transaction_timeout_ms=1_000)
    slow.begin_transaction()
    slow.produce(topic, "late", partition=0)
    slow.flush()
    transact(producer_of(servers, "other"), topic, "in time")
    await_that(lambda: last_stable_offsets(servers, topic)[0] == 4, "the late transaction is aborted")
    with pytest.raises(KafkaException):
        slow.commit_transaction(WAIT_S)
    assert committed_values(servers, topic, 1) == ["in time"]


def test_kafka_python_commits_and_aborts(servers: str, created: str) -> None:
    producer = KafkaProducer(bootstrap_servers=servers, transactional_id=created)
    producer.init_transactions()
    for value, commits in ((b"kept", True), (b"dropped", False), (b"kept too", True)):
        producer.begin_transaction()
        producer.send(created, value, partition=0)
        producer.flush()
        (producer.commit_transaction if commits else producer.abort_transaction)()
    producer.close()
    consumer = KafkaConsumer(
        bootstrap_servers=servers,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        consumer_timeout_ms=5_000,
    )
    consumer.assign([PythonPartition(created, 0)])
    values = [next(consumer).value, next(consumer).value]
    consumer.close()
    assert values == [b"kept", b"kept too"]


def test_kafka_python_sends_offsets_of_its_group_member_to_a_transaction(
    servers: str, created: str, group: str
) -> None:
    transact(producer_of(servers, f"{created}-source"), created, "0", "1", "2")
    consumer = KafkaConsumer(
        created, bootstrap_servers=servers, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False
    )
    await_that(lambda: consumer.poll(1000), "a record")
    producer = KafkaProducer(bootstrap_servers=servers, transactional_id=created)
    producer.init_transactions()
    for offset, commits, expected in ((1, False, -1001), (7, True, 7)):
        producer.begin_transaction()
        progress = {PythonPartition(created, 0): OffsetAndMetadata(offset, "", -1)}
        producer.send_offsets_to_transaction(progress, consumer.group_metadata())
        (producer.commit_transaction if commits else producer.abort_transaction)()
        await_group_offset(servers, created, group, expected)
    producer.close()
    consumer.close()


def test_kafka_python_producer_is_fenced_by_its_second_instance(servers: str, created: str) -> None:
    first, second = (KafkaProducer(bootstrap_servers=servers, transactional_id=created) for _ in range(2))
    first.init_transactions()
    first.begin_transaction()
    first.send(created, b"of the first", partition=0).get(WAIT_S)
    second.init_transactions()
    with pytest.raises(KafkaError):
        first.commit_transaction()
    second.begin_transaction()
    second.send(created, b"of the second", partition=0).get(WAIT_S)
    second.commit_transaction()
    for producer in (first, second):
        producer.close()
    assert committed_values(servers, created, 1) == ["of the second"]


async def test_aiokafka_producer_is_fenced_by_its_second_instance(servers: str, created: str) -> None:
    first, second = (AIOKafkaProducer(bootstrap_servers=servers, transactional_id=created) for _ in range(2))
    await first.start()
    await first.begin_transaction()
    await first.send_and_wait(created, b"of the first", partition=0)
    await second.start()
    with pytest.raises(ProducerFenced):
        await first.commit_transaction()
    async with second.transaction():
        await second.send_and_wait(created, b"of the second", partition=0)
    for producer in (first, second):
        await producer.stop()
    assert await asyncio.to_thread(committed_values, servers, created, 1) == ["of the second"]


async def test_aiokafka_commits_aborts_and_sends_offsets(servers: str, created: str, group: str) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=servers, transactional_id=created)
    await producer.start()
    await producer.begin_transaction()
    await producer.send_and_wait(created, b"dropped", partition=0)
    await producer.abort_transaction()
    async with producer.transaction():
        await producer.send_and_wait(created, b"kept", partition=0)
        await producer.send_offsets_to_transaction({AioPartition(created, 0): 5}, group)
    await producer.stop()
    consumer = AIOKafkaConsumer(bootstrap_servers=servers, isolation_level="read_committed")
    await consumer.start()
    consumer.assign([AioPartition(created, 0)])
    await consumer.seek_to_beginning()
    assert (await asyncio.wait_for(consumer.getone(), WAIT_S)).value == b"kept"
    await consumer.stop()
    await asyncio.to_thread(await_group_offset, servers, created, group, 5)


# -- Kafka's tools


def test_kafka_producer_perf_test_writes_in_transactions(servers: str, created: str) -> None:
    told = run_tool(
        f"{TOOLS}.ProducerPerformance",
        *("--topic", created, "--num-records", "500", "--record-size", "10", "--throughput", "-1"),
        *("--transactional-id", created, "--transaction-duration-ms", "20"),
        *("--producer-props", f"bootstrap.servers={servers}"),
    )
    assert "500 records sent" in told
    assert len(committed_values(servers, created, 500)) == 500


def test_kafka_transactions_lists_describes_and_aborts(servers: str, created: str) -> None:
    def tool(*arguments: str) -> str:
        return run_tool(f"{TOOLS}.TransactionsCommand", "--bootstrap-server", servers, *arguments)

    producer = producer_of(servers, created)
    producer.begin_transaction()
    producer.produce(created, "open", partition=0)
    producer.flush()
    listed = [line.split() for line in tool("list").splitlines()]
    assert [line[3] for line in listed if line[0] == created] == ["Ongoing"]
    described = tool("describe", "--transactional-id", created)
    assert "Ongoing" in described
    assert f"{created}-0" in described
    rows = tool("describe-producers", "--topic", created, "--partition", "0").splitlines()
    start_offset = rows[1].split()[-1]
    assert start_offset == "0"

    tool("abort", "--topic", created, "--partition", "0", "--start-offset", start_offset)

    assert last_stable_offsets(servers, created)[0] == 2
    assert tool("find-hanging", "--broker-id", "1001").splitlines()[1:] == []


def test_kafka_dump_log_decodes_the_states_of_a_transactional_id(start_broker: StartBroker) -> None:
    broker = start_broker({"transaction.state.log.num.partitions": "1"})
    topic = create(broker.bootstrap_servers, "decoded")
    producer = producer_of(broker.bootstrap_servers, "t")
    transact(producer, topic, "kept")
    transact(producer, topic, "dropped", commits=False)
    producer.begin_transaction()
    producer.produce(topic, "open", partition=0)
    producer.flush()
    broker.stop()
    (file,) = (broker.log_directory / "__transaction_state-0").glob("*.log")
    told = run_tool("kafka.tools.DumpLogSegments", "--transaction-log-decoder", "--files", str(file))
    states = re.findall(r"transactionalId=t payload: .*state=(\w+),partitions=\[(.*?)\]", told)
    ends = ["Ongoing", "PrepareCommit", "CompleteCommit", "Ongoing", "PrepareAbort", "CompleteAbort", "Ongoing"]
    assert [state for state, _ in states] == ["Empty", *ends]
    assert [bool(partitions) for _, partitions in states] == [False, True, True, False, True, True, False, True]


# -- restarts


@contextmanager
def killed_at(start_broker: StartBroker) -> Iterator[tuple[str, str, Callable[[], None]]]:
    """Servers, a topic, and a function that kills the broker with SIGKILL and starts it again."""
    broker = start_broker(QUICK_TIME_OUTS)

    def restart() -> None:
        broker.kill()
        broker.start()

    yield broker.bootstrap_servers, create(broker.bootstrap_servers, "restarted"), restart


def test_open_transaction_is_committed_after_the_broker_was_killed(start_broker: StartBroker) -> None:
    with killed_at(start_broker) as (servers, topic, restart):
        producer = producer_of(servers, "t")
        producer.begin_transaction()
        producer.produce(topic, "before", partition=0)
        producer.flush()
        restart()
        producer.produce(topic, "after", partition=0)
        producer.commit_transaction(WAIT_S)
        assert committed_values(servers, topic, 2) == ["after", "before"]


@pytest.mark.parametrize("commits", [True, False])
def test_producer_goes_on_after_the_broker_was_killed_between_transactions(
    start_broker: StartBroker, commits: bool
) -> None:
    with killed_at(start_broker) as (servers, topic, restart):
        producer = producer_of(servers, "t")
        restart()
        transact(producer, topic, "first", commits=commits)
        restart()
        transact(producer, topic, "second")
        expected = ["first", "second"] if commits else ["second"]
        assert committed_values(servers, topic, len(expected)) == expected


def test_open_transaction_of_a_dead_producer_is_aborted_after_the_broker_was_killed(start_broker: StartBroker) -> None:
    with killed_at(start_broker) as (servers, topic, restart):
        producer = producer_of(servers, "t", transaction_timeout_ms=2_000)
        producer.begin_transaction()
        producer.produce(topic, "never", partition=0)
        producer.flush()
        restart()
        await_that(lambda: last_stable_offsets(servers, topic)[0] == 2, "the transaction is aborted")


def test_transactions_survive_kills_of_the_broker(start_broker: StartBroker) -> None:
    """Java's producer runs transactions over all partitions with offsets; each committed one is read, once."""
    with killed_at(start_broker) as (servers, topic, restart):
        with TransactionalTraffic(servers, topic, PARTITIONS) as traffic:
            for _ in range(3):
                traffic.wait_for_more(4)
                restart()
            traffic.wait_for_more(6)
        assert committed_values(servers, topic, len(traffic.committed)) == sorted(traffic.committed)
        await_offset(servers, topic, traffic.offset)

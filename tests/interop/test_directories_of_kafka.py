"""Tests of clients reading data directories of Kafka brokers: transactions, and messages in formats 0 and 1."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import TopicPartition as ConfluentPartition
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import read_records
from support.clients.kafka_tools import TOOLS, run_tool
from support.clients.librdkafka_reader import messages_to_end
from support.clients.topics import admin_client
from support.clients.wire_client import WireClient
from support.logs.kafka_directories import Found, batches, broker_on, committed, records
from support.processes.broker_process import BrokerProcess
from support.time.patience import await_that

OLD = ("golden1-v0", "golden1-v1", "golden1-v1-append-time")


def by_kafka_python(servers: str, topic: str, isolation: str) -> Found:
    partition = TopicPartition(topic, 0)
    consumer = KafkaConsumer(bootstrap_servers=servers, isolation_level=isolation, enable_auto_commit=False)
    consumer.assign([partition])
    consumer.seek_to_beginning()
    end = consumer.end_offsets([partition])[partition]
    found: Found = []
    while consumer.position(partition) < end:
        for polled in consumer.poll(100).values():
            found += [(record.offset, record.value) for record in polled]
    consumer.close()
    return found


def by_librdkafka(servers: str, topic: str, isolation: str) -> Found:
    consumer = ConfluentConsumer(
        {
            "bootstrap.servers": servers,
            "group.id": "none",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([ConfluentPartition(topic, 0, 0)])
    found: Found = [(offset, message.value()) for offset, message in messages_to_end(consumer)]
    consumer.close()
    return found


def offsets_by_java(servers: str, topic: str, isolation: str, count: int) -> list[int]:
    printed = run_tool(
        f"{TOOLS}.consumer.ConsoleConsumer",
        *("--bootstrap-server", servers, "--topic", topic, "--partition", "0", "--offset", "earliest"),
        *("--isolation-level", isolation, "--max-messages", str(count)),
        *("--property", "print.offset=true", "--property", "print.value=false"),
    )
    return [int(line.removeprefix("Offset:")) for line in printed.splitlines() if line.startswith("Offset:")]


# -- transactions


@pytest.fixture(scope="module")
def modern(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with broker_on("kafka-3.9", tmp_path_factory.mktemp("modern")) as broker:
        yield broker


TXN = "golden1-txn"


def test_read_committed_consumer_gets_only_committed_records(modern: BrokerProcess) -> None:
    expected, _ = committed("kafka-3.9", TXN)
    everything = records("kafka-3.9", TXN)
    assert 0 < len(expected) < len(everything)
    servers = modern.bootstrap_servers
    for read in (by_librdkafka, by_kafka_python):
        assert read(servers, TXN, "read_committed") == expected
        assert read(servers, TXN, "read_uncommitted") == everything
    offsets = [offset for offset, _ in expected]
    assert offsets_by_java(servers, TXN, "read_committed", len(offsets)) == offsets


def end_offset(client: WireClient, isolation: int) -> int:
    partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
    topic = ListOffsetsTopic(name=TXN, partitions=[partition])
    request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=[topic])
    return int(client.ask(request, 7).topics[0].partitions[0].offset)


def test_last_stable_offset_is_the_start_of_the_hanging_transaction(modern: BrokerProcess) -> None:
    _, stable = committed("kafka-3.9", TXN)
    with WireClient(modern.bootstrap_servers) as client:
        ends = [end_offset(client, isolation) for isolation in (0, 1)]
        assert ends == [batches("kafka-3.9", TXN)[-1]["nextOffset"], stable]
        fetched = client.ask(fetch(TXN, isolation=1), 11).responses[0].partitions[0]
        assert (fetched.last_stable_offset, fetched.high_watermark) == (stable, ends[0])


def test_coordinator_aborts_the_transaction_that_a_kafka_left_open(tmp_path: Path) -> None:
    """Its state comes from `__transaction_state` as the Kafka wrote it; its time-out has passed."""
    quick = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
    end = batches("kafka-3.9", TXN)[-1]["nextOffset"] + 1
    with broker_on("kafka-3.9", tmp_path, quick) as broker, WireClient(broker.bootstrap_servers) as client:
        await_that(lambda: end_offset(client, isolation=1) == end, "the transaction is aborted")


def test_kafka_transactions_finds_and_aborts_a_transaction_that_no_coordinator_knows(tmp_path: Path) -> None:
    _, stable = committed("kafka-3.9", TXN)
    with broker_on("kafka-3.9", tmp_path, without="__transaction_state") as broker:
        servers = broker.bootstrap_servers

        def tool(*arguments: str) -> list[list[str]]:
            """Returns the rows behind the heading."""
            command = f"{TOOLS}.TransactionsCommand", "--bootstrap-server", servers
            return [line.split() for line in run_tool(*command, *arguments).splitlines()[1:]]

        (hanging,) = tool("find-hanging", "--broker-id", "0")
        topic, partition, *_ = hanging
        assert (topic, partition, hanging[5]) == (TXN, "0", str(stable))
        tool("abort", "--topic", topic, "--partition", partition, "--start-offset", str(stable))
        assert tool("find-hanging", "--broker-id", "0") == []
        with WireClient(servers) as client:
            assert end_offset(client, isolation=1) == batches("kafka-3.9", TXN)[-1]["nextOffset"] + 1


# -- old formats


@pytest.fixture(scope="module")
def former(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with broker_on("ibp-2.8", tmp_path_factory.mktemp("former")) as broker:
        yield broker


def fetch(topic: str, offset: int = 0, isolation: int = 0) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 24)
    topics = [FetchTopic(topic=topic, partitions=[partition])]
    return FetchRequest(
        replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=1 << 24, isolation_level=isolation, topics=topics
    )


@pytest.mark.parametrize("topic", OLD)
def test_consumers_read_messages_of_old_formats(former: BrokerProcess, topic: str) -> None:
    expected = records("ibp-2.8", topic)
    # kafka-python needs an undeclared package to read lz4 in format 0.
    for read in (by_librdkafka,) if topic == "golden1-v0" else (by_librdkafka, by_kafka_python):
        assert read(former.bootstrap_servers, topic, "read_committed") == expected
    offsets = [offset for offset, _ in expected]
    assert offsets_by_java(former.bootstrap_servers, topic, "read_uncommitted", len(offsets)) == offsets


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 11])
@pytest.mark.parametrize("topic", OLD)
def test_each_fetch_version_gets_a_format_it_understands(former: BrokerProcess, topic: str, version: int) -> None:
    stored = {batch["magic"] for batch in batches("ibp-2.8", topic)}
    known = 0 if version <= 1 else 1 if version <= 3 else 2
    found: Found = []
    with WireClient(former.bootstrap_servers) as client:
        expected = records("ibp-2.8", topic)
        while len(found) < len(expected):
            offset = found[-1][0] + 1 if found else 0
            answer = client.ask(fetch(topic, offset), version).responses[0].partitions[0]
            assert (answer.error_code, bool(answer.records)) == (0, True)
            for batch in iter_batches(bytes(answer.records)):
                assert batch.magic in {min(magic, known) for magic in stored}
                found += [(each.offset, each.value) for each in read_records(batch) if each.offset >= offset]
    assert found == expected


@pytest.mark.parametrize("stop", ["kill", "stop"])
def test_new_records_are_in_format_2_and_all_survive_a_restart(stop: str, tmp_path: Path) -> None:
    broker = broker_on("ibp-2.8", tmp_path).start()
    expected = {topic: records("ibp-2.8", topic) for topic in OLD}
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers, acks="all")
    for topic in OLD:
        offset = producer.send(topic, b"new", partition=0).get().offset
        assert offset == batches("ibp-2.8", topic)[-1]["nextOffset"]
        expected[topic].append((offset, b"new"))
    producer.close()
    broker.kill() if stop == "kill" else broker.stop()
    with broker:
        for topic in OLD:
            assert by_librdkafka(broker.bootstrap_servers, topic, "read_uncommitted") == expected[topic]
            with WireClient(broker.bootstrap_servers) as client:
                answer = client.ask(fetch(topic, expected[topic][-1][0]), 11).responses[0].partitions[0]
                assert [batch.magic for batch in iter_batches(bytes(answer.records))] == [2]


def stamped(topic: str) -> list[tuple[int, int]]:
    """Returns (timestamp, offset) of all records."""
    return [
        (record["timestamp"], record["offset"]) for batch in batches("ibp-2.8", topic) for record in batch["records"]
    ]


def by_time_of_librdkafka(servers: str, topic: str, timestamp: int) -> int:
    consumer = ConfluentConsumer({"bootstrap.servers": servers, "group.id": "none"})
    (found,) = consumer.offsets_for_times([ConfluentPartition(topic, 0, timestamp)], timeout=60)
    consumer.close()
    return int(found.offset)


def by_time_of_kafka_python(servers: str, topic: str, timestamp: int) -> int:
    partition = TopicPartition(topic, 0)
    consumer = KafkaConsumer(bootstrap_servers=servers)
    found = consumer.offsets_for_times({partition: timestamp})[partition]
    consumer.close()
    return -1 if found is None else int(found.offset)


@pytest.mark.parametrize("topic", OLD[1:])
def test_clients_find_offsets_of_old_messages_by_time(former: BrokerProcess, topic: str) -> None:
    records_by_time = stamped(topic)
    timestamps = sorted({timestamp for timestamp, _ in records_by_time})
    for wanted in (0, timestamps[0], timestamps[len(timestamps) // 2], timestamps[-1], timestamps[-1] + 1):
        # For a time after all records, librdkafka returns the end and kafka-python None.
        expected = next((offset for timestamp, offset in records_by_time if timestamp >= wanted), -1)
        assert by_time_of_librdkafka(former.bootstrap_servers, topic, wanted) == expected
        assert by_time_of_kafka_python(former.bootstrap_servers, topic, wanted) == expected


def test_old_messages_without_timestamps_are_not_found_by_time(former: BrokerProcess) -> None:
    assert {timestamp for timestamp, _ in stamped(OLD[0])} == {-1}
    assert by_time_of_kafka_python(former.bootstrap_servers, OLD[0], 0) == -1
    assert by_time_of_librdkafka(former.bootstrap_servers, OLD[0], 0) == -1


@pytest.mark.parametrize("version", range(8))
@pytest.mark.parametrize("topic", OLD)
def test_each_list_offsets_version_returns_start_and_end_of_old_messages(
    former: BrokerProcess, topic: str, version: int
) -> None:
    found: list[int] = []
    with WireClient(former.bootstrap_servers) as client:
        for timestamp in (-2, -1):
            partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp, max_num_offsets=1)
            request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])])
            answer = client.ask(request, version).topics[0].partitions[0]
            found += answer.old_style_offsets if version == 0 else [answer.offset]
    assert found == [0, batches("ibp-2.8", topic)[-1]["nextOffset"]]


def test_old_messages_can_be_deleted_up_to_any_offset(tmp_path: Path) -> None:
    """Also in the middle of compressed messages: records before the offset stay in the batch but are not delivered."""
    broker = broker_on("ibp-2.8", tmp_path).start()
    expected = {topic: records("ibp-2.8", topic) for topic in OLD}
    admin = admin_client(broker.bootstrap_servers)
    for topic, everything in expected.items():
        inside = [batch["records"][1]["offset"] for batch in batches("ibp-2.8", topic) if len(batch["records"]) > 2]
        for first in (inside[0], inside[-1], everything[-1][0]):
            (done,) = admin.delete_records([ConfluentPartition(topic, 0, first)]).values()
            assert done.result().low_watermark == first
            expected[topic] = [record for record in everything if record[0] >= first]
            assert by_librdkafka(broker.bootstrap_servers, topic, "read_uncommitted") == expected[topic]
    broker.stop()  # a kill would restore records deleted within the last minute, as with Kafka
    with broker:
        for topic, kept in expected.items():
            assert by_librdkafka(broker.bootstrap_servers, topic, "read_uncommitted") == kept
            if topic != OLD[0]:  # see above
                assert by_kafka_python(broker.bootstrap_servers, topic, "read_uncommitted") == kept

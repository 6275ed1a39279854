"""Tests with kafka-python."""

import threading
from collections import Counter
from itertools import count

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError
from pybroker import Broker

CODECS = (None, "gzip", "snappy", "lz4", "zstd")


# Unlimited retention, because records may have old timestamps that the default retention would delete.
FOR_EVER = {"retention.ms": "-1"}


def create(servers: str, topic: str, partitions: int, configs: dict[str, str] | None = None) -> None:
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=configs)])
    admin.close()


def read(servers: str, topic: str, amount: int, **options: object) -> list[object]:
    """Returns the first `amount` records of the topic, without a group."""
    consumer = KafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest", **options)
    records: list[object] = []
    while len(records) < amount:
        for batch in consumer.poll(timeout_ms=1000).values():
            records.extend(batch)
    consumer.close()
    return records


@pytest.mark.parametrize("codec", CODECS)
def test_kafka_python_consumes_what_it_produced_with_every_codec(servers: str, topic: str, codec: str | None) -> None:
    producer = KafkaProducer(bootstrap_servers=servers, compression_type=codec, linger_ms=20)
    sent = [(f"key {n}".encode(), f"value {n} ".encode() * 20) for n in range(300)]
    futures = [producer.send(topic, value, key, partition=0) for key, value in sent]
    assert [future.get(30).offset for future in futures] == list(range(300))
    producer.close()
    records = read(servers, topic, 300)
    assert [(record.key, record.value) for record in records] == sent  # type: ignore[attr-defined]
    assert [record.offset for record in records] == list(range(300))  # type: ignore[attr-defined]


def test_headers_null_keys_and_null_values_arrive_unchanged(servers: str, topic: str) -> None:
    create(servers, topic, 1, FOR_EVER)
    headers = [("trace", b"\x00\xff"), ("trace", b""), ("empty", b"x" * 1000)]
    producer = KafkaProducer(bootstrap_servers=servers)
    producer.send(topic, None, b"tombstone", headers)
    producer.send(topic, b"no key", None)
    producer.send(topic, b"", b"", timestamp_ms=1_600_000_000_123)
    producer.flush(30)
    producer.close()
    records = read(servers, topic, 3)
    got = [(record.key, record.value, record.headers) for record in records]  # type: ignore[attr-defined]
    assert got == [(b"tombstone", None, headers), (None, b"no key", []), (b"", b"", [])]
    assert records[2].timestamp == 1_600_000_000_123  # type: ignore[attr-defined]


def test_large_messages_arrive_and_too_large_ones_are_refused(servers: str, topic: str) -> None:
    producer = KafkaProducer(bootstrap_servers=servers, max_request_size=4_000_000, enable_idempotence=False)
    big = bytes(range(256)) * 4000
    assert producer.send(topic, big, partition=0).get(30).offset == 0
    with pytest.raises(Exception, match=r"(?i)too ?large|size"):
        producer.send(topic, b"x" * 2_000_000, partition=0).get(30)
    assert producer.send(topic, b"after", partition=0).get(30).offset == 1
    producer.close()
    assert [record.value for record in read(servers, topic, 2)] == [big, b"after"]  # type: ignore[attr-defined]


def test_many_small_messages_keep_their_order_in_each_partition(servers: str, topic: str) -> None:
    create(servers, topic, 4)
    producer = KafkaProducer(bootstrap_servers=servers, linger_ms=5)
    for n in range(20_000):
        producer.send(topic, str(n).encode(), partition=n % 4)
    producer.flush(60)
    producer.close()
    records = read(servers, topic, 20_000)
    for partition in range(4):
        mine = [int(record.value) for record in records if record.partition == partition]  # type: ignore[attr-defined]
        assert mine == list(range(partition, 20_000, 4))


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_acks_setting_stores_the_records(servers: str, topic: str, acks: int | str) -> None:
    create(servers, topic, 1)
    producer = KafkaProducer(bootstrap_servers=servers, acks=acks, enable_idempotence=False)
    for n in range(100):
        producer.send(topic, str(n).encode(), partition=0)
    producer.flush(30)
    producer.close()
    assert len(read(servers, topic, 100)) == 100


def test_seek_by_time_finds_the_first_record_at_or_after_it(servers: str, topic: str) -> None:
    create(servers, topic, 1, FOR_EVER)
    base = 1_700_000_000_000
    producer = KafkaProducer(bootstrap_servers=servers)
    for n in range(50):
        producer.send(topic, str(n).encode(), partition=0, timestamp_ms=base + n * 1000)
        producer.flush(30)
    producer.close()
    partition = TopicPartition(topic, 0)
    consumer = KafkaConsumer(bootstrap_servers=servers)
    found = consumer.offsets_for_times({partition: base + 20_500})[partition]
    assert (found.offset, found.timestamp) == (21, base + 21_000)
    assert consumer.offsets_for_times({partition: base + 60_000})[partition] is None
    assert consumer.beginning_offsets([partition]) == {partition: 0}
    assert consumer.end_offsets([partition]) == {partition: 50}
    consumer.assign([partition])
    consumer.seek(partition, found.offset)
    (records,) = consumer.poll(timeout_ms=30_000, max_records=1).values()
    assert records[0].value == b"21"
    consumer.close()


def test_kafka_python_creates_describes_and_deletes_topics(servers: str, topic: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([NewTopic(topic, 3, 1, topic_configs={"retention.ms": "3600000"})])
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([NewTopic(topic, 3, 1)])
    (described,) = admin.describe_topics([topic])
    assert len(described["partitions"]) == 3
    assert topic in admin.list_topics()
    admin.delete_topics([topic])
    assert topic not in admin.list_topics()
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.delete_topics([topic])
    admin.close()


class Member(threading.Thread):
    """A consumer of a group that records what it read until it is told to leave."""

    def __init__(self, servers: str, topic: str, group: str, seen: Counter[bytes]) -> None:
        super().__init__(daemon=True)
        self._consumer = KafkaConsumer(
            topic,
            bootstrap_servers=servers,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=10_000,
            heartbeat_interval_ms=200,
        )
        self._seen = seen
        self._leave = threading.Event()
        self.read_something = threading.Event()
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._leave.is_set():
                # Longer than a rebalance: kafka-python 3.0 drops a JoinGroup response that arrives between two polls.
                for batch in self._consumer.poll(timeout_ms=2000, max_records=20).values():
                    self._seen.update(record.value for record in batch)
                    self.read_something.set()
                    self._consumer.commit()
            self._consumer.close()
        except BaseException as failure:
            self.failure = failure
            raise

    def leave(self) -> None:
        self._leave.set()
        self.join()
        assert self.failure is None


def test_group_of_three_with_changing_members_loses_nothing(servers: str, topic: str, group: str) -> None:
    create(servers, topic, 6)
    producer = KafkaProducer(bootstrap_servers=servers)
    seen: Counter[bytes] = Counter()
    numbers = count()

    def send(amount: int) -> None:
        for _ in range(amount):
            number = next(numbers)
            producer.send(topic, str(number).encode(), partition=number % 6)
        producer.flush(30)

    members = []
    for _ in range(3):
        member = Member(servers, topic, group, seen)
        member.start()
        members.append(member)
        while not member.read_something.wait(0.1):
            send(60)
        send(300)
    members.pop(0).leave()
    send(300)
    late = Member(servers, topic, group, seen)
    late.start()
    members.append(late)
    send(300)
    members.pop(0).leave()
    send(300)
    total = next(numbers)
    producer.close()
    everything = {str(number).encode() for number in range(total)}
    while everything - set(seen):
        members[0].join(0.05)
        assert all(member.is_alive() for member in members)
    for member in members:
        member.leave()
    assert set(seen) == everything


def test_group_resumes_at_its_commit_after_restart_of_client_and_broker() -> None:
    with Broker() as broker:
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
        for n in range(100):
            producer.send("events", str(n).encode(), partition=0)
        producer.flush(30)
        producer.close()
        options = {"group_id": "readers", "auto_offset_reset": "earliest", "enable_auto_commit": False}
        first = KafkaConsumer("events", bootstrap_servers=broker.bootstrap_servers, max_poll_records=40, **options)
        records: list[int] = []
        while not records:
            for batch in first.poll(timeout_ms=1000, max_records=40).values():
                records.extend(int(record.value) for record in batch)
        first.commit()
        first.close()
        broker.restart()
        second = KafkaConsumer("events", bootstrap_servers=broker.bootstrap_servers, **options)
        while len(records) < 100:
            for batch in second.poll(timeout_ms=1000).values():
                records.extend(int(record.value) for record in batch)
        assert second.committed(TopicPartition("events", 0)) is not None
        second.close()
        assert records == list(range(100))

"""What Kafka's users build on: queue and broadcast, at most once and at least once."""

from collections.abc import Iterator
from itertools import islice

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic

RECORDS = [f"job {n}" for n in range(20)]


@pytest.fixture
def topic(servers: str, topic: str) -> str:
    """An empty topic of two partitions."""
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([NewTopic(topic, 2, 1)])
    admin.close()
    return topic


def produce(servers: str, topic: str) -> None:
    """Sends RECORDS to the two partitions in turn."""
    producer = KafkaProducer(bootstrap_servers=servers)
    for n, record in enumerate(RECORDS):
        producer.send(topic, record.encode(), partition=n % 2)
    producer.close()


class Reader:
    """A member of a group that commits only when it is told to."""

    def __init__(self, servers: str, topic: str, group: str) -> None:
        self._consumer = KafkaConsumer(
            topic,
            bootstrap_servers=servers,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=100,
        )

    def partitions(self) -> int:
        """How many it owns, after a moment in which it takes part in the group's life. The topic must be empty."""
        assert not self._consumer.poll(timeout_ms=50)
        return len(self._consumer.assignment())

    def take(self, amount: int) -> list[str]:
        return list(islice(self._records(), amount))

    def _records(self) -> Iterator[str]:
        while True:
            for batch in self._consumer.poll(timeout_ms=1000, max_records=1).values():
                yield from (record.value.decode() for record in batch)

    def commit(self) -> None:
        self._consumer.commit()

    def close(self) -> None:
        """Leaves without a commit, as a process does that ends too early."""
        self._consumer.close(autocommit=False)


def test_as_a_queue_each_record_goes_to_one_member_of_the_group(servers: str, topic: str, group: str) -> None:
    first, second = Reader(servers, topic, group), Reader(servers, topic, group)
    while (first.partitions(), second.partitions()) != (1, 1):
        continue
    produce(servers, topic)
    taken = [first.take(10), second.take(10)]
    assert sorted(taken) == [RECORDS[::2], RECORDS[1::2]]
    first.close()
    second.close()


def test_as_a_broadcast_each_group_gets_every_record(servers: str, topic: str, group: str) -> None:
    produce(servers, topic)
    readers = [Reader(servers, topic, f"{group}-{name}") for name in ("billing", "search", "audit")]
    for reader in readers:
        assert sorted(reader.take(20)) == sorted(RECORDS)
        reader.close()


def test_at_most_once_a_record_whose_worker_failed_is_not_read_again(servers: str, topic: str, group: str) -> None:
    produce(servers, topic)
    worker = Reader(servers, topic, group)
    taken = worker.take(8)
    worker.commit()
    done, lost = taken[:5], taken[5:]
    worker.close()
    successor = Reader(servers, topic, group)
    done += successor.take(12)
    successor.close()
    assert sorted(done + lost) == sorted(RECORDS)


def test_at_least_once_a_record_whose_worker_failed_is_read_again(servers: str, topic: str, group: str) -> None:
    produce(servers, topic)
    worker = Reader(servers, topic, group)
    done = worker.take(5)
    worker.commit()
    done += worker.take(3)
    worker.close()
    successor = Reader(servers, topic, group)
    done += successor.take(15)
    successor.close()
    twice = done[5:8]
    assert sorted(done) == sorted(RECORDS + twice)

"""Tests of delivery patterns of Kafka's users: queue and broadcast, at most once and at least once."""

import pytest
from confluent_kafka import Consumer, Producer
from support.clients.topics import create_topic

RECORDS = [f"job {n}" for n in range(20)]


@pytest.fixture
def topic(servers: str, topic: str) -> str:
    """Creates an empty topic of two partitions."""
    create_topic(servers, topic, 2)
    return topic


def produce(servers: str, topic: str) -> None:
    """Sends RECORDS to the two partitions in turn."""
    producer = Producer({"bootstrap.servers": servers})
    for n, record in enumerate(RECORDS):
        producer.produce(topic, record, partition=n % 2)
    assert producer.flush() == 0


class Reader:
    """A member of a group that commits only on request."""

    def __init__(self, servers: str, topic: str, group: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 100,
            }
        )
        self._consumer.subscribe([topic])

    def partitions(self) -> int:
        """Returns the number of owned partitions after some polls. The topic must be empty."""
        assert self._consumer.poll(0.05) is None
        return len(self._consumer.assignment())

    def take(self, amount: int) -> list[str]:
        taken: list[str] = []
        while len(taken) < amount:
            message = self._consumer.poll()
            assert message is not None
            assert message.error() is None, message.error()
            value = message.value()
            assert value is not None
            taken.append(value.decode())
        return taken

    def commit(self) -> None:
        """Commits all records taken so far."""
        self._consumer.commit(asynchronous=False)

    def close(self) -> None:
        """Leaves without a commit, like a process that ends too early."""
        self._consumer.close()


def test_queue_delivers_each_record_to_one_member_of_the_group(servers: str, topic: str, group: str) -> None:
    first, second = Reader(servers, topic, group), Reader(servers, topic, group)
    while (first.partitions(), second.partitions()) != (1, 1):
        continue
    produce(servers, topic)
    taken = [first.take(10), second.take(10)]
    assert sorted(taken) == [RECORDS[::2], RECORDS[1::2]]
    first.close()
    second.close()


def test_broadcast_delivers_each_record_to_every_group(servers: str, topic: str, group: str) -> None:
    produce(servers, topic)
    readers = [Reader(servers, topic, f"{group}-{name}") for name in ("billing", "search", "audit")]
    for reader in readers:
        assert sorted(reader.take(20)) == sorted(RECORDS)
        reader.close()


def test_at_most_once_does_not_redeliver_after_a_failed_worker(servers: str, topic: str, group: str) -> None:
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


def test_at_least_once_redelivers_after_a_failed_worker(servers: str, topic: str, group: str) -> None:
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

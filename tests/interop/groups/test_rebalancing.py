"""Tests of rebalances: new members, new topics, new partitions, and many changes at once."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from kafka import KafkaConsumer
from support.clients.topics import create_topic, grow_topic

Place = tuple[str, int]
"""Topic and partition."""
LONG_MS = 30_000
"""Longer than any rebalance: if a poll of kafka-python 3.0 ends before its member has joined, it discards the response
and joins again.
"""


def produce(servers: str, topic: str, partitions: int, values: Iterable[str]) -> None:
    """Sends the values to the partitions in turn."""
    producer = Producer({"bootstrap.servers": servers})
    for n, value in enumerate(values):
        producer.produce(topic, value, partition=n % partitions)
    assert producer.flush() == 0


class ConfluentSubscriber:
    """A member by confluent-kafka. Records its assignments, revocations and records; commits on revocation."""

    def __init__(self, servers: str, group: str, subscription: str, **settings: object) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "heartbeat.interval.ms": 100,
                "topic.metadata.refresh.interval.ms": 100,
                **settings,
            }
        )
        self.given: list[set[Place]] = []
        self.taken: list[set[Place]] = []
        self.read: list[str] = []
        self._consumer.subscribe([subscription], on_assign=self._assigned, on_revoke=self._revoked)

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.given.append({(one.topic, one.partition) for one in partitions})

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.taken.append({(one.topic, one.partition) for one in partitions})

    @property
    def owned(self) -> set[Place]:
        return {(one.topic, one.partition) for one in self._consumer.assignment()}

    def poll(self, timeout_ms: int) -> None:
        message: Message | None = self._consumer.poll(timeout_ms / 1000)
        if message is None:
            return
        assert message.error() is None, message.error()
        value = message.value()
        assert value is not None
        self.read.append(value.decode())

    def close(self) -> None:
        """Leaves the group, then closes. librdkafka 2.16 waits for ever when it is closed while it revokes partitions,
        which it does whenever another member leaves.
        """
        self._consumer.unsubscribe()
        while self.owned:
            self.poll(50)
        self._consumer.close()


class KafkaPythonSubscriber:
    """The same by kafka-python, for a regular expression or a topic's name."""

    def __init__(self, servers: str, group: str, subscription: str) -> None:
        self._consumer = KafkaConsumer(
            bootstrap_servers=servers,
            group_id=group,
            auto_offset_reset="earliest",
            heartbeat_interval_ms=100,
            metadata_max_age_ms=100,
        )
        if subscription.startswith("^"):
            self._consumer.subscribe(pattern=subscription)
        else:
            self._consumer.subscribe([subscription])
        self.read: list[str] = []

    @property
    def owned(self) -> set[Place]:
        return set(map(tuple, self._consumer.assignment()))

    def poll(self, timeout_ms: int) -> None:
        for batch in self._consumer.poll(timeout_ms=timeout_ms).values():
            self.read.extend(record.value.decode() for record in batch)

    def close(self) -> None:
        self._consumer.close()


Subscriber = ConfluentSubscriber | KafkaPythonSubscriber
SUBSCRIBERS = [ConfluentSubscriber, KafkaPythonSubscriber]


@contextmanager
def closing(*subscribers: Subscriber) -> Iterator[None]:
    yield
    for subscriber in subscribers:
        subscriber.close()


@pytest.mark.parametrize("client", SUBSCRIBERS)
def test_pattern_subscription_gets_a_new_topic(client: type[Subscriber], servers: str, topic: str, group: str) -> None:
    create_topic(servers, f"{topic}-first", 1)
    create_topic(servers, f"not-{topic}", 1)
    produce(servers, f"{topic}-first", 1, ["first"])
    subscriber = client(servers, group, f"^{topic}-.*")
    with closing(subscriber):
        while not subscriber.read:
            subscriber.poll(LONG_MS)
        assert subscriber.owned == {(f"{topic}-first", 0)}
        create_topic(servers, f"{topic}-second", 2)
        produce(servers, f"{topic}-second", 2, ["new", "topic"])
        while not {"new", "topic"} <= set(subscriber.read):
            subscriber.poll(LONG_MS)
        assert subscriber.owned == {(f"{topic}-first", 0), (f"{topic}-second", 0), (f"{topic}-second", 1)}


def test_added_partitions_rebalance_the_group(servers: str, topic: str, group: str) -> None:
    create_topic(servers, topic, 2)
    first, second = ConfluentSubscriber(servers, group, topic), ConfluentSubscriber(servers, group, topic)
    with closing(first, second):
        while (len(first.owned), len(second.owned)) != (1, 1):
            first.poll(50)
            second.poll(50)
        grow_topic(servers, topic, 6)
        produce(servers, topic, 6, map(str, range(12)))
        while (len(first.owned), len(second.owned)) != (3, 3) or len({*first.read, *second.read}) < 12:
            first.poll(50)
            second.poll(50)
        assert not first.owned & second.owned


def test_kafka_python_member_gets_added_partitions(servers: str, topic: str, group: str) -> None:
    create_topic(servers, topic, 1)
    produce(servers, topic, 1, ["before"])
    member = KafkaPythonSubscriber(servers, group, topic)
    with closing(member):
        while not member.read:
            member.poll(LONG_MS)
        grow_topic(servers, topic, 3)
        produce(servers, topic, 3, ["one", "two", "three"])
        while not {"one", "two", "three"} <= set(member.read):
            member.poll(LONG_MS)
        assert member.owned == {(topic, 0), (topic, 1), (topic, 2)}


def test_cooperative_rebalance_revokes_only_moved_partitions(servers: str, topic: str, group: str) -> None:
    """KIP-429: the first member continues to read its kept partitions; each record is read once."""
    create_topic(servers, topic, 4)
    cooperative = {"partition.assignment.strategy": "cooperative-sticky"}
    first = ConfluentSubscriber(servers, group, topic, **cooperative)
    while len(first.owned) < 4:
        first.poll(50)
    second = ConfluentSubscriber(servers, group, topic, **cooperative)
    produce(servers, topic, 4, map(str, range(100)))
    while len(first.read + second.read) < 100 or len(second.owned) < 2:
        first.poll(10)
        second.poll(10)
    moved = second.owned
    assert len(moved) == 2
    assert [taken for taken in first.taken if taken] == [moved]
    assert not second.taken
    assert Counter(first.read + second.read) == Counter(map(str, range(100)))
    second.close()
    while len(first.owned) < 4:
        first.poll(50)
    assert [given for given in first.given if given][1:] == [moved]
    first.close()


def test_group_of_twenty_shares_forty_partitions_and_rebalances_when_half_leave(
    servers: str, topic: str, group: str
) -> None:
    create_topic(servers, topic, 40)
    everybody = [ConfluentSubscriber(servers, group, topic) for _ in range(20)]
    members = everybody

    def shares() -> list[int]:
        """Returns the number of partitions of each member; nothing until all are assigned."""
        owned = [member.owned for member in members]
        return list(map(len, owned)) if len(set().union(*owned)) == 40 else []

    def poll_until_each_owns(amount: int) -> None:
        while shares() != [amount] * len(members):
            for member in members:
                member.poll(5)

    def poll_until_read(amount: int) -> None:
        while len({value for member in everybody for value in member.read}) < amount:
            for member in members:
                member.poll(5)

    poll_until_each_owns(2)
    produce(servers, topic, 40, map(str, range(200)))
    poll_until_read(200)
    assert {len(member.read) for member in everybody} == {10}
    for member in everybody[10:]:
        member.close()
    members = everybody[:10]
    poll_until_each_owns(4)
    produce(servers, topic, 40, map(str, range(200, 400)))
    poll_until_read(400)
    for member in members:
        member.close()

"""Tests of restarts of a group member with `group.instance.id` (KIP-345) and without."""

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from support.clients.topics import create_topic


class Member:
    """A member that reads without committing; records its records and every change of its partitions."""

    def __init__(self, servers: str, topic: str, group: str, instance: str | None) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 100,
                "session.timeout.ms": 10_000,
                **({"group.instance.id": instance} if instance else {}),
            }
        )
        self.partitions: set[int] = set()
        self.revocations = 0
        self.read: list[str] = []
        self._consumer.subscribe([topic], on_assign=self._assigned, on_revoke=self._revoked)

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.partitions = {one.partition for one in partitions}

    def _revoked(self, _: Consumer, __: list[TopicPartition]) -> None:
        self.partitions = set()
        self.revocations += 1

    def take_part(self) -> None:
        message = self._consumer.poll(0.05)
        if message is not None:
            assert message.error() is None, message.error()
            value = message.value()
            assert value is not None
            self.read.append(value.decode())

    def stop(self) -> None:
        self._consumer.close()


class TwoMembers:
    """A group of two members with a partition each; the first can be restarted."""

    def __init__(self, servers: str, topic: str, group: str, *, static: bool) -> None:
        self._place = servers, topic, group
        self._instances = ("one", "two") if static else (None, None)
        self.first = Member(*self._place, self._instances[0])
        self.second = Member(*self._place, self._instances[1])
        while {len(self.first.partitions), len(self.second.partitions)} != {1}:
            self.take_part()
        self.second.revocations = 0

    def take_part(self) -> None:
        self.first.take_part()
        self.second.take_part()

    def start_first_anew(self) -> None:
        self.first = Member(*self._place, self._instances[0])
        while not self.first.partitions:
            self.take_part()

    def stop(self) -> None:
        self.first.stop()
        self.second.stop()


@pytest.fixture
def topic(servers: str, topic: str) -> str:
    """Creates a topic of two partitions."""
    create_topic(servers, topic, 2)
    return topic


def produce(servers: str, topic: str) -> None:
    """Sends its number to each partition."""
    producer = Producer({"bootstrap.servers": servers})
    for partition in range(2):
        producer.produce(topic, str(partition), partition=partition)
    assert producer.flush() == 0


def test_restarted_static_member_causes_no_rebalance(servers: str, topic: str, group: str) -> None:
    """A rebalance first revokes all partitions of every member, so no revocation means no rebalance."""
    members = TwoMembers(servers, topic, group, static=True)
    (of_first,), (of_second,) = members.first.partitions, members.second.partitions
    members.first.stop()
    produce(servers, topic)
    while not members.second.read:
        members.second.take_part()
    members.start_first_anew()
    while not members.first.read:
        members.take_part()
    assert (members.first.read, members.second.read) == ([str(of_first)], [str(of_second)])
    assert members.second.revocations == 0
    members.stop()


def test_restart_without_instance_id_rebalances_twice_and_rereads_records(servers: str, topic: str, group: str) -> None:
    members = TwoMembers(servers, topic, group, static=False)
    (of_first,) = members.first.partitions
    produce(servers, topic)
    while not (members.first.read and members.second.read):
        members.take_part()
    members.first.stop()
    while str(of_first) not in members.second.read:
        members.second.take_part()
    assert members.first.read == [str(of_first)]
    assert members.second.revocations >= 1
    members.second.revocations = 0
    members.start_first_anew()
    assert members.second.revocations >= 1
    members.stop()

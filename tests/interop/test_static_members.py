"""A restart of a group member, with ``group.instance.id`` (KIP-345) and without."""

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic


class Member:
    def __init__(self, servers: str, topic: str, group: str, instance: str | None) -> None:
        self._consumer = KafkaConsumer(
            topic,
            bootstrap_servers=servers,
            group_id=group,
            group_instance_id=instance,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=100,
        )
        self.read: list[bytes] = []

    def take_part(self) -> None:
        for batch in self._consumer.poll(timeout_ms=50).values():
            self.read.extend(record.value for record in batch)

    @property
    def partitions(self) -> set[TopicPartition]:
        assignment: set[TopicPartition] = self._consumer.assignment()
        return assignment

    @property
    def generation(self) -> int:
        """How often the group was balanced anew, as far as this member knows."""
        generation: int = self._consumer.group_metadata().generation_id
        return generation

    def stop(self) -> None:
        self._consumer.close(autocommit=False)


class TwoMembers:
    """A group of two with a partition each, whose first member can be restarted."""

    def __init__(self, servers: str, topic: str, group: str, *, static: bool) -> None:
        self._place = servers, topic, group
        self._instances = ("one", "two") if static else (None, None)
        self.first = Member(*self._place, self._instances[0])
        self.second = Member(*self._place, self._instances[1])
        while not (self.first.partitions and self.second.partitions and self.generations_agree()):
            self.take_part()

    def generations_agree(self) -> bool:
        return self.first.generation == self.second.generation

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
    """A topic of two partitions."""
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([NewTopic(topic, 2, 1)])
    admin.close()
    return topic


def produce(servers: str, topic: str, *values: bytes) -> None:
    """Sends the values to every partition."""
    producer = KafkaProducer(bootstrap_servers=servers)
    for value in values:
        for partition in range(2):
            producer.send(topic, value, partition=partition)
    producer.close()


def test_a_static_member_that_is_back_in_time_rebalances_nobody(servers: str, topic: str, group: str) -> None:
    members = TwoMembers(servers, topic, group, static=True)
    generation, of_first, of_second = members.first.generation, members.first.partitions, members.second.partitions
    members.first.stop()
    produce(servers, topic, b"sent meanwhile")
    while not members.second.read:
        members.second.take_part()
    members.start_first_anew()
    while not members.first.read:
        members.take_part()
    assert (members.first.partitions, members.second.partitions) == (of_first, of_second)
    assert (members.first.generation, members.second.generation) == (generation, generation)
    assert members.first.read + members.second.read == [b"sent meanwhile", b"sent meanwhile"]
    members.stop()


def test_without_an_instance_id_a_restart_rebalances_twice_and_records_are_read_again(
    servers: str, topic: str, group: str
) -> None:
    members = TwoMembers(servers, topic, group, static=False)
    generation, of_first = members.first.generation, members.first.partitions
    produce(servers, topic, b"not committed")
    while not (members.first.read and members.second.read):
        members.take_part()
    members.first.stop()
    while not members.second.partitions >= of_first or len(members.second.read) < 2:
        members.second.take_part()
    assert members.second.generation == generation + 1
    members.start_first_anew()
    while not members.generations_agree():
        members.take_part()
    assert members.second.generation == generation + 2
    assert members.second.read.count(b"not committed") >= 2
    members.stop()

"""Members of the consumer protocol of librdkafka and Java are killed and paused, and the broker is killed: no record is
missed, and none is read twice once the group is stable (KIP-848).
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka.admin import AdminClient
from support.clients.member_processes import MemberProcess, Members
from support.clients.topics import create_topic
from support.processes.broker_process import BrokerProcess

pytestmark = pytest.mark.long

PARTITIONS = 6
BATCH = 300
SETTINGS = {
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
    "offsets.topic.num.partitions": "1",
}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    broker = BrokerProcess(tmp_path, SETTINGS).start()
    yield broker
    broker.stop()


def produce(servers: str, word: str) -> set[str]:
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    values = [f"{word} {number}" for number in range(BATCH)]
    for number, value in enumerate(values):
        producer.produce("t", value, partition=number % PARTITIONS)
    assert producer.flush() == 0
    return set(values)


def committed(servers: str) -> list[int]:
    admin = AdminClient({"bootstrap.servers": servers})
    found = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("g")])["g"].result()
    return [each.offset for each in found.topic_partitions or []]


# The consumer of Kafka 4.2.0 may end by itself when it loses partitions: poll raises IllegalStateException, "No current
# assignment for partition".
@pytest.mark.parametrize("client", ["confluent", "java 4.1.1"])
def test_no_record_is_missed_while_members_and_the_broker_are_killed(client: str, broker: BrokerProcess) -> None:
    protocol = "consumer" if client == "confluent" else None  # Java's program sets it itself
    servers = broker.bootstrap_servers
    create_topic(servers, "t", PARTITIONS)
    sent = produce(servers, "first")
    everyone: list[MemberProcess] = []

    def read() -> set[str]:
        return {value for member in everyone for value in member.read}

    with Members(servers, "g") as members:
        everyone += [members.start(client, "t", group_protocol=protocol) for _ in range(3)]
        paused, killed, _ = everyone
        members.wait_until(lambda: members.shares() == [2, 2, 2] and read() == sent)
        owned_by_paused = set(paused.owned)
        paused.pause()
        sent |= produce(servers, "paused")
        members.wait_until(lambda: read() == sent)  # when the session has ended
        killed.kill()
        everyone.append(members.start(client, "t", group_protocol=protocol))
        broker.kill()
        broker.start()
        sent |= produce(servers, "killed")
        members.wait_until(lambda: read() == sent)
        paused.resume()
        members.wait_until(lambda: owned_by_paused in paused.taken)
        members.wait_until(lambda: members.shares() == [2, 2, 2])
        last = produce(servers, "last")
        sent |= last
        members.wait_until(lambda: read() == sent)
        for member in everyone:
            if member is not killed:
                member.leave()
    counts = Counter(value for member in everyone for value in member.read)
    assert {counts[value] for value in last} == {1}
    assert committed(servers) == [4 * BATCH // PARTITIONS] * PARTITIONS

"""Members of a group are replaced one by one by members of the other group protocol, without loss (KIP-848)."""

import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from kafka import KafkaProducer
from pybroker import Broker
from support.clients.group_members import (
    ConfluentMember,
    ConsumerProtocolMember,
    JavaMember,
    KafkaPythonMember,
    Member,
    Membership,
    NewJavaMember,
)
from support.clients.topics import create_topic
from support.processes.java import java_command
from support.processes.kafka_versions import libs_of

PARTITIONS = 6
SETTINGS = {
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.session.timeout.ms": "4000",
    "group.consumer.min.session.timeout.ms": "4000",
}


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker(SETTINGS) as broker:
        yield broker.bootstrap_servers


class Group:
    """A group whose members change; records are produced before, during and after each change."""

    def __init__(self, servers: str, topic: str, group: str, assignor: str = "range") -> None:
        create_topic(servers, topic, PARTITIONS)
        self.membership = Membership(servers, topic, group, assignor)
        self._admin = AdminClient({"bootstrap.servers": servers})
        self._producer = KafkaProducer(bootstrap_servers=servers)
        self._numbers = count()
        self._sent: set[tuple[int, int]] = set()

    def send(self, amount: int) -> None:
        topic = self.membership.topic
        sent = [self._producer.send(topic, b"x", partition=next(self._numbers) % PARTITIONS) for _ in range(amount)]
        self._sent.update((future.get(30).partition, future.get(30).offset) for future in sent)

    def shared_by(self, *shares: int) -> None:
        self.send(60)
        self.membership.wait_until(lambda: self.membership.shares() == sorted(shares))
        self.send(60)
        self.membership.wait_until(lambda: self.membership.read() == self._sent)

    @property
    def kind(self) -> str:
        listed = self._admin.list_consumer_groups().result().valid
        return str(next(each.type.name for each in listed if each.group_id == self.membership.group))

    def end(self, *members: Member) -> None:
        for member in members:
            member.leave()
        self.send(60)
        for member in self.membership.members:
            member.thread.join()
        assert not self.membership.failures()
        self._producer.close()


def test_members_are_replaced_one_by_one_up_and_down(servers: str, topic: str, group: str) -> None:
    members = Group(servers, topic, group)
    first, second = KafkaPythonMember(members.membership), ConfluentMember(members.membership)
    members.shared_by(3, 3)
    assert members.kind == "CLASSIC"
    newer = ConsumerProtocolMember(members.membership)
    members.shared_by(2, 2, 2)
    assert members.kind == "CONSUMER"
    first.leave()
    members.shared_by(3, 3)
    second.leave()
    members.shared_by(6)
    older = ConfluentMember(members.membership)
    members.shared_by(3, 3)
    newer.leave()
    members.shared_by(6)
    assert members.kind == "CLASSIC"
    members.end(older)


@pytest.mark.long
@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_members_of_java_are_replaced_one_by_one_up_and_down(
    servers: str, topic: str, group: str, assignor: str, tmp_path: Path
) -> None:
    members = Group(servers, topic, group, assignor)
    classic: list[Member] = [JavaMember(members.membership, tmp_path)]
    if assignor == "range":
        classic.append(ConfluentMember(members.membership))
    else:  # librdkafka sends data of its assignor with the assignments, which Kafka refuses to lose
        classic.append(JavaMember(members.membership, tmp_path))
    members.shared_by(3, 3)
    newer = NewJavaMember(members.membership, tmp_path)
    members.shared_by(2, 2, 2)
    for member, shares in zip(classic, ((3, 3), (6,)), strict=True):
        member.leave()
        members.shared_by(*shares)
    other = NewJavaMember(members.membership, tmp_path)
    members.shared_by(3, 3)
    classic = [JavaMember(members.membership, tmp_path)]
    members.shared_by(2, 2, 2)
    newer.leave()
    members.shared_by(3, 3)
    other.leave()
    members.shared_by(6)
    assert members.kind == "CLASSIC"
    members.end(*classic)


@pytest.mark.long
def test_java_members_of_the_consumer_protocol_share_partitions_through_a_kill(
    servers: str, topic: str, group: str, tmp_path: Path
) -> None:
    members = Group(servers, topic, group)
    first = NewJavaMember(members.membership, tmp_path)
    members.shared_by(6)
    second = NewJavaMember(members.membership, tmp_path)
    members.shared_by(3, 3)
    state, _, described = (described_by_kafka(servers, group, what) for what in ("--state", "--offsets", "--members"))
    assert "Stable" in state
    assert described.count(" 3 ") == 2, described
    second.kill()
    members.shared_by(6)
    members.end(first)
    assert "Empty" in described_by_kafka(servers, group, "--state")


def described_by_kafka(servers: str, group: str, what: str) -> str:
    """The output of ``kafka-consumer-groups --describe`` of Kafka 4.1.1."""
    command = java_command(
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        *("--bootstrap-server", servers, "--describe", "--group", group, what),
        libs=libs_of("4.1.1"),
    )
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout

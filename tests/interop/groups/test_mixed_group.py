"""Tests of one group with members by kafka-python, confluent-kafka and Kafka's own Java consumer."""

from itertools import count
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from support.clients.group_members import ASSIGNORS, ConfluentMember, JavaMember, KafkaPythonMember, Membership
from support.clients.topics import create_topic

PARTITIONS = 6


@pytest.mark.parametrize("assignor", [ASSIGNORS[0], pytest.param(ASSIGNORS[1], marks=pytest.mark.long)])
def test_group_of_three_clients_rebalances_without_loss(
    servers: str, topic: str, group: str, assignor: str, tmp_path: Path
) -> None:
    create_topic(servers, topic, PARTITIONS)
    producer = KafkaProducer(bootstrap_servers=servers)
    numbers = count()
    sent: set[tuple[int, int]] = set()

    def send(amount: int) -> None:
        futures = [producer.send(topic, b"x", partition=next(numbers) % PARTITIONS) for _ in range(amount)]
        sent.update((future.get(30).partition, future.get(30).offset) for future in futures)

    membership = Membership(servers, topic, group, assignor)

    def shared_by(*shares: int) -> None:
        """Waits for this distribution of partitions; records are produced before, during and after the change."""
        send(60)
        membership.wait_until(lambda: membership.shares() == sorted(shares))
        send(60)
        membership.wait_until(lambda: membership.read() == sent)

    first = KafkaPythonMember(membership)
    shared_by(6)
    second = ConfluentMember(membership)
    shared_by(3, 3)
    third = JavaMember(membership, tmp_path)
    shared_by(2, 2, 2)
    first.leave()
    shared_by(3, 3)
    second.leave()
    shared_by(6)
    third.leave()
    for member in membership.members:
        member.thread.join()
    producer.close()
    admin = KafkaAdminClient(bootstrap_servers=servers)
    committed = admin.list_group_offsets(group)[group]
    admin.close()
    ends = {TopicPartition(topic, one): offset + 1 for one, offset in sorted(sent)}
    assert {partition: offset.offset for partition, offset in committed.items()} == ends

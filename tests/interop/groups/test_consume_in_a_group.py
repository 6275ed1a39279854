"""``pybroker consume -g`` shares a group with stock clients, whichever assignor they use and whoever leads."""

from itertools import count

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from pybroker.client import group_membership
from support.clients.group_members import ConfluentMember, KafkaPythonMember, Membership, PybrokerMember
from support.clients.topics import create_topic

PARTITIONS = 6


@pytest.mark.parametrize(
    ("assignor", "stock"),
    [
        ("cooperative-sticky", ConfluentMember),
        ("sticky", KafkaPythonMember),
        pytest.param("range", ConfluentMember, marks=pytest.mark.long),
        pytest.param("roundrobin", KafkaPythonMember, marks=pytest.mark.long),
    ],
)
def test_every_record_is_read_and_committed_while_members_come_and_go(
    servers: str,
    topic: str,
    group: str,
    monkeypatch: pytest.MonkeyPatch,
    assignor: str,
    stock: type[ConfluentMember | KafkaPythonMember],
) -> None:
    monkeypatch.setattr(group_membership, "_HEARTBEAT_S", 0.2)
    create_topic(servers, topic, PARTITIONS)
    producer = KafkaProducer(bootstrap_servers=servers)
    numbers = count()
    sent: set[tuple[int, int]] = set()
    membership = Membership(servers, topic, group, assignor)

    def send() -> None:
        futures = [producer.send(topic, b"x", partition=next(numbers) % PARTITIONS) for _ in range(60)]
        sent.update((future.get(30).partition, future.get(30).offset) for future in futures)

    def shared_by(*shares: int) -> None:
        """Waits for this distribution of partitions; records are produced before, during and after the change."""
        send()
        membership.wait_until(lambda: membership.shares() == sorted(shares))
        send()
        membership.wait_until(lambda: membership.read() == sent)

    first = PybrokerMember(membership)
    shared_by(6)
    second = stock(membership)
    shared_by(3, 3)
    first.leave()
    shared_by(6)
    third = PybrokerMember(membership)
    shared_by(3, 3)
    second.leave()
    shared_by(6)
    third.leave()
    send()
    for member in membership.members:
        member.thread.join()
    producer.close()
    admin = KafkaAdminClient(bootstrap_servers=servers)
    committed = admin.list_group_offsets(group)[group]
    admin.close()
    behind = {at: max(offset for partition, offset in membership.read() if partition == at) + 1 for at in range(6)}
    assert {at.partition: offset.offset for at, offset in committed.items()} == behind

"""Tests with Java clients of Kafka 4.1, franz-go and kafkajs. clients/README.md describes their programs."""

import json
import subprocess
from collections import Counter

import pytest
from kafka import KafkaConsumer, KafkaProducer
from support.clients.foreign_clients import client_command
from support.clients.foreign_members import ForeignMember
from support.clients.group_members import Membership

Facts = list[dict[str, object]]


class Client:
    """A client in another language, run by its commands."""

    def __init__(self, name: str, servers: str) -> None:
        self._command = client_command(name)
        self._servers = servers

    def run(self, command: str, *arguments: object) -> Facts:
        """Returns the output of the command. Fails the test with its error output if it exits with an error."""
        done = subprocess.run(self.line(command, *arguments), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return [json.loads(fact) for fact in done.stdout.splitlines()]

    def line(self, command: str, *arguments: object) -> list[str]:
        return [*self._command, command, self._servers, *map(str, arguments)]


@pytest.fixture(params=[pytest.param("java", marks=pytest.mark.long), "go", "node"])
def client(request: pytest.FixtureRequest, servers: str) -> Client:
    return Client(request.param, servers)


def read_by_kafka_python(servers: str, topic: str, amount: int) -> Facts:
    consumer = KafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest")
    records: Facts = []
    while len(records) < amount:
        for batch in consumer.poll(timeout_ms=1000).values():
            for record in batch:
                place = {"partition": record.partition, "offset": record.offset}
                headers = {name: value.decode() for name, value in record.headers}
                records.append({**place, "key": record.key.decode(), "value": record.value.decode(), **headers})
    consumer.close()
    return records


def produce_by_kafka_python(servers: str, topic: str, amount: int) -> None:
    producer = KafkaProducer(bootstrap_servers=servers, compression_type="gzip", linger_ms=5)
    for n in range(amount):
        producer.send(topic, f"value-{n}".encode(), f"key-{n}".encode(), headers=[("n", str(n).encode())])
    producer.flush(30)
    producer.close()


def by_place(records: Facts) -> Facts:
    return sorted(records, key=lambda record: (record["partition"], record["offset"]))


def test_idempotent_records_of_each_client_are_read_by_another(client: Client, servers: str, topic: str) -> None:
    assert client.run("create", topic, 3) == [{"partitions": 3}]
    acknowledged = client.run("produce", topic, 0, 50) + client.run("produce", topic, 50, 50)
    sent = [{**place, "key": f"key-{n}", "value": f"value-{n}", "n": str(n)} for n, place in enumerate(acknowledged)]
    for partition in range(3):
        offsets = [place["offset"] for place in acknowledged if place["partition"] == partition]
        assert offsets == list(range(len(offsets)))
        assert offsets
    assert by_place(read_by_kafka_python(servers, topic, 100)) == by_place(sent)


def test_group_of_each_client_resumes_where_it_committed(client: Client, servers: str, topic: str, group: str) -> None:
    client.run("create", topic, 3)
    produce_by_kafka_python(servers, topic, 100)
    first = client.run("consume", topic, group, 40)
    state, *committed = client.run("committed", group)
    assert state["state"] in ("Empty", "EMPTY")
    read = Counter(record["partition"] for record in first)
    assert {place["partition"]: place["offset"] for place in committed if place["offset"] != -1} == read
    second = client.run("consume", topic, group, 60)
    assert by_place(first + second) == by_place(read_by_kafka_python(servers, topic, 100))


def test_each_client_can_delete_a_topic(client: Client, topic: str) -> None:
    client.run("create", topic, 1)
    assert client.run("delete", topic) == [{"left": False}]


def test_group_of_each_client_rebalances_without_loss(client: Client, servers: str, topic: str, group: str) -> None:
    client.run("create", topic, 4)
    membership = Membership(servers, topic, group, assignor="its own")
    producer = KafkaProducer(bootstrap_servers=servers)
    sent: set[tuple[int, int]] = set()

    def send() -> None:
        futures = [producer.send(topic, b"x", partition=n % 4) for n in range(40)]
        sent.update((future.get(30).partition, future.get(30).offset) for future in futures)

    def shared_by(*shares: int) -> None:
        """Waits for this distribution of partitions; records are produced before and after the change."""
        send()
        membership.wait_until(lambda: membership.shares() == sorted(shares))
        send()
        membership.wait_until(lambda: membership.read() == sent)

    def join() -> ForeignMember:
        return ForeignMember(membership, client.line("member", topic, group))

    first = join()
    shared_by(4)
    second = join()
    shared_by(2, 2)
    first.leave()
    shared_by(4)
    second.leave()
    for member in membership.members:
        member.thread.join()
    producer.close()
    state, *committed = client.run("committed", group)
    assert state["state"] in ("Empty", "EMPTY")
    ends = Counter(partition for partition, _ in sent)
    assert {place["partition"]: place["offset"] for place in committed} == ends

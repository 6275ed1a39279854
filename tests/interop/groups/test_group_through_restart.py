"""Tests of a group whose coordinator restarts: its generation is restored and its members continue in it."""

import pytest
from confluent_kafka import Producer
from support.clients.member_processes import Members, mostly
from support.clients.topics import create_topic
from support.processes.broker_process import BrokerProcess
from support.processes.started_broker import StartBroker

SESSION_MS = 120_000
"""Longer than any restart."""


def produce(servers: str, topic: str, word: str) -> set[str]:
    producer = Producer({"bootstrap.servers": servers})
    for partition in range(2):
        producer.produce(topic, f"{word}-{partition}", partition=partition)
    assert producer.flush() == 0
    return {f"{word}-{partition}" for partition in range(2)}


@pytest.mark.parametrize("end", [pytest.param("stop", marks=pytest.mark.long), "kill"])
@pytest.mark.parametrize("client", mostly("java", "confluent"))
def test_members_continue_without_rebalance_after_a_broker_restart(
    client: str, end: str, start_broker: StartBroker, topic: str, group: str
) -> None:
    broker = start_broker({"offsets.topic.num.partitions": "1"})
    if end == "kill" and not isinstance(broker, BrokerProcess):
        pytest.skip("a killed Kafka can't start before ZooKeeper has missed it")
    if client == "confluent" and not isinstance(broker, BrokerProcess):
        pytest.skip("a Kafka that has only just started knows no topic, which librdkafka tells as an error")
    servers = broker.bootstrap_servers
    create_topic(servers, topic, 2)
    with Members(servers, group) as members:
        static = members.start(client, topic, group_instance_id="static", session_timeout_ms=SESSION_MS)
        dynamic = members.start(client, topic, session_timeout_ms=SESSION_MS)
        members.wait_until(lambda: members.shares() == [1, 1])
        before = produce(servers, topic, "before")
        members.wait_until(lambda: before <= {*static.read, *dynamic.read})
        taken = list(static.taken), list(dynamic.taken)
        getattr(broker, end)()
        broker.start()
        after = produce(servers, topic, "after")
        members.wait_until(lambda: after <= {*static.read, *dynamic.read})
        assert (static.taken, dynamic.taken) == taken
        dynamic.leave()
        members.wait_until(lambda: members.shares() == [2])

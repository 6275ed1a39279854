"""A pybroker and an Apache Kafka broker log in to each other by tokens of one provider."""

import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.processes.ports import free_port
from support.security.token_provider import TokenProvider, token_provider

SECRET = "canary-0f1e2d"
LIFETIME_S = 5


def settings(broker_id: int, port: int, zookeeper: ZooKeeperProcess, provider: TokenProvider) -> dict[str, str]:
    return provider.settings() | {
        "broker.id": str(broker_id),
        "listeners": f"SASL_PLAINTEXT://127.0.0.1:{port}",
        "advertised.listeners": f"SASL_PLAINTEXT://127.0.0.1:{port}",
        "zookeeper.connect": zookeeper.connect,
    }


def client_of(servers: str, provider: TokenProvider) -> dict[str, Any]:
    return {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _config: (provider.token("carol"), time.time() + LIFETIME_S),
    }


def produce_past_the_ends_of_tokens(client: dict[str, Any], provider: TokenProvider) -> None:
    """To both leaders; each record needs both replicas. Meanwhile the provider gives six more tokens."""
    admin = AdminClient(client)
    while len(admin.list_topics(timeout=30).brokers) < 2:
        pass
    admin.create_topics([NewTopic("t", 4, 2, config={"min.insync.replicas": "2"})])["t"].result()
    producer, errors = Producer(client | {"acks": "all"}), []
    until = len(provider.server.received) + 6
    while len(provider.server.received) < until:
        for partition in range(4):
            producer.produce("t", b"x", partition=partition, on_delivery=lambda error, _message: errors.append(error))
        producer.flush()
    assert set(errors) == {None}


@pytest.mark.long  # brokers log in by SCRAM and clients in Java by tokens in all runs
@pytest.mark.parametrize("first", ["kafka", "pybroker"])
def test_brokers_of_both_kinds_log_in_to_each_other_by_tokens(first: str, tmp_path: Path) -> None:
    """The broker that starts first is the controller."""
    zookeeper = ZooKeeperProcess(tmp_path / "zookeeper").start()
    ports = free_port(), free_port()
    with token_provider(tmp_path, SECRET) as provider:
        provider.lifetime_s = LIFETIME_S
        kafka = KafkaProcess(tmp_path / "kafka", zookeeper, settings(1, ports[0], zookeeper, provider))
        broker = BrokerProcess(tmp_path / "pybroker", settings(2, ports[1], zookeeper, provider))
        try:
            for process in (kafka, broker) if first == "kafka" else (broker, kafka):
                process.start()
            servers = ",".join(f"127.0.0.1:{port}" for port in ports)
            produce_past_the_ends_of_tokens(client_of(servers, provider), provider)
        finally:
            broker.stop()
            kafka.kill()
            zookeeper.kill()
    assert SECRET not in broker.output
    assert "Traceback" not in broker.output

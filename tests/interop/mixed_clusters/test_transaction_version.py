"""Tests that a level of transaction.version and a Kafka 3.9, which supports no feature, exclude each other."""

from pathlib import Path

import pytest
from support.clients.kafka_tools import run_tool
from support.processes.cluster_processes import ClusterProcesses

OURS, KAFKA = 1, 2
SETTINGS = {"controlled.shutdown.retry.backoff.ms": "200", "zookeeper.connection.timeout.ms": "120000"}


def kafka_features(servers: str, *arguments: str, expected: int = 0) -> str:
    return run_tool(
        "org.apache.kafka.tools.FeatureCommand", "--bootstrap-server", servers, *arguments, expected=expected
    )


@pytest.mark.long
def test_kafka_3_9_starts_only_without_a_level_and_refuses_a_level_while_it_runs(tmp_path: Path) -> None:
    cluster = ClusterProcesses(tmp_path, 2, SETTINGS, kafkas=[KAFKA])
    try:
        cluster.start(OURS)
        servers, kafka = cluster.brokers[OURS].bootstrap_servers, cluster.brokers[KAFKA]
        kafka_features(servers, "upgrade", "--feature", "transaction.version=2")
        assert "FinalizedVersionLevel: 2" in kafka_features(servers, "describe")
        with pytest.raises(AssertionError, match="feature compatibility checks failed"):
            kafka.start()
        kafka.kill()

        kafka_features(servers, "downgrade", "--feature", "transaction.version=0")
        cluster.start(KAFKA)
        cluster.await_brokers()
        refused = kafka_features(servers, "upgrade", "--feature", "transaction.version=2", expected=1)
        assert f"Broker {KAFKA} does not support this feature." in refused
    finally:
        cluster.close()

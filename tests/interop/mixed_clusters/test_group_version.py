"""Tests that the level of group.version and a Kafka 3.9, which would lose groups of KIP-848, exclude each other."""

from pathlib import Path

import pytest
from interop.mixed_clusters.test_transaction_version import KAFKA, OURS, SETTINGS, kafka_features
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from support.clients.wire_client import WireClient
from support.processes.cluster_processes import ClusterProcesses

PROTOCOLS = {"group.coordinator.rebalance.protocols": "classic,consumer"}


def heartbeat_code(servers: str) -> ErrorCode:
    with WireClient(servers) as client:
        return ErrorCode(client.ask(ConsumerGroupHeartbeatRequest(group_id="g"), 0).error_code)


@pytest.mark.long
def test_kafka_3_9_starts_only_without_a_level_and_refuses_a_level_while_it_runs(tmp_path: Path) -> None:
    cluster = ClusterProcesses(tmp_path, 2, SETTINGS, kafkas=[KAFKA], ours=PROTOCOLS)
    try:
        cluster.start(OURS)
        servers, kafka = cluster.brokers[OURS].bootstrap_servers, cluster.brokers[KAFKA]
        kafka_features(servers, "upgrade", "--feature", "group.version=1")
        assert heartbeat_code(servers) is not ErrorCode.UNSUPPORTED_VERSION
        with pytest.raises(AssertionError, match="feature compatibility checks failed"):
            kafka.start()
        kafka.kill()

        kafka_features(servers, "downgrade", "--feature", "group.version=0")
        cluster.start(KAFKA)
        cluster.await_brokers()
        refused = kafka_features(servers, "upgrade", "--feature", "group.version=1", expected=1)
        assert f"Broker {KAFKA} does not support this feature." in refused
        assert heartbeat_code(servers) is ErrorCode.UNSUPPORTED_VERSION
    finally:
        cluster.close()

"""Tests that the levels of group.version and share.version and a Kafka 3.9, which would lose such groups, exclude each
other."""

from pathlib import Path

import pytest
from interop.mixed_clusters.test_transaction_version import KAFKA, OURS, SETTINGS, kafka_features
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pybroker.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from support.clients.wire_client import WireClient
from support.processes.cluster_processes import ClusterProcesses

PROTOCOLS = {"group.coordinator.rebalance.protocols": "classic,consumer,share"}
RAISED = ("--feature", "group.version=1", "--feature", "share.version=1")
LOWERED = ("--feature", "group.version=0", "--feature", "share.version=0")


def are_served(servers: str) -> bool:
    """Whether the broker serves consumer groups and share groups; both or none."""
    with WireClient(servers) as client:
        codes = (
            client.ask(ConsumerGroupHeartbeatRequest(group_id="g"), 0).error_code,
            client.ask(ShareGroupHeartbeatRequest(group_id="s"), 1).error_code,
        )
    (is_refused,) = {code == ErrorCode.UNSUPPORTED_VERSION for code in codes}
    return not is_refused


@pytest.mark.long
def test_kafka_3_9_starts_only_without_levels_and_forbids_them_while_it_runs(tmp_path: Path) -> None:
    cluster = ClusterProcesses(tmp_path, 2, SETTINGS, kafkas=[KAFKA], ours=PROTOCOLS)
    try:
        cluster.start(OURS)
        servers, kafka = cluster.brokers[OURS].bootstrap_servers, cluster.brokers[KAFKA]
        kafka_features(servers, "upgrade", *RAISED)
        assert are_served(servers)
        with pytest.raises(AssertionError, match="feature compatibility checks failed"):
            kafka.start()
        kafka.kill()

        kafka_features(servers, "downgrade", *LOWERED)
        cluster.start(KAFKA)
        cluster.await_brokers()
        refused = kafka_features(servers, "upgrade", *RAISED, expected=1)
        for feature in ("group.version", "share.version"):
            assert f"feature {feature}. Broker {KAFKA} does not support this feature." in refused
        assert not are_served(servers)
    finally:
        cluster.close()

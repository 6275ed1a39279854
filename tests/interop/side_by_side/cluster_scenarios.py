"""Scenarios of DescribeCluster, UpdateFeatures, and APIs that only clusters without ZooKeeper have."""

from interop.side_by_side.conversation import Conversation
from pybroker.protocol.apis import API_SPECS, Listener
from pybroker.protocol.messages import describe_topic_partitions as dt
from pybroker.protocol.messages.describe_cluster import DescribeClusterRequest
from pybroker.protocol.messages.envelope import EnvelopeRequest
from pybroker.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

__all__ = ["SCENARIOS"]


def describe_cluster(talk: Conversation) -> None:
    talk.ask(DescribeClusterRequest(), 0)
    talk.ask(DescribeClusterRequest(include_cluster_authorized_operations=True), 0)
    talk.ask(DescribeClusterRequest(), 1)
    talk.ask(DescribeClusterRequest(include_cluster_authorized_operations=True), 1)
    for endpoint_type in (2, 0, 3, -1):
        talk.ask(DescribeClusterRequest(endpoint_type=endpoint_type), 1, note=f"endpoint type {endpoint_type}")


def update_features(talk: Conversation) -> None:
    for name in ("metadata.version", "nonsense", ""):
        for level in (7, 1, 0, -1):
            for kind in (0, 1, 2, 3, 9):
                update = FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
                talk.ask(UpdateFeaturesRequest(feature_updates=[update]), 1, note=f"{name!r} {level} {kind}")
            for flag in (True, False):
                update = FeatureUpdateKey(feature=name, max_version_level=level, allow_downgrade=flag)
                talk.ask(UpdateFeaturesRequest(feature_updates=[update]), 0, note=f"{name!r} {level} {flag}")
    twice = [FeatureUpdateKey(feature="x", max_version_level=level) for level in (1, 0)]
    talk.ask(UpdateFeaturesRequest(feature_updates=twice), 0, note="twice")
    talk.ask(UpdateFeaturesRequest(feature_updates=twice, validate_only=True), 1, note="twice")
    for version in range(2):
        talk.ask(UpdateFeaturesRequest(), version, note="none")


def an_envelope(talk: Conversation) -> None:
    talk.ask(EnvelopeRequest(request_data=b"", request_principal=None, client_host_address=b"\x7f\0\0\1"), 0)


def requests_of_clusters_without_zookeeper(talk: Conversation) -> None:
    for key, spec in API_SPECS.items():
        if Listener.ZK_BROKER not in spec.listeners:
            for version in spec.versions:
                talk.send_body(key, version, b"\0" * 60).answer()


def describe_topic_partitions(talk: Conversation) -> None:
    asked = dt.DescribeTopicPartitionsRequest(topics=[dt.TopicRequest(name=talk.name("unknown"))])
    talk.ask(asked, 0)


SCENARIOS = [
    describe_cluster,
    update_features,
    an_envelope,
    requests_of_clusters_without_zookeeper,
    describe_topic_partitions,
]

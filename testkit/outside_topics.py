"""Creates topics on a cluster outside this thread, by Kafka's protocol."""

import time
from collections.abc import Mapping

from ..client.admin_cluster import AdminCluster
from ..client.client_settings import take_client_settings
from ..client.given_options import GivenOptions
from ..protocol.errors import ErrorCode, error_for
from ..protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ..protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from ..protocol.sentinels import NO_LEADER

__all__ = ["create_topic_outside"]

_LIMIT_S = 30.0
_BETWEEN_LOOKS_S = 0.02
_DEFAULT = -1


def create_topic_outside(
    bootstrap_servers: str, topic: str, partitions: int | None, settings: Mapping[str, str | int | float]
) -> None:
    """Create a topic; return when each broker knows the leaders. Raises KafkaError, ConnectionError, TimeoutError."""
    options = GivenOptions({"bootstrap.servers": bootstrap_servers})
    with AdminCluster(take_client_settings(options, "pybroker-testkit")) as cluster:
        wanted = CreatableTopic(
            name=topic,
            num_partitions=_DEFAULT if partitions is None else partitions,
            replication_factor=_DEFAULT,
            configs=[CreatableTopicConfig(name=name, value=str(value)) for name, value in settings.items()],
        )
        request = CreateTopicsRequest(topics=[wanted], timeout_ms=int(_LIMIT_S * 1000))
        (result,) = cluster.ask_controller(request).topics
        if result.error_code != ErrorCode.NONE:
            raise error_for(ErrorCode(result.error_code), result.error_message)
        question = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
        deadline = time.monotonic() + _LIMIT_S
        brokers = [broker.node_id for broker in cluster.metadata().brokers]
        while not all(_has_leaders(cluster.ask_broker(broker, question)) for broker in brokers):
            if time.monotonic() > deadline:
                raise TimeoutError(f"topic {topic!r} has no leaders within {_LIMIT_S:g} s")
            time.sleep(_BETWEEN_LOOKS_S)


def _has_leaders(metadata: MetadataResponse) -> bool:
    (topic,) = metadata.topics
    return topic.error_code == ErrorCode.NONE and all(each.leader_id != NO_LEADER for each in topic.partitions)

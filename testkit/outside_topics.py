"""Creates topics on a cluster outside this thread, by Kafka's protocol."""

from collections.abc import Mapping

from ..client.admin_cluster import AdminCluster
from ..client.client_settings import take_client_settings
from ..client.given_options import GivenOptions
from ..client.topic_leaders import wait_for_leaders
from ..protocol.errors import ErrorCode, LeaderNotAvailableError, error_for
from ..protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

__all__ = ["create_topic_outside"]

_LIMIT_MS = 30_000
_DEFAULT = -1


def create_topic_outside(
    bootstrap_servers: str, topic: str, partitions: int | None, settings: Mapping[str, str | int | float]
) -> None:
    """Create a topic; return when each broker knows the leaders. Raises KafkaError, ConnectionError, TimeoutError."""
    options = GivenOptions({"bootstrap.servers": bootstrap_servers})
    with AdminCluster(take_client_settings(options, "pybroker-testkit"), _LIMIT_MS) as cluster:
        wanted = CreatableTopic(
            name=topic,
            num_partitions=_DEFAULT if partitions is None else partitions,
            replication_factor=_DEFAULT,
            configs=[CreatableTopicConfig(name=name, value=str(value)) for name, value in settings.items()],
        )
        request = CreateTopicsRequest(topics=[wanted], timeout_ms=_LIMIT_MS)
        (result,) = cluster.ask_controller(request).topics
        if result.error_code != ErrorCode.NONE:
            raise error_for(ErrorCode(result.error_code), result.error_message)
        try:
            wait_for_leaders(cluster, [topic])
        except LeaderNotAvailableError as error:
            raise TimeoutError(str(error)) from None

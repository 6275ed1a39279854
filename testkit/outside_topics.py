"""Creates and deletes topics on a cluster outside this thread, by Kafka's protocol."""

from collections.abc import Collection, Mapping

from ..client.admin_cluster import AdminCluster
from ..client.client_settings import take_client_settings
from ..client.given_options import GivenOptions
from ..client.topic_leaders import wait_for_leaders
from ..protocol.errors import ErrorCode, LeaderNotAvailableError, error_for
from ..protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ..protocol.messages.delete_topics import DeleteTopicsRequest

__all__ = ["create_topic_outside", "delete_topics_outside", "open_outside"]

_LIMIT_MS = 30_000
_DEFAULT = -1


def create_topic_outside(
    bootstrap_servers: str,
    topic: str,
    partitions: int | None,
    settings: Mapping[str, str | int | float],
    deleted: Collection[str] = (),
) -> None:
    """Create a topic; return when each broker knows the leaders. Raises KafkaError, ConnectionError, TimeoutError.

    ``deleted``: topics that may still be there, because a cluster goes on deleting after it has answered.
    """
    wanted = CreatableTopic(
        name=topic,
        num_partitions=_DEFAULT if partitions is None else partitions,
        replication_factor=_DEFAULT,
        configs=[CreatableTopicConfig(name=name, value=str(value)) for name, value in settings.items()],
    )
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=_LIMIT_MS)

    def create() -> None:
        (result,) = cluster.ask_controller(request).topics
        if result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS and topic in deleted:
            raise error_for(ErrorCode.LEADER_NOT_AVAILABLE, f"topic {topic} of an earlier test is still being deleted")
        if result.error_code != ErrorCode.NONE:
            raise error_for(ErrorCode(result.error_code), result.error_message)

    with open_outside(bootstrap_servers) as cluster:
        try:
            cluster.retried(create)
            wait_for_leaders(cluster, [topic])
        except LeaderNotAvailableError as error:
            raise TimeoutError(str(error)) from None


def delete_topics_outside(bootstrap_servers: str, topics: Collection[str]) -> None:
    """Begin to delete topics. Raises KafkaError and ConnectionError; topics that are not there are passed over."""
    with open_outside(bootstrap_servers) as cluster:
        cluster.ask_controller(DeleteTopicsRequest(topic_names=list(topics), timeout_ms=_LIMIT_MS))


def open_outside(bootstrap_servers: str, *, committed_only: bool = False) -> AdminCluster:
    """A client of the cluster. ``committed_only``: it reads no records of open and aborted transactions."""
    level = "read_committed" if committed_only else "read_uncommitted"
    options = GivenOptions({"bootstrap.servers": bootstrap_servers, "isolation.level": level})
    return AdminCluster(take_client_settings(options, "pybroker-testkit"), _LIMIT_MS)

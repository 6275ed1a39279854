"""Creates the topics of an audit."""

from collections.abc import Mapping

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from support.load.cluster_view import ClusterView
from support.time.patience import await_that

__all__ = ["create_topics"]

_REPLICAS = 3
_TIMEOUT_MS = 30_000
_DONE = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)


def create_topics(view: ClusterView, partitions: Mapping[str, int]) -> None:
    """Creates the topics with so many partitions; waits until all replicas are in sync."""
    topics = [
        CreatableTopic(name=name, num_partitions=count, replication_factor=_REPLICAS)
        for name, count in partitions.items()
    ]

    def are_there() -> bool:
        answer = view.ask_controller(CreateTopicsRequest(topics=topics, timeout_ms=_TIMEOUT_MS), 5)
        return answer is not None and all(topic.error_code in _DONE for topic in answer.topics)

    await_that(are_there, f"{', '.join(partitions)} are there")
    view.await_health()

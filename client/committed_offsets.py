"""The offsets that a group has committed, as its coordinator knows them."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..base.topic_partition import TopicPartition
from ..protocol.errors import error_for
from ..protocol.messages.offset_fetch import OffsetFetchRequest
from .admin_cluster import AdminCluster

__all__ = ["Committed", "committed_in", "committed_offsets"]


class Committed(NamedTuple):
    """``leader_epoch``: None when it is unknown. ``lag``: of a share group, whose coordinator tells it."""

    offset: int
    leader_epoch: int | None
    metadata: str
    lag: int | None = None


def committed_offsets(cluster: AdminCluster, group: str) -> dict[TopicPartition, Committed]:
    """All offsets that a group has committed. Raises KafkaError."""
    request = OffsetFetchRequest(group_id=group, topics=None)
    return cluster.retried(lambda: committed_in(group, cluster.ask_coordinator(group, request)))


def committed_in(group: str, answer: Any) -> dict[TopicPartition, Committed]:
    """The offsets in the response to an OffsetFetch for one group. Raises KafkaError."""
    if answer.error_code:
        raise error_for(answer.error_code, f"group {group}: {error_for(answer.error_code)}")
    found = {}
    for topic in answer.topics:
        for each in topic.partitions:
            if each.committed_offset >= 0 and not each.error_code:
                epoch = each.committed_leader_epoch
                at = TopicPartition(topic.name, each.partition_index)
                found[at] = Committed(each.committed_offset, epoch if epoch >= 0 else None, each.metadata or "")
    return dict(sorted(found.items()))

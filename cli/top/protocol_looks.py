"""Looks at a cluster by Kafka's protocol: ends of partitions, sizes of logs, offsets of groups.

**Limits.** Each look asks for all partitions and all groups, because Kafka tells no rates. Without the right to
describe the cluster there are no sizes.
"""

import time
from collections import defaultdict

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import KafkaError, error_for
from ...protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from ...protocol.messages.metadata import MetadataResponse
from ...protocol.sentinels import EARLIEST, LATEST
from ..groups.described_groups import SHARE, described_by, listed_groups
from ..groups.group_offsets import offsets_by
from ..groups.partition_offsets import offsets_at
from .rates import GroupLook, LogsLook, Look, view_of
from .shapes import TopView

__all__ = ["ProtocolLooks"]

_MOST_PROBLEMS = 5


class ProtocolLooks:
    """Takes looks; rates are those since the look before."""

    def __init__(self, cluster: AdminCluster) -> None:
        self._cluster = cluster
        self._last: Look | None = None

    @property
    def needs_two(self) -> bool:
        """Whether the next view has no rates, because there was no look before."""
        return self._last is None

    def view(self) -> TopView:
        """The cluster now. Raises KafkaError, ConnectionError."""
        before, self._last = self._last, _look(self._cluster)
        return view_of(before or self._last, self._last)


def _look(cluster: AdminCluster) -> Look:
    problems: list[str] = []
    metadata = cluster.metadata(None)
    leaders = {
        TopicPartition(topic.name or "", each.partition_index): each.leader_id if each.leader_id >= 0 else None
        for topic in metadata.topics
        for each in topic.partitions
    }
    sizes = _sizes(cluster, metadata, leaders, problems)
    groups = _groups(cluster, problems)
    read = {at for group in groups.values() for at in group.committed or () if at in leaders}
    starts, _ = offsets_at(cluster, dict.fromkeys(read, EARLIEST))
    at_s, time_ms = time.monotonic(), round(time.time() * 1000)
    ends, _ = offsets_at(cluster, dict.fromkeys(leaders, LATEST))
    return Look(
        at_s=at_s,
        time_ms=time_ms,
        brokers={each.node_id: f"{each.host}:{each.port}" for each in metadata.brokers},
        controller=metadata.controller_id if metadata.controller_id >= 0 else None,
        leaders=leaders,
        logs=LogsLook(starts, ends, sizes),
        groups=groups,
        problems=tuple(dict.fromkeys(problems))[:_MOST_PROBLEMS],
    )


def _sizes(
    cluster: AdminCluster, metadata: MetadataResponse, leaders: dict[TopicPartition, int | None], problems: list[str]
) -> dict[TopicPartition, int]:
    """The size of the leader's log of each partition."""
    found: dict[TopicPartition, int] = {}
    for broker in metadata.brokers:
        try:
            response = cluster.ask_broker(broker.node_id, DescribeLogDirsRequest(topics=None))
            if response.error_code:
                raise error_for(response.error_code)
        except (KafkaError, OSError) as error:
            problems.append(f"sizes of broker {broker.node_id}: {error}")
            continue
        for directory in response.results:
            for topic in directory.topics:
                for each in topic.partitions:
                    at = TopicPartition(topic.name, each.partition_index)
                    if not each.is_future_key and leaders.get(at) == broker.node_id:
                        found[at] = each.partition_size
    return found


def _groups(cluster: AdminCluster, problems: list[str]) -> dict[str, GroupLook]:
    listed, failures = listed_groups(cluster)
    problems += [f"groups: {failure}" for failure in failures]
    by_coordinator: dict[int, dict[str, str | None]] = defaultdict(dict)
    for each in listed:
        by_coordinator[each.coordinator][each.group] = each.group_type
    found = {each.group: GroupLook(each.state, None, None) for each in listed}
    for coordinator, types in by_coordinator.items():
        try:
            described, refused = described_by(cluster, coordinator, list(types))
            committed = offsets_by(cluster, coordinator, types)
        except (KafkaError, OSError) as error:
            problems.append(f"groups of broker {coordinator}: {error}")
            continue
        problems += [str(failure) for failure in refused]
        for name, kind in types.items():
            if name in described:
                known = committed.get(name, {})
                offsets = {at: each.offset for at, each in known.items()}
                lags = {at: each.lag for at, each in known.items()} if kind == SHARE else None
                found[name] = GroupLook(described[name].state, len(described[name].members), offsets, lags)
    return found

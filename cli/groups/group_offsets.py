"""Where groups are in their partitions: the offsets that they committed, or where share groups begin (KIP-932)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.committed_offsets import Committed, committed_offsets
from ...client.response_error import response_error
from ...protocol.apis import ApiKey
from ...protocol.errors import KafkaError
from .described_groups import SHARE, DescribedGroup
from .partition_offsets import committed_by
from .shapes import OffsetChange

__all__ = ["offsets_by", "offsets_of", "set_share_offsets"]

Offsets = dict[TopicPartition, Committed]


def offsets_of(cluster: AdminCluster, group: DescribedGroup) -> Offsets:
    """All offsets of a group. Raises KafkaError."""
    if group.group_type != SHARE:
        return committed_offsets(cluster, group.group)
    return cluster.retried(lambda: _share_offsets(cluster, cluster.coordinator_of(group.group), [group.group], None))[
        group.group
    ]


def offsets_by(
    cluster: AdminCluster,
    coordinator: int,
    types: Mapping[str, str | None],
    partitions: Mapping[str, Sequence[int]] | None = None,
) -> dict[str, Offsets]:
    """The offsets of many groups of one coordinator. ``types``: of the groups, by name. ``partitions``: only these, by
    topic. Raises KafkaError."""
    shares = [name for name, kind in types.items() if kind == SHARE]
    others = [name for name, kind in types.items() if kind != SHARE]
    found = committed_by(cluster, coordinator, others, partitions)
    return found | _share_offsets(cluster, coordinator, shares, partitions)


def _share_offsets(
    cluster: AdminCluster, coordinator: int, groups: Sequence[str], partitions: Mapping[str, Sequence[int]] | None
) -> dict[str, Offsets]:
    """The start offset and the lag of each partition that the groups have begun to read. Raises KafkaError."""
    found: dict[str, Offsets] = {group: {} for group in groups}
    if not groups or cluster.connection_to(coordinator).newest_version(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS) is None:
        return found
    from ...protocol.messages.describe_share_group_offsets import (
        DescribeShareGroupOffsetsRequest,
        DescribeShareGroupOffsetsRequestGroup,
        DescribeShareGroupOffsetsRequestTopic,
    )

    topics = None
    if partitions is not None:
        topics = [
            DescribeShareGroupOffsetsRequestTopic(topic_name=topic, partitions=list(numbers))
            for topic, numbers in partitions.items()
        ]
    asked = [DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=topics) for group in groups]
    for answer in cluster.ask_broker(coordinator, DescribeShareGroupOffsetsRequest(groups=asked)).groups:
        if answer.error_code:
            raise response_error(answer, f"group {answer.group_id}")
        found[answer.group_id] = dict(sorted(_begun(answer)))
    return found


def _begun(answer: Any) -> Iterable[tuple[TopicPartition, Committed]]:
    for topic in answer.topics:
        for each in topic.partitions:
            if each.start_offset >= 0 and not each.error_code:
                lag = each.lag if each.lag >= 0 else None
                yield (
                    TopicPartition(topic.topic_name, each.partition_index),
                    Committed(each.start_offset, None, "", lag),
                )


def set_share_offsets(
    cluster: AdminCluster, group: str, changes: Iterable[OffsetChange]
) -> dict[TopicPartition, KafkaError]:
    """Set where a share group begins; returns why partitions were refused. Raises KafkaError."""
    from ...protocol.messages.alter_share_group_offsets import (
        AlterShareGroupOffsetsRequest,
        AlterShareGroupOffsetsRequestPartition,
        AlterShareGroupOffsetsRequestTopic,
    )

    topics: dict[str, list[AlterShareGroupOffsetsRequestPartition]] = defaultdict(list)
    for each in changes:
        topics[each.topic].append(
            AlterShareGroupOffsetsRequestPartition(partition_index=each.partition, start_offset=each.new_offset)
        )
    request = AlterShareGroupOffsetsRequest(
        group_id=group,
        topics=[AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=some) for name, some in topics.items()],
    )
    answer = cluster.retried(lambda: cluster.ask_coordinator(group, request))
    if answer.error_code:
        raise response_error(answer, f"group {group}")
    return {
        TopicPartition(topic.topic_name, each.partition_index): response_error(
            each, f"{topic.topic_name}-{each.partition_index}"
        )
        for topic in answer.responses
        for each in topic.partitions
        if each.error_code
    }

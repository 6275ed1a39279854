"""Where share groups begin in their partitions, and their lag, which their coordinators tell (KIP-932)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from ...client.asynchronous.cluster import AsyncCluster
from ...client.response_error import response_error
from ...protocol.errors import KafkaError
from ...protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)

__all__ = ["offsets_of_share_group", "offsets_of_share_groups"]

Offsets = list[dict[str, Any]]
"""The topic, partition, offset and lag of each partition in which a group has begun; the lag is None when unknown."""


async def offsets_of_share_group(cluster: AsyncCluster, name: str) -> Offsets:
    """The offsets of one group. Raises KafkaError."""

    async def ask() -> Offsets:
        (group,) = (await cluster.ask_coordinator(name, _request([name]))).groups
        if group.error_code:
            raise response_error(group, f"group {name}")
        return _offsets_in(group)

    return await cluster.patiently(ask)


async def offsets_of_share_groups(cluster: AsyncCluster, coordinators: Mapping[str, int]) -> dict[str, Offsets]:
    """The offsets of groups, by name. Groups whose offsets are refused are left out."""
    by_broker: dict[int, list[str]] = defaultdict(list)
    for name, broker in coordinators.items():
        by_broker[broker].append(name)
    found: dict[str, Offsets] = {}
    for broker, names in by_broker.items():
        try:
            answer = await cluster.ask_broker(broker, _request(names))
        except (KafkaError, OSError):
            continue
        found |= {group.group_id: _offsets_in(group) for group in answer.groups if not group.error_code}
    return found


def _request(names: list[str]) -> DescribeShareGroupOffsetsRequest:
    groups = [DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None) for name in names]
    return DescribeShareGroupOffsetsRequest(groups=groups)


def _offsets_in(group: Any) -> Offsets:
    return [
        {
            "topic": topic.topic_name,
            "partition": each.partition_index,
            "committed": each.start_offset,
            "lag": each.lag if each.lag >= 0 else None,
        }
        for topic in group.topics
        for each in topic.partitions
        if each.start_offset >= 0 and not each.error_code
    ]

"""Groups, from Kafka's protocol: states, members, committed offsets, lag in records."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Container, Iterable
from functools import partial
from itertools import islice
from typing import Any

from ...base.topic_partition import TopicPartition
from ...client.asynchronous.cluster import AsyncCluster
from ...protocol.codec import DecodeError, decode_prefix
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ...protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from ...protocol.messages.describe_groups import DescribeGroupsRequest
from ...protocol.messages.list_groups import ListGroupsRequest
from ...protocol.messages.offset_fetch import OffsetFetchRequest
from ...protocol.sentinels import EARLIEST, LATEST
from .consumer_groups import SHARE_TYPE, ConsumerGroup, described_consumers, described_shares
from .share_offsets import offsets_of_share_group, offsets_of_share_groups

CONSUMER_TYPE = "consumer"
"""The type of groups of the consumer protocol (KIP-848), in lower case."""
WITH_LAG = 500
"""The number of groups in a list that are shown with their lag, which costs one request for each group: the first ones
by name."""

GROUP_FILLED_BY_V1 = (
    "protocol",
    "generation",
    "members",
    "verdict",
    "verdict_text",
    "lag",
    "max_lag",
    "max_lag_seconds",
    "seconds_to_catch_up",
    "topics",
    "partitions",
    "last_commit_ms",
    "rebalances",
)
"""The fields of a row that may be null: see `_row`."""

Committed = dict[TopicPartition, Any]


async def group_rows(cluster: AsyncCluster) -> list[dict[str, Any]]:
    """All groups that the principal may see."""
    brokers = [broker.node_id for broker in (await cluster.metadata([])).brokers]
    listed: dict[str, tuple[int, Any]] = {}
    for broker, groups in zip(
        brokers, await asyncio.gather(*(_listed(cluster, each) for each in brokers)), strict=True
    ):
        for group in groups:
            listed[group.group_id] = (broker, group)
    described: dict[str, Any] = {}
    by_broker: dict[int, list[str]] = defaultdict(list)
    shares = {name: at for name, (at, each) in listed.items() if each.group_type.lower() == SHARE_TYPE}
    for name, (broker, _) in listed.items():
        by_broker[broker].append(name)
    for broker, names in by_broker.items():
        answer = await cluster.ask_broker(broker, DescribeGroupsRequest(groups=names))
        told = [each for each in answer.groups if not each.error_code and each.group_id not in shares]
        described |= {each.group_id: each for each in told}
        described |= await described_shares(partial(cluster.ask_broker, broker), [n for n in names if n in shares])
        consumers = [name for name in names if listed[name][1].group_type.lower() == CONSUMER_TYPE]
        if consumers:
            described |= await described_consumers(partial(cluster.ask_broker, broker), consumers)
    names = sorted(listed)
    shown = names[:WITH_LAG]
    lags = await _lags(cluster, {name: listed[name][0] for name in shown if name not in shares})
    lags |= await offsets_of_share_groups(cluster, {name: shares[name] for name in shown if name in shares})
    return [_row(name, listed[name][0], listed[name][1], described.get(name), lags.get(name)) for name in names]


def without_lag(names: Iterable[str], told: Container[str]) -> int:
    """The number of groups in `group_rows` whose lag was not asked for. `told`: the groups whose lag pybrokers told."""
    return sum(name not in told for name in islice(sorted(names), WITH_LAG, None))


async def group_detail(cluster: AsyncCluster, name: str) -> dict[str, Any]:
    """One group. Raises KafkaError when it does not exist or may not be described."""
    group = await described_group(cluster, name)
    if group.protocol_type == SHARE_TYPE and isinstance(group, ConsumerGroup):
        return await _share_detail(cluster, group)
    committed = await committed_offsets(cluster, name)
    if group.group_state == "Dead" and not committed:
        raise error_for(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {name}")
    starts, ends = await _offsets(cluster, committed, EARLIEST), await _offsets(cluster, committed, LATEST)
    members = group.members if isinstance(group, ConsumerGroup) else [_member(each) for each in group.members]
    owners = {
        TopicPartition(part["topic"], number): member["member_id"]
        for member in members
        for part in member["assignment"] or ()
        for number in part["partitions"]
    }
    offsets = []
    for at, found in sorted(committed.items()):
        start, end = starts.get(at), ends.get(at)
        offsets.append(
            {
                "topic": at.topic,
                "partition": at.partition,
                "committed": found.committed_offset,
                "leader_epoch": found.committed_leader_epoch if found.committed_leader_epoch >= 0 else None,
                "metadata": found.metadata or "",
                "commit_ms": None,
                "expire_ms": None,
                "start_offset": start,
                "end_offset": end,
                "lag": None if end is None else max(0, end - max(found.committed_offset, start or 0)),
                "lag_seconds": None,
                "verdict": None,
                "is_offset_lost": None if start is None else found.committed_offset < start,
                "member_id": owners.get(at),
                "leader": None,
            }
        )
    lag_of = {(each["topic"], each["partition"]): each["lag"] for each in offsets}
    for member in members:
        owned = [(part["topic"], number) for part in member["assignment"] or () for number in part["partitions"]]
        known = [lag_of[each] for each in owned if lag_of.get(each) is not None]
        member["lag"] = sum(known) if known else None
    row = _row(name, -1, group, group, _lag_summary(offsets))
    return {"group": row, "waits_for": None, "members": members, "offsets": offsets}


async def _share_detail(cluster: AsyncCluster, group: ConsumerGroup) -> dict[str, Any]:
    found = await offsets_of_share_group(cluster, group.group_id)
    unknown = dict.fromkeys(("leader_epoch", "commit_ms", "expire_ms", "start_offset", "end_offset", "lag_seconds"))
    unknown |= dict.fromkeys(("verdict", "is_offset_lost", "member_id", "leader"))
    offsets = [{**unknown, "metadata": "", **each} for each in found]
    row = _row(group.group_id, -1, group, group, _lag_summary(offsets))
    return {"group": row, "waits_for": None, "members": group.members, "offsets": offsets}


async def committed_offsets(cluster: AsyncCluster, group: str) -> Committed:
    """All offsets that a group has committed. Raises KafkaError."""

    async def ask() -> Committed:
        return _committed_in(
            group, await cluster.ask_coordinator(group, OffsetFetchRequest(group_id=group, topics=None))
        )

    return await cluster.patiently(ask)


async def described_group(cluster: AsyncCluster, name: str) -> Any:
    """A group with its members; a missing one is in state Dead. Raises KafkaError."""

    async def ask() -> Any:
        (group,) = (await cluster.ask_coordinator(name, DescribeGroupsRequest(groups=[name]))).groups
        if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND or group.group_state == "Dead":
            for described in (described_consumers, described_shares):
                found = await described(partial(cluster.ask_coordinator, name), [name])
                if name in found:
                    return found[name]
        if group.error_code:
            raise error_for(group.error_code, f"group {name}: {error_for(group.error_code)}")
        return group

    return await cluster.patiently(ask)


def _committed_in(group: str, answer: Any) -> Committed:
    if answer.error_code:
        raise error_for(answer.error_code, f"group {group}: {error_for(answer.error_code)}")
    return {
        TopicPartition(topic.name, partition.partition_index): partition
        for topic in answer.topics
        for partition in topic.partitions
        if partition.committed_offset >= 0 and not partition.error_code
    }


async def _listed(cluster: AsyncCluster, broker: int) -> list[Any]:
    try:
        answer = await cluster.ask_broker(broker, ListGroupsRequest())
    except OSError:
        return []
    return [] if answer.error_code else list(answer.groups)


async def _lags(cluster: AsyncCluster, coordinators: dict[str, int]) -> dict[str, list[dict[str, Any]]]:
    """Partitions with committed offset and lag, by group. Groups whose offsets are refused are left out."""
    requests = [OffsetFetchRequest(group_id=name, topics=None) for name in coordinators]
    asked = (cluster.ask_broker(broker, each) for broker, each in zip(coordinators.values(), requests, strict=True))
    answers = await asyncio.gather(*asked, return_exceptions=True)
    committed: dict[str, Committed] = {}
    for name, answer in zip(coordinators, answers, strict=True):
        if not isinstance(answer, BaseException):
            try:
                committed[name] = _committed_in(name, answer)
            except KafkaError:
                continue
    ends = await _offsets(cluster, {at for offsets in committed.values() for at in offsets}, LATEST)
    return {
        name: [
            {"topic": at.topic, "lag": max(0, ends[at] - found.committed_offset) if at in ends else None}
            for at, found in offsets.items()
        ]
        for name, offsets in committed.items()
    }


async def _offsets(
    cluster: AsyncCluster, places: Iterable[TopicPartition], timestamp: int
) -> dict[TopicPartition, int]:
    """Offsets of the partitions that exist and may be described."""
    visible = []
    for topic in {at.topic for at in places}:
        try:
            there = {partition.partition_index for partition in (await cluster.topic(topic)).partitions}
        except KafkaError:
            continue
        visible += [at for at in places if at.topic == topic and at.partition in there]
    try:
        return await cluster.offsets(dict.fromkeys(visible, timestamp), partial=True)
    except OSError:
        return {}


def _row(
    name: str, coordinator: int, listed: Any, described: Any, offsets: list[dict[str, Any]] | None
) -> dict[str, Any]:
    lags = [each["lag"] for each in offsets or () if each["lag"] is not None]
    state = described.group_state if described is not None else listed.group_state
    return {
        "group": name,
        "state": state or "Unknown",
        "protocol_type": listed.protocol_type,
        "protocol": (described.protocol_data or None) if described is not None else None,
        "generation": None,
        "coordinator": coordinator,
        "members": len(described.members) if described is not None else None,
        "verdict": None,
        "verdict_text": None,
        "lag": sum(lags) if lags else None,
        "max_lag": max(lags, default=None),
        "max_lag_seconds": None,
        "seconds_to_catch_up": None,
        "topics": None if offsets is None else len({each["topic"] for each in offsets}),
        "partitions": None if offsets is None else len(offsets),
        "last_commit_ms": None,
        "rebalances": None,
    }


def _lag_summary(offsets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"topic": each["topic"], "lag": each["lag"]} for each in offsets]


def _member(found: Any) -> dict[str, Any]:
    return {
        "member_id": found.member_id,
        "client_id": found.client_id,
        "host": found.client_host,
        "instance_id": found.group_instance_id,
        "software": None,
        "is_leader": None,
        "is_awaited": None,
        "session_timeout_ms": None,
        "rebalance_timeout_ms": None,
        "last_heartbeat_ms": None,
        "assignment": _assignment(found.member_assignment),
        "lag": None,
        "epoch": None,
        "subscribed_topics": None,
        "subscribed_pattern": None,
    }


def _assignment(data: bytes) -> list[dict[str, Any]] | None:
    """Partitions by topic; None when the bytes are not those of a consumer."""
    if len(data) < 2:
        return None
    version = min(int.from_bytes(data[:2], "big", signed=True), ConsumerProtocolAssignment.MESSAGE.versions.last)
    try:
        decoded, _ = decode_prefix(ConsumerProtocolAssignment, bytes(data), version, 2)
    except (DecodeError, ValueError, KeyError):
        return None
    parts: Any = decoded
    return [{"topic": each.topic, "partitions": sorted(each.partitions)} for each in parts.assigned_partitions]

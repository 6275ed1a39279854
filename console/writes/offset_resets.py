"""Resets of a group's offsets: first a plan, then exactly what the plan says."""

from __future__ import annotations

from typing import Any

from ...base.topic_partition import TopicPartition
from ...client.asynchronous.cluster import AsyncCluster
from ...protocol.errors import ErrorCode, error_for
from ...protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ..cluster_views.group_views import committed_offsets, described_group
from ..http.replies import HttpProblem
from ..records.places import Bounds, Place, bounds_of, offsets_at, parse_place

MAX_ROWS = 1_000
_RESETTABLE = ("Empty", "Dead")
_MAX_SHIFT = 1 << 62


def shift_of(text: str) -> int | None:
    """The number of `shift:-100`; None for another text. Raises HttpProblem."""
    kind, colon, rest = text.partition(":")
    if kind != "shift" or not colon:
        return None
    digits = rest.removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise HttpProblem(400, "a shift is like shift:-100")
    return int(rest)


def place_of(text: str) -> Place:
    """Where to reset to, unless it is a shift. Raises HttpProblem."""
    place = Place("latest") if shift_of(text) is not None else parse_place(text)
    if place.kind not in ("earliest", "latest", "offset", "time"):
        raise HttpProblem(400, "offsets are reset to earliest, latest, offset:5, time:2026-11-25T08:00 or shift:-100")
    return place


def target_of(current: int | None, wanted: int, shift: int | None, bound: Bounds) -> int | None:
    """The offset to set, within the log; None when there is no offset to shift."""
    if shift is None:
        return wanted
    return None if current is None else max(bound.start, min(current + shift, bound.end))


async def plan(cluster: AsyncCluster, group: str, topic: str, partitions: list[int] | None, to: str) -> dict[str, Any]:
    """Returns `{"plan": rows, "state", "blocked"}`; changes nothing."""
    place, shift = place_of(to), shift_of(to)
    there = sorted(each.partition_index for each in (await cluster.topic(topic)).partitions)
    chosen = there if partitions is None else partitions
    if missing := [each for each in chosen if each not in there]:
        raise HttpProblem(404, f"there is no partition {missing[0]}", "UNKNOWN_TOPIC_OR_PARTITION")
    committed = await committed_offsets(cluster, group)
    bounds = await bounds_of(cluster, topic, chosen)
    wanted = await offsets_at(cluster, topic, place, bounds)
    rows = []
    for partition, bound in sorted(bounds.items()):
        found = committed.get(TopicPartition(topic, partition))
        current = None if found is None else found.committed_offset
        target = target_of(current, wanted[partition], shift, bound)
        if target is None:
            continue
        rows.append(
            {
                "topic": topic,
                "partition": partition,
                "current": current,
                "target": target,
                "start": bound.start,
                "end": bound.end,
                "lag_after": bound.end - target,
            }
        )
    found_group = await described_group(cluster, group)
    return {"plan": rows, "state": found_group.group_state, "blocked": _why_blocked(found_group)}


async def execute(cluster: AsyncCluster, group: str, rows: list[Any]) -> list[dict[str, Any]]:
    """Sets the offsets of a plan. Raises HttpProblem when the group has members, or moved since the plan."""
    targets = _targets(rows)
    blocked = _why_blocked(await described_group(cluster, group))
    if blocked is not None:
        raise HttpProblem(409, blocked, ErrorCode.NON_EMPTY_GROUP.name)
    committed = await committed_offsets(cluster, group)
    for at, (current, _) in targets.items():
        found = committed.get(at)
        if current != (None if found is None else found.committed_offset):
            raise HttpProblem(409, f"the offset of {at} has moved since the plan was made; make a new plan")
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for at, (_, target) in targets.items():
        partition = OffsetCommitRequestPartition(partition_index=at.partition, committed_offset=target)
        topics.setdefault(at.topic, []).append(partition)
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=-1,
        topics=[OffsetCommitRequestTopic(name=name, partitions=each) for name, each in topics.items()],
    )
    answer = await cluster.ask_coordinator(group, request)
    return [
        {
            "topic": topic.name,
            "partition": each.partition_index,
            "offset": targets[TopicPartition(topic.name, each.partition_index)][1],
            "error": str(error_for(each.error_code)) if each.error_code else None,
        }
        for topic in answer.topics
        for each in topic.partitions
    ]


def _targets(rows: list[Any]) -> dict[TopicPartition, tuple[int | None, int]]:
    if not rows or len(rows) > MAX_ROWS:
        raise HttpProblem(400, f"'plan' must have 1 to {MAX_ROWS} rows")
    targets = {}
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("topic"), str):
            raise HttpProblem(400, "a row of the plan has topic, partition, current and target")
        numbers = [row.get("partition"), row.get("target"), *([] if row.get("current") is None else [row["current"]])]
        if not all(isinstance(each, int) and 0 <= each < 1 << 62 for each in numbers):
            raise HttpProblem(400, "a row of the plan has topic, partition, current and target")
        targets[TopicPartition(row["topic"], row["partition"])] = (row.get("current"), row["target"])
    return targets


def _why_blocked(group: Any) -> str | None:
    members = len(group.members)
    if group.group_state in _RESETTABLE and not members:
        return None
    noun = "member" if members == 1 else "members"
    return f"the group is {group.group_state} with {members} {noun}; stop its consumers first"

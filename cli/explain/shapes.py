"""The JSON that ``pybroker explain`` prints."""

from dataclasses import dataclass
from typing import Annotated

from ..groups.shapes import GroupPartition

__all__ = [
    "Finding",
    "GroupExplanation",
    "LagExplanation",
    "OffsetExplanation",
    "RetentionExplanation",
    "RetentionPartition",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One reason."""

    kind: Annotated[str, "stable id, such as member_awaited or offset_lost"]
    is_trouble: Annotated[bool, "false: it is only worth knowing"]
    text: str
    culprit: Annotated[str | None, "the client, broker or producer that is the reason"]
    remedies: Annotated[tuple[str, ...], "what to try"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupExplanation:
    """The state of a group, and the reasons that hinder it."""

    group: str
    source: Annotated[str, "protocol, or protocol and the broker that told more"]
    is_healthy: bool
    text: Annotated[str, "the verdict in one line"]
    state: str | None
    coordinator: int | None
    members: int | None
    lag: Annotated[int | None, "records, of all partitions"]
    lag_seconds: Annotated[float | None, "age of the oldest unread record"]
    watched_seconds: Annotated[float, "how long the group was watched"]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LagExplanation:
    """Whether a group keeps up, and why not."""

    group: str
    source: Annotated[str, "protocol, or protocol and the broker that told more"]
    is_healthy: bool
    verdict: Annotated[str | None, "ok, catching_up, falling_behind, rewound, stalled or stopped; null: no offsets"]
    text: Annotated[str, "the verdict in one line"]
    lag: Annotated[int | None, "records, of all partitions"]
    lag_seconds: Annotated[float | None, "age of the oldest unread record"]
    written_per_second: Annotated[float | None, "while the group was watched"]
    read_per_second: Annotated[float | None, "by the committed offsets, while the group was watched"]
    seconds_to_catch_up: float | None
    watched_seconds: float
    findings: tuple[Finding, ...]
    partitions: Annotated[tuple[GroupPartition, ...], "those with lag, the worst first"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPartition:
    """The records that a partition has."""

    partition: int
    start_offset: int
    end_offset: int
    expired_records: Annotated[int | None, "offsets before the first record that retention.ms keeps; null: it is -1"]
    future_offset: Annotated[int | None, "first record whose timestamp is over an hour ahead; null: there is none"]
    size: Annotated[int | None, "bytes of the leader's replica; null: not told"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionExplanation:
    """For how long a topic keeps records, and why older ones are still there."""

    topic: str
    is_healthy: Annotated[bool, "false: something keeps records for longer than the settings say"]
    text: Annotated[str, "the verdict in one line"]
    cleanup_policy: str
    retention_ms: Annotated[int | None, "null: any time"]
    retention_bytes: Annotated[int | None, "null: any size"]
    segment_bytes: int
    partitions: tuple[RetentionPartition, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetExplanation:
    """Whether a record can be read at an offset."""

    topic: str
    partition: int
    offset: int
    verdict: Annotated[str, "readable, next, deleted, beyond_end or open_transaction"]
    text: Annotated[str, "the verdict in one line"]
    start_offset: int
    last_stable_offset: Annotated[int, "readers of committed records stop here"]
    end_offset: Annotated[int, "the offset of the next record"]
    remedy: str | None

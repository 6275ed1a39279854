"""The JSON that ``pybroker explain`` prints."""

from typing import Annotated

from ...base.frozen import frozen
from ..groups.shapes import GroupPartition
from ..topics.shapes import Partition

__all__ = [
    "Finding",
    "GroupExplanation",
    "LagExplanation",
    "OffsetExplanation",
    "RetentionExplanation",
    "RetentionPartition",
    "TopicExplanation",
    "TopicGroup",
    "TopicValue",
    "WritingProducer",
]


@frozen(kw_only=True)
class Finding:
    """One reason."""

    kind: Annotated[str, "stable id, such as member_awaited or offset_lost"]
    is_trouble: Annotated[bool, "false: it is only worth knowing"]
    text: str
    culprit: Annotated[str | None, "the client, broker or producer that is the reason"]
    remedies: Annotated[tuple[str, ...], "what to try"]


@frozen(kw_only=True)
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


@frozen(kw_only=True)
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


@frozen(kw_only=True)
class RetentionPartition:
    """The records that a partition has."""

    partition: int
    start_offset: int
    end_offset: int
    expired_records: Annotated[int | None, "offsets before the first record that retention.ms keeps; null: it is -1"]
    future_offset: Annotated[int | None, "first record whose timestamp is over an hour ahead; null: there is none"]
    size: Annotated[int | None, "bytes of the leader's replica; null: not told"]


@frozen(kw_only=True)
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


@frozen(kw_only=True)
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


@frozen(kw_only=True)
class TopicValue:
    """A setting that acts on a topic, and is not Kafka's default."""

    name: str
    value: Annotated[str | None, "null: it has no value, or it is secret"]
    source: Annotated[str, "topic, broker, all brokers or file"]


@frozen(kw_only=True)
class WritingProducer:
    """An idempotent or transactional producer that wrote to a topic, until producer.id.expiration.ms."""

    producer_id: int
    transactional_id: Annotated[str | None, "null: it has none, or the cluster does not tell"]
    partitions: Annotated[tuple[int, ...], "that it wrote to"]
    last_written_ms: Annotated[int | None, "milliseconds since 1970; null: not told"]
    open_partitions: Annotated[tuple[int, ...], "where its transaction is open"]


@frozen(kw_only=True)
class TopicGroup:
    """A group that reads a topic, or has offsets in it."""

    group: str
    state: str
    members: Annotated[int, "that read the topic"]
    lag: Annotated[int | None, "records; null: unknown"]
    lost_partitions: Annotated[tuple[int, ...], "where the committed offset is outside the log"]


@frozen(kw_only=True)
class TopicExplanation:
    """Why a topic is as it is: its leaders, its settings, and the clients that use it."""

    topic: str
    is_healthy: bool
    text: Annotated[str, "the verdict in one line"]
    is_writable: Annotated[bool | None, "every partition takes writes with acks=all; null: min.insync.replicas unknown"]
    min_isr: Annotated[int | None, "min.insync.replicas; null: not told"]
    kept: Annotated[str | None, "for how long records are kept; null: not told"]
    partitions: tuple[Partition, ...]
    settings: Annotated[tuple[TopicValue, ...], "those that are not defaults"]
    producers: Annotated[tuple[WritingProducer, ...], "at most 1,000, the last to write first"]
    groups: tuple[TopicGroup, ...]
    findings: tuple[Finding, ...]
    not_told: Annotated[tuple[str, ...], "what the cluster did not tell, and why"]

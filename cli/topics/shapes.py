"""Shapes of the JSON that the commands about topics print."""

from typing import Annotated

from ...base.frozen import frozen

__all__ = [
    "Partition",
    "PartitionOffsets",
    "Topic",
    "TopicChange",
    "TopicConsumer",
    "TopicDescription",
    "TopicProducer",
    "TopicSetting",
    "Truncation",
]


@frozen(kw_only=True)
class Topic:
    """A topic in the list."""

    topic: str
    is_internal: bool
    partitions: int
    replication_factor: Annotated[int, "the most replicas of a partition"]
    offline_partitions: Annotated[int, "partitions without a leader"]
    under_replicated_partitions: Annotated[int, "partitions with a replica that is not in sync"]


@frozen(kw_only=True)
class Partition:
    """One partition."""

    partition: int
    leader: Annotated[int | None, "null: there is none"]
    leader_epoch: Annotated[int | None, "null: the broker is too old to say"]
    replicas: Annotated[tuple[int, ...], "the first is the preferred leader"]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...]


@frozen(kw_only=True)
class TopicSetting:
    """One setting of a topic."""

    name: str
    value: Annotated[str | None, "null: it has no value, or it is secret"]
    is_default: Annotated[bool, "it is not set for this topic"]


@frozen(kw_only=True)
class TopicConsumer:
    """A group with a committed offset in a partition."""

    group: str
    partition: int
    committed: int
    end: Annotated[int | None, "the offset of the next record; null: it is unknown"]
    lag: Annotated[int | None, "records; null: the end is unknown"]


@frozen(kw_only=True)
class TopicProducer:
    """An idempotent or transactional producer that the leader of a partition remembers."""

    partition: int
    producer_id: int
    producer_epoch: int
    last_sequence: Annotated[int | None, "null: unknown"]
    last_written_ms: Annotated[int | None, "null: unknown"]
    transaction_start: Annotated[int | None, "the first offset of its open transaction; null: there is none"]


@frozen(kw_only=True)
class TopicDescription:
    """One topic with its partitions, and the settings that are not defaults."""

    topic: str
    topic_id: Annotated[str | None, "in base64, as Kafka writes it; null: the cluster has no ids"]
    is_internal: bool
    min_isr: Annotated[int | None, "min.insync.replicas; null: it cannot be read"]
    partitions: tuple[Partition, ...]
    settings: tuple[TopicSetting, ...]
    consumers: Annotated[tuple[TopicConsumer, ...] | None, "groups with offsets; null: not asked for, or unknown"]
    producers: Annotated[tuple[TopicProducer, ...] | None, "null: not asked for, or unknown"]


@frozen(kw_only=True)
class TopicChange:
    """A change of a topic that was made, or with ``--dry-run`` would be."""

    topic: str
    change: Annotated[str, "created, deleted, changed, or unchanged"]
    is_dry_run: bool


@frozen(kw_only=True)
class PartitionOffsets:
    """Where the records of a partition start and end. ``end`` is the offset of the next record."""

    topic: str
    partition: int
    start: int
    end: int
    at: Annotated[
        int | None, "the first offset at the time that was asked for; null: none is so new, or none was asked"
    ]


@frozen(kw_only=True)
class Truncation:
    """How far the records of a partition were deleted, or with ``--dry-run`` would be."""

    topic: str
    partition: int
    old_start: int
    new_start: int
    is_dry_run: bool

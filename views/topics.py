"""Topics: a row of the list, and one topic with its partitions, settings, consumers and producers."""

from typing import Annotated

from ..base.frozen import frozen
from .settings import Setting
from .source import Source
from .traffic import History

__all__ = ["Follower", "PartitionRow", "TopicConsumer", "TopicDetail", "TopicProducer", "TopicRow", "Topics"]


@frozen(kw_only=True)
class TopicRow:
    """One topic. Sums over the brokers are right for values of the partitions that a broker leads."""

    topic: str
    topic_id: Annotated[str | None, "in base64, as Kafka writes it"]
    is_internal: bool
    partitions: int
    replication_factor: Annotated[int, "the most replicas of a partition"]
    offline_partitions: int
    under_replicated_partitions: int
    under_min_isr_partitions: int
    leaders_here: Annotated[int, "partitions that this broker leads"]
    size_bytes: Annotated[int, "logs of the partitions that this broker leads"]
    size_on_disk_bytes: Annotated[int, "logs of all replicas on this broker"]
    records: Annotated[int, "end minus start of the partitions that this broker leads"]
    messages_in_per_s: float | None
    bytes_in_per_s: float | None
    bytes_out_per_s: float | None
    cleanup_policy: str
    retention_ms: Annotated[int | None, "null: for ever"]
    retention_bytes: Annotated[int | None, "of a partition; null: no limit"]
    max_lag: Annotated[int | None, "records; of the groups that this broker coordinates"]
    max_lag_seconds: Annotated[float | None, "of the groups that this broker coordinates"]


TopicColumns = tuple[str | int | float | bool | None, ...]
"""A row, in the order of the document's columns."""


@frozen(kw_only=True)
class Topics:
    """The topics of the cluster."""

    source: Source
    total: int
    matched: int
    items: tuple[TopicRow, ...]
    columns: Annotated[tuple[str, ...] | None, "the parameter fields"]
    rows: Annotated[tuple[TopicColumns, ...] | None, "values in the order of the columns, in place of items"]


@frozen(kw_only=True)
class Follower:
    """A follower as its leader knows it."""

    broker_id: int
    lag: Annotated[int | None, "records; null before its first fetch"]
    caught_up_ms_ago: Annotated[int | None, "null: not caught up since this broker leads"]
    is_in_sync: bool


@frozen(kw_only=True)
class PartitionRow:
    """One partition. Offsets, sizes and times are null unless a replica is on this broker."""

    partition: int
    leader: int | None
    leader_epoch: int
    replicas: Annotated[tuple[int, ...], "the first is the preferred leader"]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    adding_replicas: Annotated[tuple[int, ...] | None, "null unless this broker leads"]
    removing_replicas: Annotated[tuple[int, ...] | None, "null unless this broker leads"]
    is_led_here: bool
    is_local: Annotated[bool, "a replica is on this broker and online"]
    start_offset: int | None
    end_offset: Annotated[int | None, "high watermark: consumers read up to here"]
    log_end_offset: int | None
    last_stable_offset: Annotated[int | None, "consumers with read_committed read up to here"]
    size_bytes: int | None
    segments: int | None
    oldest_ms: Annotated[int | None, "largest timestamp of the first batch"]
    log_directory: str | None
    followers: Annotated[tuple[Follower, ...], "empty unless this broker leads"]


@frozen(kw_only=True)
class TopicConsumer:
    """A group with offsets of the topic, coordinated by this broker."""

    group: str
    state: str
    members: int
    verdict: Annotated[str | None, "for this topic: ok, catching_up, falling_behind, stalled, stopped or rewound"]
    lag: int | None
    lag_seconds: float | None


@frozen(kw_only=True)
class TopicProducer:
    """An idempotent or transactional producer, as the leader of a partition knows it."""

    partition: int
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    open_transaction_start_offset: int | None
    coordinator_epoch: int


@frozen(kw_only=True)
class TopicDetail:
    """One topic."""

    source: Source
    topic: TopicRow
    partitions: tuple[PartitionRow, ...]
    settings: tuple[Setting, ...]
    consumers: tuple[TopicConsumer, ...]
    producers_total: Annotated[int, "producers of the partitions that this broker leads"]
    producers: Annotated[tuple[TopicProducer, ...], "at most 1,000, those with open transactions first"]
    history: Annotated[History | None, "null for a topic that is not among the 64 busiest"]

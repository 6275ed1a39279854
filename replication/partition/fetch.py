"""The parameters of a fetch and its results, used by readers, sessions and the purgatory."""

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode
from ...storage.files.files import FileRegion
from ...storage.segment.transaction_index import AbortedTransaction
from .isolation import Isolation
from .nearest_replica import ReplicaChoice

__all__ = ["EpochEnd", "FetchParams", "FetchResult", "FetchResults", "PartitionFetch", "PartitionKey"]

PartitionKey = tuple[str | int, int]
"""Topic name, or topic id (fetch v13+), and partition: the key of a partition in one fetcher's requests. The id is an
integer, because a UUID is slow to hash and to compare."""


class EpochEnd(NamedTuple):
    """A leader epoch and where it ends: the start offset of the next one, or the LEO. -1: unknown.

    A leader answers with the largest epoch it knows at or below the requested one.
    """

    leader_epoch: int
    end_offset: int


@dataclass(slots=True)
class FetchParams:
    """The parameters that all partitions of one fetch share (Kafka: FetchParams).

    ``replica_id`` is -1 for a consumer. ``hard_max_bytes``: fetch v0-2, which may get part of a batch rather than one
    that is too big. ``leader_only``: consumers before v11 and followers must not read from a follower (KIP-392).
    ``nearest`` chooses another replica for consumers in other racks.
    """

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation: Isolation
    replica_id: int = -1
    replica_epoch: int = -1
    hard_max_bytes: bool = False
    leader_only: bool = True
    nearest: ReplicaChoice | None = None

    @property
    def is_follower(self) -> bool:
        return self.replica_id >= 0


class PartitionFetch:
    """One partition of a fetch. A fetch session keeps it, with what the fetcher was last told."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "has_more",
        "key",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "sent_high_watermark",
        "sent_log_start_offset",
        "sent_result",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        key: PartitionKey,
        topic_partition: TopicPartition | None,
        fetch_offset: int,
        max_bytes: int,
        *,
        topic_id: UUID | None = None,
        current_leader_epoch: int = -1,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
    ) -> None:
        self.key = key
        self.topic_partition = topic_partition  # None: the topic id is not known here (yet)
        self.topic_id = topic_id
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        self.current_leader_epoch = current_leader_epoch
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset  # a follower's own; -1 from consumers
        self.has_more = False  # records than the last response had
        self.sent_high_watermark = -1
        self.sent_log_start_offset = -1
        self.sent_result: FetchResult | None = None  # the last result, if it held no memory

    def update_request(self, newer: "PartitionFetch") -> None:
        """Adopt the fields of a later request of the same session."""
        self.fetch_offset = newer.fetch_offset
        self.max_bytes = newer.max_bytes
        self.current_leader_epoch = newer.current_leader_epoch
        self.last_fetched_epoch = newer.last_fetched_epoch
        self.log_start_offset = newer.log_start_offset
        if newer.topic_partition is not None:
            self.topic_partition = newer.topic_partition

    def note_answer(self, result: "FetchResult") -> bool:
        """Remember that the fetcher is told ``result``; returns whether that is news to it."""
        if result is self.sent_result:
            return False
        is_news = bool(
            result.size_bytes
            or result.error
            or result.diverging_epoch is not None
            or result.preferred_read_replica != -1
            or result.high_watermark != self.sent_high_watermark
            or result.log_start_offset != self.sent_log_start_offset
        )
        self.has_more = result.is_cut if result.size_bytes else self.fetch_offset < result.high_watermark
        # After an error these are -1, so that the next result without one is news.
        self.sent_high_watermark = result.high_watermark
        self.sent_log_start_offset = result.log_start_offset
        self.sent_result = None if is_news else result
        return is_news

    def __repr__(self) -> str:
        return f"PartitionFetch({self.topic_partition or self.key}, from {self.fetch_offset}, max {self.max_bytes})"


@dataclass(slots=True)
class FetchResult:
    """The result of reading one partition (Kafka: FetchPartitionData). Offsets are -1 with an error. ``is_cut``: there
    were more records than the fetch has space for."""

    error: ErrorCode = ErrorCode.NONE
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records: FileRegion | None = None
    aborted_transactions: list[AbortedTransaction] | None = None
    diverging_epoch: EpochEnd | None = None
    preferred_read_replica: int = -1
    size_bytes: int = 0
    is_cut: bool = False


FetchResults = list[tuple[PartitionFetch, FetchResult]]

"""What a follower asks of its leader."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol
from uuid import UUID

from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode
from ...storage.files.files import Buffer
from .truncation import LeaderEpochEnd

__all__ = ["EpochAnswer", "EpochQuestion", "FetchedPartition", "LeaderEndpoint", "WantedPartition"]


class WantedPartition(NamedTuple):
    """What the follower wants of one partition, and where it stands. ``last_fetched_epoch`` -1: it does not say."""

    topic_id: UUID | None
    fetch_offset: int
    log_start_offset: int
    leader_epoch: int
    last_fetched_epoch: int


@dataclass(slots=True)
class FetchedPartition:
    """What the leader sent of one partition; nothing of ``error`` or ``diverging_epoch`` and the rest holds together.

    ``records`` may be kept: they are nobody else's.
    """

    error: ErrorCode = ErrorCode.NONE
    high_watermark: int = -1
    log_start_offset: int = -1
    records: Buffer = b""
    diverging_epoch: LeaderEpochEnd | None = None


class EpochQuestion(NamedTuple):
    """Where does ``last_epoch`` end? The follower believes the leader to lead under ``leader_epoch``."""

    leader_epoch: int
    last_epoch: int


class EpochAnswer(NamedTuple):
    error: ErrorCode
    end: LeaderEpochEnd


class LeaderEndpoint(Protocol):
    """The leader of some partitions (Kafka: LeaderEndPoint). One question at a time.

    All raise ConnectionError and TimeoutError when there is no answer; the last two also the KafkaError that the leader
    answers.
    """

    @property
    def truncates_on_fetch(self) -> bool:
        """Whether `fetch` tells where logs diverge (KIP-595)."""

    async def fetch(
        self, wanted: Mapping[TopicPartition, WantedPartition], changed: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, FetchedPartition] | None:
        """What the leader has of ``wanted``, in its order; partitions of which there is nothing new may be missing.

        Only of those ``changed`` something else may be wanted than the time before.

        None: there was nothing to ask. Raises KafkaError when the request as a whole was refused.
        """

    async def epoch_ends(
        self, questions: Mapping[TopicPartition, EpochQuestion]
    ) -> Mapping[TopicPartition, EpochAnswer]: ...

    async def earliest_offset(self, topic_partition: TopicPartition, leader_epoch: int) -> int: ...

    async def latest_offset(self, topic_partition: TopicPartition, leader_epoch: int) -> int: ...

    def kill(self) -> None:
        """Give up what is under way."""

    async def close(self) -> None:
        """`kill`, and wait until the connection is closed."""

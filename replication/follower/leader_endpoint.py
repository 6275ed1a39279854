"""The requests that a follower sends to its leader."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol
from uuid import UUID

from ...base.buffer import Buffer
from ...base.closing import AsyncClosable
from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode
from ..partition.fetch import EpochEnd

__all__ = ["EpochAnswer", "EpochQuestion", "FetchedPartition", "LeaderEndpoint", "WantedPartition"]


class WantedPartition(NamedTuple):
    """The fetch position of one partition. ``last_fetched_epoch`` -1: unknown."""

    topic_id: UUID | None
    fetch_offset: int
    log_start_offset: int
    leader_epoch: int
    last_fetched_epoch: int


@dataclass(slots=True)
class FetchedPartition:
    """The leader's response for one partition. With ``error`` or ``diverging_epoch`` the other fields mean nothing.

    ``records`` belong to the receiver and may be kept.
    """

    error: ErrorCode = ErrorCode.NONE
    high_watermark: int = -1
    log_start_offset: int = -1
    records: Buffer = b""
    diverging_epoch: EpochEnd | None = None


class EpochQuestion(NamedTuple):
    """Asks where ``last_epoch`` ends. ``leader_epoch`` is the current one as the follower knows it."""

    leader_epoch: int
    last_epoch: int


class EpochAnswer(NamedTuple):
    error: ErrorCode
    end: EpochEnd


class LeaderEndpoint(AsyncClosable, Protocol):
    """The leader of some partitions (Kafka: LeaderEndPoint). One request at a time.

    All methods raise ConnectionError or TimeoutError when there is no response; the last two also raise the KafkaError
    that the leader answers with.
    """

    @property
    def truncates_on_fetch(self) -> bool:
        """Whether `fetch` tells where logs diverge (KIP-595)."""

    async def fetch(
        self, wanted: Mapping[TopicPartition, WantedPartition], changed: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, FetchedPartition] | None:
        """Fetch ``wanted``, in its order; the result may lack partitions without news. None: there was nothing to
        fetch.

        ``changed``: only these partitions may differ from the fetch before. Raises KafkaError when the leader refused
        the whole request.
        """

    def repeat_offsets(self) -> None:
        """A response was not used for each of its partitions: have the next one tell the offsets of all again."""

    async def epoch_ends(
        self, questions: Mapping[TopicPartition, EpochQuestion]
    ) -> Mapping[TopicPartition, EpochAnswer]: ...

    async def earliest_offset(self, topic_partition: TopicPartition, leader_epoch: int) -> int: ...

    async def latest_offset(self, topic_partition: TopicPartition, leader_epoch: int) -> int: ...

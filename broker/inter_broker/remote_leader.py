"""Fetches from another broker that leads partitions followed here (`LeaderEndpoint`; Kafka: RemoteLeaderEndPoint)."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from uuid import UUID

from ...base.topic_partition import TopicPartition
from ...protocol.codec import NULL_UUID
from ...protocol.errors import ErrorCode, error_for, known_error_code
from ...protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from ...protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ...protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from ...protocol.sentinels import EARLIEST, LATEST
from ...replication.follower.fetch_session_client import ClientFetchSession, SessionRequest
from ...replication.follower.leader_endpoint import EpochAnswer, EpochQuestion, FetchedPartition, WantedPartition
from ...replication.partition.fetch import EpochEnd
from .broker_link import Link

__all__ = ["FetchSettings", "LeaderVersions", "RemoteLeader"]

logger = logging.getLogger(__name__)

_FIRST_WITH_DIVERGENCE = 12
_FIRST_WITH_TOPIC_IDS = 13
_FIRST_WITH_REPLICA_STATE = 15


class LeaderVersions(NamedTuple):
    """Versions of the requests to a leader, by inter.broker.protocol.version."""

    fetch: int
    list_offsets: int
    offset_for_leader_epoch: int


class FetchSettings(NamedTuple):
    """replica.fetch.wait.max.ms, .min.bytes, .response.max.bytes, .max.bytes, and replica.socket.timeout.ms."""

    max_wait_ms: int
    min_bytes: int
    response_max_bytes: int
    partition_max_bytes: int
    timeout_ms: int


class RemoteLeader:
    """``broker_epoch()``: the epoch of this broker's registration, by which a leader notices its restarts."""

    def __init__(
        self,
        link: Link,
        broker_id: int,
        versions: LeaderVersions,
        settings: FetchSettings,
        broker_epoch: Callable[[], int],
    ) -> None:
        self._link = link
        self._broker_id = broker_id
        self._versions = versions
        self._settings = settings
        self._broker_epoch = broker_epoch
        self._session = ClientFetchSession()
        self._names: dict[UUID, str] = {}

    @property
    def truncates_on_fetch(self) -> bool:
        return self._versions.fetch >= _FIRST_WITH_DIVERGENCE

    def kill(self) -> None:
        self._link.kill()

    async def close(self) -> None:
        await self._link.close()

    # -- fetching

    async def fetch(
        self, wanted: Mapping[TopicPartition, WantedPartition], changed: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, FetchedPartition] | None:
        """See `LeaderEndpoint`."""
        asked = self._session.request(wanted, changed)
        if asked is None:
            return None
        version = self._versions.fetch
        if version >= _FIRST_WITH_TOPIC_IDS and not asked.uses_topic_ids:
            version = _FIRST_WITH_TOPIC_IDS - 1
        if asked.is_full:
            self._names.clear()
        self._names |= {want.topic_id: each.topic for each, want in asked.named.items() if want.topic_id is not None}
        try:
            response = await self._link.ask(self._fetch_request(asked, version), version, self._settings.timeout_ms)
        except (ConnectionError, TimeoutError):
            self._session.failed()
            raise
        return self._fetched(response, version)

    def _fetch_request(self, asked: SessionRequest, version: int) -> FetchRequest:
        settings = self._settings
        named_by_state = version >= _FIRST_WITH_REPLICA_STATE
        return FetchRequest(
            replica_id=-1 if named_by_state else self._broker_id,
            replica_state=ReplicaState(replica_id=self._broker_id, replica_epoch=self._broker_epoch())
            if named_by_state
            else ReplicaState(),
            max_wait_ms=settings.max_wait_ms,
            min_bytes=settings.min_bytes,
            max_bytes=settings.response_max_bytes,
            session_id=asked.session_id,
            session_epoch=asked.epoch,
            topics=self._topics(asked.named, version),
            forgotten_topics_data=[
                ForgottenTopic(topic=name, topic_id=topic_id, partitions=[each.partition for each, _ in partitions])
                for name, topic_id, partitions in _by_topic(asked.forgotten, version)
            ],
        )

    def _topics(self, named: Mapping[TopicPartition, WantedPartition], version: int) -> list[FetchTopic]:
        tells_epoch = version >= _FIRST_WITH_DIVERGENCE
        return [
            FetchTopic(
                topic=name,
                topic_id=topic_id,
                partitions=[
                    FetchPartition(
                        partition=each.partition,
                        current_leader_epoch=want.leader_epoch,
                        fetch_offset=want.fetch_offset,
                        last_fetched_epoch=want.last_fetched_epoch if tells_epoch else -1,
                        log_start_offset=want.log_start_offset,
                        partition_max_bytes=self._settings.partition_max_bytes,
                    )
                    for each, want in partitions
                ],
            )
            for name, topic_id, partitions in _by_topic(named, version)
        ]

    def _fetched(self, response: FetchResponse, version: int) -> dict[TopicPartition, FetchedPartition]:
        """Raises KafkaError for an error of the whole request that a new fetch session does not solve."""
        fetched: dict[TopicPartition, FetchedPartition] = {}
        for topic in response.responses:
            name = topic.topic if version < _FIRST_WITH_TOPIC_IDS else self._names.get(topic.topic_id, "")
            for data in topic.partitions:
                fetched[TopicPartition(name, data.partition_index)] = _partition(data)
        error = known_error_code(response.error_code)
        if self._session.answered(response.session_id, error, fetched):
            return fetched
        logger.info("fetch session %d ends: %s", response.session_id, error.name)
        if error in (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH):
            return {}
        raise error_for(error or ErrorCode.UNKNOWN_SERVER_ERROR)

    # -- where epochs and logs end

    def repeat_offsets(self) -> None:
        self._session.failed()

    async def epoch_ends(
        self, questions: Mapping[TopicPartition, EpochQuestion]
    ) -> Mapping[TopicPartition, EpochAnswer]:
        """See `LeaderEndpoint`."""
        topics: dict[str, OffsetForLeaderTopic] = {}
        for each, question in questions.items():
            topic = topics.setdefault(each.topic, OffsetForLeaderTopic(topic=each.topic))
            topic.partitions.append(
                OffsetForLeaderPartition(
                    partition=each.partition,
                    current_leader_epoch=question.leader_epoch,
                    leader_epoch=question.last_epoch,
                )
            )
        request = OffsetForLeaderEpochRequest(replica_id=self._broker_id, topics=list(topics.values()))
        response = await self._link.ask(request, self._versions.offset_for_leader_epoch, self._settings.timeout_ms)
        return {
            TopicPartition(topic.topic, end.partition): EpochAnswer(
                known_error_code(end.error_code), EpochEnd(end.leader_epoch, end.end_offset)
            )
            for topic in response.topics
            for end in topic.partitions
        }

    async def earliest_offset(self, topic_partition: TopicPartition, leader_epoch: int) -> int:
        return await self._offset(topic_partition, leader_epoch, EARLIEST)

    async def latest_offset(self, topic_partition: TopicPartition, leader_epoch: int) -> int:
        return await self._offset(topic_partition, leader_epoch, LATEST)

    async def _offset(self, topic_partition: TopicPartition, leader_epoch: int, timestamp: int) -> int:
        partition = ListOffsetsPartition(
            partition_index=topic_partition.partition, current_leader_epoch=leader_epoch, timestamp=timestamp
        )
        request = ListOffsetsRequest(
            replica_id=self._broker_id, topics=[ListOffsetsTopic(name=topic_partition.topic, partitions=[partition])]
        )
        response = await self._link.ask(request, self._versions.list_offsets, self._settings.timeout_ms)
        for topic in response.topics:
            for found in topic.partitions:
                if (topic.name, found.partition_index) == topic_partition:
                    if found.error_code:
                        raise error_for(found.error_code)
                    return int(found.offset)
        raise error_for(ErrorCode.UNKNOWN_SERVER_ERROR, f"the leader's response lacks {topic_partition}")


def _by_topic(
    partitions: Mapping[TopicPartition, WantedPartition], version: int
) -> Iterator[tuple[str, UUID, list[tuple[TopicPartition, WantedPartition]]]]:
    """Name, id and partitions of each topic, in order."""
    topics: dict[tuple[str, UUID], list[tuple[TopicPartition, WantedPartition]]] = {}
    for each, want in partitions.items():
        topic_id = want.topic_id if version >= _FIRST_WITH_TOPIC_IDS and want.topic_id is not None else NULL_UUID
        topics.setdefault((each.topic, topic_id), []).append((each, want))
    for (name, topic_id), members in topics.items():
        yield name, topic_id, members


def _partition(data: PartitionData) -> FetchedPartition:
    diverging = data.diverging_epoch
    records: Any = data.records
    return FetchedPartition(
        known_error_code(data.error_code),
        data.high_watermark,
        data.log_start_offset,
        b"" if records is None else records,
        None if diverging.end_offset < 0 else EpochEnd(diverging.epoch, diverging.end_offset),
    )

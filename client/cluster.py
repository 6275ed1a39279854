"""A blocking client of a cluster for readers: topics, leaders, ends of partitions, offsets by time, group commits.

Passing errors (a leader that moves, a broker that restarts, a coordinator that loads) are retried until a deadline.
Other errors are raised as KafkaError or TlsError.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self, TypeVar

from ..base.topic_partition import TopicPartition
from ..protocol.errors import ErrorCode, KafkaError, UnknownTopicOrPartitionError, error_for
from ..protocol.messages.find_coordinator import FindCoordinatorRequest
from ..protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ..protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ..protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from .client_settings import ClientSettings
from .connection import Connection

T = TypeVar("T")

NO_OFFSET = -1
MISSING_MS = 5_000
"""How long a missing partition is retried: the broker may not know it yet."""
_CONSUMER = -1


class Cluster:
    """Connects to brokers when needed. Retriable errors are retried for `retry_ms`, and until the first connection is
    made, for `first_ms` at most, because a wrong address is then likelier than a broker that restarts.
    """

    def __init__(self, settings: ClientSettings, retry_ms: int = 60_000, first_ms: int | None = None) -> None:
        self._settings = settings
        self._retry_ms = retry_ms
        self._first_ms = retry_ms if first_ms is None else min(first_ms, retry_ms)
        self._addresses: dict[int, tuple[str, int]] = {}
        self._connections: dict[tuple[str, int], Connection] = {}
        self._leaders: dict[TopicPartition, int] = {}

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """All partitions of `topics`, sorted; missing topics are left out."""
        names = sorted(set(topics))
        return self._retried(lambda: self._partitions([MetadataRequestTopic(name=name) for name in names]))

    def partitions_of_all(self, topics: Iterable[str]) -> list[TopicPartition]:
        """All partitions of `topics`, sorted. Raises UnknownTopicOrPartitionError, which names missing topics."""
        names = sorted(set(topics))

        def ask() -> list[TopicPartition]:
            found = self._partitions([MetadataRequestTopic(name=name) for name in names])
            missing = sorted(set(names) - {at.topic for at in found})
            if missing:
                raise error_for(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {', '.join(missing)}")
            return found

        return self._retried(ask)

    def check_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """Raises UnknownTopicOrPartitionError, which names missing partitions."""
        wanted = sorted(set(partitions))
        topics = [MetadataRequestTopic(name=name) for name in sorted({at.topic for at in wanted})]

        def ask() -> None:
            there = set(self._partitions(topics))
            missing = [str(at) for at in wanted if at not in there]
            if missing:
                raise error_for(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {', '.join(missing)}")

        self._retried(ask)

    def topic_names(self) -> list[str]:
        """All topics except internal ones, sorted."""

        def ask() -> list[str]:
            answer = self._ask_any(MetadataRequest(topics=None, allow_auto_topic_creation=False))
            return sorted(topic.name for topic in answer.topics if topic.name and not topic.is_internal)

        return self._retried(ask)

    def leader_connection(self, topic_partition: TopicPartition) -> Connection:
        """A connection to the leader of a partition. Also raises retriable errors; the caller retries."""
        leader = self._leaders.get(topic_partition)
        if leader is None:
            self._partitions([MetadataRequestTopic(name=topic_partition.topic)])
            leader = self._leaders.get(topic_partition)
        if leader is None:
            raise error_for(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic_partition} does not exist")
        if leader < 0 or leader not in self._addresses:
            self._leaders.pop(topic_partition)
            raise error_for(ErrorCode.LEADER_NOT_AVAILABLE, f"{topic_partition} has no leader")
        return self._connection(self._addresses[leader])

    def forget_leader(self, topic_partition: TopicPartition) -> None:
        """Have the next `leader_connection` look up the leader again."""
        self._leaders.pop(topic_partition, None)

    def offsets(
        self, questions: Mapping[TopicPartition, int], replica_id: int = _CONSUMER
    ) -> dict[TopicPartition, int]:
        """The first offset in each partition with at least the given timestamp, or for LATEST (-1) or EARLIEST (-2).

        NO_OFFSET if there is no such record. Latest is the last stable offset when reading committed.
        """
        found: dict[TopicPartition, int] = {}

        def ask() -> dict[TopicPartition, int]:
            by_leader: dict[Connection, dict[TopicPartition, int]] = defaultdict(dict)
            for topic_partition, timestamp in questions.items():
                if topic_partition not in found:
                    by_leader[self.leader_connection(topic_partition)][topic_partition] = timestamp
            for connection, asked in by_leader.items():
                self._ask_offsets(connection, asked, found, replica_id)
            return found

        def ask_leaders() -> dict[TopicPartition, int]:
            try:
                return ask()
            except ConnectionError:
                for topic_partition in questions:
                    self.forget_leader(topic_partition)  # while a broker is down, others lead its partitions
                raise

        return self._retried(ask_leaders)

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Store offsets of a consumer group without members."""
        self._retried(lambda: self._commit(group, offsets))

    def _ask_offsets(
        self,
        connection: Connection,
        asked: Mapping[TopicPartition, int],
        found: dict[TopicPartition, int],
        replica_id: int,
    ) -> None:
        topics = [
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
                    for partition, timestamp in timestamps.items()
                ],
            )
            for topic, timestamps in _by_topic(asked).items()
        ]
        answer = connection.ask(
            ListOffsetsRequest(replica_id=replica_id, isolation_level=self._settings.isolation_level, topics=topics)
        )
        for topic in answer.topics:
            for partition in topic.partitions:
                topic_partition = TopicPartition(topic.name, partition.partition_index)
                if partition.error_code:
                    self.forget_leader(topic_partition)
                    raise error_for(partition.error_code, f"{topic_partition}: {error_for(partition.error_code)}")
                found[topic_partition] = partition.offset

    def _commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        coordinator = self._ask_any(FindCoordinatorRequest(key=group))
        _raise_for(coordinator.error_code, f"group {group}")
        topics = [
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
                    for partition, offset in topic_offsets.items()
                ],
            )
            for topic, topic_offsets in _by_topic(offsets).items()
        ]
        connection = self._connection((coordinator.host, coordinator.port))
        answer = connection.ask(OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, topics=topics))
        for topic in answer.topics:
            for partition in topic.partitions:
                _raise_for(partition.error_code, f"group {group}, {topic.name}-{partition.partition_index}")

    def _partitions(self, topics: list[MetadataRequestTopic]) -> list[TopicPartition]:
        answer = self._ask_any(MetadataRequest(topics=topics, allow_auto_topic_creation=False))
        found = []
        for topic in answer.topics:
            if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                continue
            _raise_for(topic.error_code, f"topic {topic.name}")
            for partition in topic.partitions:
                topic_partition = TopicPartition(topic.name, partition.partition_index)
                self._leaders[topic_partition] = partition.leader_id
                found.append(topic_partition)
        return sorted(found)

    def _ask_any(self, request: Any) -> Any:
        """The response of the first broker that answers; connected brokers are tried first."""
        known = [*self._connections, *self._addresses.values(), *self._settings.bootstrap_servers]
        failure: ConnectionError | None = None
        for address in dict.fromkeys(known):
            try:
                answer = self._connection(address).ask(request)
            except ConnectionError as error:
                failure = error
                continue
            if isinstance(request, MetadataRequest):
                self._addresses = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
            return answer
        raise failure or ConnectionError("no broker is known")

    def _connection(self, address: tuple[str, int]) -> Connection:
        connection = self._connections.get(address)
        if connection is None or connection.is_closed:
            connection = self._connections[address] = Connection(*address, self._settings)
        return connection

    def _retried(self, ask: Callable[[], T]) -> T:
        began = time.monotonic()
        while True:
            try:
                return ask()
            except (ConnectionError, KafkaError) as error:
                if not is_retriable(error) or time.monotonic() - began >= self._limit_ms(error) / 1000:
                    raise
            time.sleep(self._settings.retry_backoff_ms / 1000)

    def _limit_ms(self, error: Exception) -> int:
        if isinstance(error, UnknownTopicOrPartitionError):
            return min(MISSING_MS, self._retry_ms)
        return self._retry_ms if self._connections else self._first_ms


def is_retriable(error: Exception) -> bool:
    """Whether the same request may succeed later."""
    return isinstance(error, ConnectionError) or (isinstance(error, KafkaError) and error.retriable)


def _by_topic(numbers: Mapping[TopicPartition, int]) -> dict[str, dict[int, int]]:
    """Partitions and numbers by topic name, as requests list them."""
    topics: dict[str, dict[int, int]] = {topic: {} for topic in sorted({at.topic for at in numbers})}
    for at, number in numbers.items():
        topics[at.topic][at.partition] = number
    return topics


def _raise_for(code: int, what: str) -> None:
    if code:
        raise error_for(code, f"{what}: {error_for(code)}")

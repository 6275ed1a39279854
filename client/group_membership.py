"""A member of a consumer group by the classic protocol: joins, shows that it is alive, commits, leaves.

**Limits.** It gives up its partitions at each rebalance, also in a group whose other members keep theirs (KIP-429).
When it leads the group, new partitions of a topic are assigned at the next rebalance.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..base.topic_partition import TopicPartition
from ..protocol.codec import FieldNotInVersionError, decode_prefix, encode
from ..protocol.errors import ErrorCode, KafkaError, error_for
from ..protocol.messages.consumer_protocol import (
    AssignmentTopicPartition,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from ..protocol.messages.heartbeat import HeartbeatRequest
from ..protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from ..protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from ..protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ..protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from ..protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from .admin_cluster import AdminCluster
from .client_settings import ClientSettings
from .group_assignors import ASSIGNORS, by_topic

__all__ = ["GroupMembership"]

_SESSION_MS = 45_000
_REBALANCE_MS = 60_000
_HEARTBEAT_S = 3.0
_CONSUMER = "consumer"
_REJOIN = (
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.MEMBER_ID_REQUIRED,
)


class GroupMembership:
    """Reads `topics` as a member of `group`. Has connections of its own. Raises KafkaError, ConnectionError."""

    def __init__(self, settings: ClientSettings, group: str, topics: Sequence[str]) -> None:
        timeout_ms = max(settings.request_timeout_ms, _REBALANCE_MS + 5_000)
        self._cluster = AdminCluster(replace(settings, request_timeout_ms=timeout_ms))
        self._group = group
        self._topics = sorted(topics)
        self._member = ""
        self._generation = -1
        self._heard_s = 0.0

    def join(self) -> list[TopicPartition]:
        """Take part in the next generation; returns the partitions that this member reads."""
        while True:
            try:
                return self._cluster.retried(self._join)
            except KafkaError as error:
                if error.code not in _REJOIN:
                    raise
                if error.code == ErrorCode.UNKNOWN_MEMBER_ID:
                    self._member = ""

    def must_rejoin(self) -> bool:
        """Send a heartbeat if it is time; returns whether the group rebalances."""
        if time.monotonic() - self._heard_s < _HEARTBEAT_S:
            return False
        request = HeartbeatRequest(group_id=self._group, generation_id=self._generation, member_id=self._member)

        def ask() -> int:
            code: int = self._cluster.ask_coordinator(self._group, request).error_code
            if code not in _REJOIN:
                self._check(code)
            return code

        code = self._cluster.retried(ask)
        self._heard_s = time.monotonic()
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            self._member = ""
        return code != ErrorCode.NONE

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The committed offset of each partition that has one."""
        topics = [
            OffsetFetchRequestTopic(name=topic, partition_indexes=indexes)
            for topic, indexes in by_topic(partitions).items()
        ]

        def ask() -> dict[TopicPartition, int]:
            answer = self._cluster.ask_coordinator(
                self._group, OffsetFetchRequest(group_id=self._group, topics=topics, require_stable=False)
            )
            self._check(answer.error_code)
            found = {}
            for topic in answer.topics:
                for each in topic.partitions:
                    self._check(each.error_code)
                    if each.committed_offset >= 0:
                        found[TopicPartition(topic.name, each.partition_index)] = each.committed_offset
            return found

        return self._cluster.retried(ask) if topics else {}

    def commit(self, offsets: Mapping[TopicPartition, int]) -> bool:
        """Commit the next offsets to read; returns False if the group rebalances, so that others may read them too."""
        topics = [
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index, committed_offset=offsets[TopicPartition(topic, index)]
                    )
                    for index in indexes
                ],
            )
            for topic, indexes in by_topic(offsets).items()
        ]
        request = OffsetCommitRequest(
            group_id=self._group,
            generation_id_or_member_epoch=self._generation,
            member_id=self._member,
            topics=topics,
        )

        def ask() -> bool:
            answer = self._cluster.ask_coordinator(self._group, request)
            codes = {each.error_code for topic in answer.topics for each in topic.partitions} - {ErrorCode.NONE}
            if codes & set(_REJOIN):
                return False
            self._check(min(codes, default=ErrorCode.NONE))
            return True

        return self._cluster.retried(ask) if offsets else True

    def leave(self) -> None:
        """Leave the group at once, so that others need not wait for the end of the session."""
        if self._member:
            with suppress(KafkaError, ConnectionError):  # then the group waits for the end of the session
                self._leave()
            self._member = ""
        self._cluster.close()

    def _leave(self) -> None:
        request = LeaveGroupRequest(group_id=self._group, members=[MemberIdentity(member_id=self._member)])
        try:
            self._cluster.ask_coordinator(self._group, request)
        except FieldNotInVersionError:  # a broker before Kafka 2.4
            request = LeaveGroupRequest(group_id=self._group, member_id=self._member)
            self._cluster.ask_coordinator(self._group, request)

    def _join(self) -> list[TopicPartition]:
        metadata = _versioned(ConsumerProtocolSubscription(topics=self._topics), 1)
        joined = self._cluster.ask_coordinator(
            self._group,
            JoinGroupRequest(
                group_id=self._group,
                session_timeout_ms=_SESSION_MS,
                rebalance_timeout_ms=_REBALANCE_MS,
                member_id=self._member,
                protocol_type=_CONSUMER,
                protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name in ASSIGNORS],
            ),
        )
        if joined.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self._member = joined.member_id
        self._check(joined.error_code)
        self._generation = joined.generation_id
        assignments = []
        if joined.leader == self._member:
            assignments = self._assignments(joined.protocol_name or "", joined.members)
        synced = self._cluster.ask_coordinator(
            self._group,
            SyncGroupRequest(
                group_id=self._group,
                generation_id=self._generation,
                member_id=self._member,
                protocol_type=_CONSUMER,
                protocol_name=joined.protocol_name,
                assignments=assignments,
            ),
        )
        self._check(synced.error_code)
        self._heard_s = time.monotonic()
        if not synced.assignment:
            return []
        found = _decoded(ConsumerProtocolAssignment, synced.assignment)
        return [TopicPartition(each.topic, index) for each in found.assigned_partitions for index in each.partitions]

    def _assignments(self, name: str, members: Sequence[Any]) -> list[SyncGroupRequestAssignment]:
        told = {each.member_id: _decoded(ConsumerProtocolSubscription, each.metadata) for each in members}
        wanted = {member: subscription.topics for member, subscription in told.items()}
        # A member of an older generation may name partitions that others read since.
        newest_first = sorted(told, key=lambda member: (-told[member].generation_id, member))
        owned = {member: _owned_in(told[member]) for member in newest_first}
        partitions = self._cluster.partitions({topic for topics in wanted.values() for topic in topics})
        return [
            SyncGroupRequestAssignment(member_id=member, assignment=_versioned(_assignment_of(chosen), 0))
            for member, chosen in ASSIGNORS[name](wanted, partitions, owned).items()
        ]

    def _check(self, code: int) -> None:
        if code:
            raise error_for(code, f"group {self._group}: {error_for(code)}")


def _owned_in(subscription: ConsumerProtocolSubscription) -> list[TopicPartition]:
    return [TopicPartition(each.topic, index) for each in subscription.owned_partitions for index in each.partitions]


def _assignment_of(partitions: Iterable[TopicPartition]) -> ConsumerProtocolAssignment:
    return ConsumerProtocolAssignment(
        assigned_partitions=[
            AssignmentTopicPartition(topic=topic, partitions=indexes) for topic, indexes in by_topic(partitions).items()
        ]
    )


def _versioned(message: Any, version: int) -> bytes:
    """The message behind its version. Members that know only version 0 read newer ones too.

    librdkafka 2.16 ends with a segmentation fault when it leads a cooperative group with a subscription of version 0.
    """
    return version.to_bytes(2) + encode(message, version)


def _decoded(kind: type, data: bytes) -> Any:
    """A message in the version that stands in front of it. Raises KafkaError."""
    version = int.from_bytes(data[:2], "big", signed=True)
    if len(data) < 2 or version < 0:
        raise error_for(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "a member of the group sent metadata without a version")
    return decode_prefix(kind, data, min(version, 3), offset=2)[0]

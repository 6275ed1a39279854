"""A member of a consumer group by the classic protocol: joins, shows that it is alive, commits, leaves.

**Limits.** It assigns by range or round robin when it leads the group, and gives up its partitions at each rebalance.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
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

__all__ = ["Assignment", "Assignor", "GroupMembership", "assigned_by_range", "assigned_round_robin"]

Assignment = dict[str, list[TopicPartition]]
Assignor = Callable[[Mapping[str, Sequence[str]], Sequence[TopicPartition]], Assignment]

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
        code = self._cluster.ask_coordinator(self._group, request).error_code
        self._heard_s = time.monotonic()
        if code in _REJOIN:
            if code == ErrorCode.UNKNOWN_MEMBER_ID:
                self._member = ""
            return True
        self._check(code)
        return False

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The committed offset of each partition that has one."""
        topics = [
            OffsetFetchRequestTopic(name=topic, partition_indexes=indexes)
            for topic, indexes in _by_topic(partitions).items()
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
            for topic, indexes in _by_topic(offsets).items()
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
            request = LeaveGroupRequest(group_id=self._group, members=[MemberIdentity(member_id=self._member)])
            try:
                self._cluster.ask_coordinator(self._group, request)
            except FieldNotInVersionError:  # a broker before Kafka 2.4
                request = LeaveGroupRequest(group_id=self._group, member_id=self._member)
                self._cluster.ask_coordinator(self._group, request)
            self._member = ""
        self._cluster.close()

    def _join(self) -> list[TopicPartition]:
        metadata = _versioned(ConsumerProtocolSubscription(topics=self._topics))
        joined = self._cluster.ask_coordinator(
            self._group,
            JoinGroupRequest(
                group_id=self._group,
                session_timeout_ms=_SESSION_MS,
                rebalance_timeout_ms=_REBALANCE_MS,
                member_id=self._member,
                protocol_type=_CONSUMER,
                protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name in _ASSIGNORS],
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
        wanted = {
            member.member_id: _decoded(ConsumerProtocolSubscription, member.metadata).topics for member in members
        }
        partitions = self._cluster.partitions({topic for topics in wanted.values() for topic in topics})
        return [
            SyncGroupRequestAssignment(member_id=member, assignment=_versioned(_assignment_of(chosen)))
            for member, chosen in _ASSIGNORS[name](wanted, partitions).items()
        ]

    def _check(self, code: int) -> None:
        if code:
            raise error_for(code, f"group {self._group}: {error_for(code)}")


def assigned_by_range(wanted: Mapping[str, Sequence[str]], partitions: Sequence[TopicPartition]) -> Assignment:
    """Each member gets neighbours of each topic; the first members get one more if it does not come out even."""
    chosen: Assignment = {member: [] for member in sorted(wanted)}
    for topic, indexes in _by_topic(partitions).items():
        members = [member for member in chosen if topic in wanted[member]]
        share, more = divmod(len(indexes), max(len(members), 1))
        begin = 0
        for number, member in enumerate(members):
            end = begin + share + (number < more)
            chosen[member] += [TopicPartition(topic, index) for index in indexes[begin:end]]
            begin = end
    return chosen


def assigned_round_robin(wanted: Mapping[str, Sequence[str]], partitions: Sequence[TopicPartition]) -> Assignment:
    """One partition after another to one member after another, if it wants the topic."""
    chosen: Assignment = {member: [] for member in sorted(wanted)}
    waiting = list(chosen)
    for at in sorted(partitions):
        member = next((each for each in waiting if at.topic in wanted[each]), None)
        if member is not None:
            chosen[member].append(at)
            waiting.remove(member)
            waiting.append(member)
    return chosen


_ASSIGNORS: dict[str, Assignor] = {"range": assigned_by_range, "roundrobin": assigned_round_robin}


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = defaultdict(list)
    for at in sorted(partitions):
        topics[at.topic].append(at.partition)
    return topics


def _assignment_of(partitions: Iterable[TopicPartition]) -> ConsumerProtocolAssignment:
    return ConsumerProtocolAssignment(
        assigned_partitions=[
            AssignmentTopicPartition(topic=topic, partitions=indexes)
            for topic, indexes in _by_topic(partitions).items()
        ]
    )


def _versioned(message: Any) -> bytes:
    """The message in version 0, which all members understand, behind its version."""
    return b"\0\0" + encode(message, 0)


def _decoded(kind: type, data: bytes) -> Any:
    """A message in the version that stands in front of it. Raises KafkaError."""
    version = int.from_bytes(data[:2], "big", signed=True)
    if len(data) < 2 or version < 0:
        raise error_for(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "a member of the group sent metadata without a version")
    return decode_prefix(kind, data, min(version, 3), offset=2)[0]

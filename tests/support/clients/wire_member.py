"""A consumer of a group whose every step a test takes, for groups that must be stuck in a certain way."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from pybroker.protocol.codec import encode
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages import join_group as j
from pybroker.protocol.messages import sync_group as s
from pybroker.protocol.messages.consumer_protocol import (
    AssignmentTopicPartition,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.heartbeat import HeartbeatRequest
from pybroker.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pybroker.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from support.clients.wire_client import WireClient

__all__ = ["WireMember", "wait_for_coordinator"]

_JOIN, _SYNC, _HEARTBEAT, _LEAVE, _COMMIT = 5, 3, 3, 3, 7
_PATIENCE_S = 30


def wait_for_coordinator(servers: str, group: str) -> None:
    """Returns when the group has a coordinator that has loaded it."""
    deadline_s = time.monotonic() + _PATIENCE_S
    with WireClient(servers, _PATIENCE_S) as client:
        while client.ask(FindCoordinatorRequest(key=group, key_type=0), 1).error_code:
            assert time.monotonic() < deadline_s, "the group got no coordinator"


class WireMember:
    """``assignors``: names of assignors that the client offers. The broker must be the coordinator of all groups."""

    def __init__(
        self,
        servers: str,
        group: str,
        topics: Sequence[str],
        *,
        assignors: Sequence[str] = ("range",),
        instance_id: str | None = None,
        rebalance_timeout_ms: int = 60_000,
        session_timeout_ms: int = 30_000,
    ) -> None:
        self._client = WireClient(servers, _PATIENCE_S)
        self._group = group
        self._topics = list(topics)
        self.assignors = assignors
        self._instance_id = instance_id
        self._rebalance_timeout_ms = rebalance_timeout_ms
        self._session_timeout_ms = session_timeout_ms
        self.member_id = ""
        self.generation = -1

    def begin_join(self) -> None:
        """Sends JoinGroup; a new member gets its member id first, if the broker asks for that."""
        if not self.member_id and self._instance_id is None:
            self.ask_for_id()
        self._client.send(self._join_request(), _JOIN)

    def ask_for_id(self) -> None:
        """Gets the member id that a new member must join with."""
        answer = self._client.ask(self._join_request(), _JOIN)
        assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED, answer
        self.member_id = answer.member_id

    def join_refused(self, error: ErrorCode = ErrorCode.INCONSISTENT_GROUP_PROTOCOL) -> None:
        """Tries to join, and must be refused, by default for its assignors."""
        answer = self._client.ask(self._join_request(), _JOIN)
        assert answer.error_code == error, answer

    def finish_join(self) -> Any:
        """Returns the response to `begin_join`."""
        answer = self._client.receive()
        if not answer.error_code:
            self.member_id, self.generation = answer.member_id, answer.generation_id
        return answer

    def join(self) -> Any:
        """Joins, when all other members have joined."""
        self.begin_join()
        return self.finish_join()

    def sync(self, assignments: Mapping[WireMember, Mapping[str, Sequence[int]]] | None = None) -> None:
        """Gets its assignment; the leader gives the assignments of all members."""
        sent = [
            s.SyncGroupRequestAssignment(member_id=member.member_id, assignment=_assignment(parts))
            for member, parts in (assignments or {}).items()
        ]
        request = s.SyncGroupRequest(
            group_id=self._group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self._instance_id,
            assignments=sent,
        )
        answer = self._client.ask(request, _SYNC)
        assert not answer.error_code, answer

    def join_alone(self, parts: Mapping[str, Sequence[int]]) -> None:
        """Joins a group without other members and takes these partitions."""
        answer = self.join()
        assert not answer.error_code, answer
        self.sync({self: parts})

    def heartbeat(self) -> int:
        """Returns the error code."""
        request = HeartbeatRequest(
            group_id=self._group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self._instance_id,
        )
        return int(self._client.ask(request, _HEARTBEAT).error_code)

    def commit(self, topic: str, partition: int, offset: int) -> None:
        """Commits an offset."""
        part = OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        request = OffsetCommitRequest(
            group_id=self._group,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            group_instance_id=self._instance_id,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=[part])],
        )
        (answer,) = self._client.ask(request, _COMMIT).topics
        assert not answer.partitions[0].error_code, answer

    def leave(self) -> None:
        identity = MemberIdentity(member_id=self.member_id, group_instance_id=self._instance_id)
        self._client.ask(LeaveGroupRequest(group_id=self._group, members=[identity]), _LEAVE)

    def close(self) -> None:
        """Closes the connection, without a word to the group."""
        self._client.close()

    def __enter__(self) -> WireMember:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _join_request(self) -> j.JoinGroupRequest:
        metadata = (1).to_bytes(2, "big") + encode(ConsumerProtocolSubscription(topics=self._topics), 1)
        return j.JoinGroupRequest(
            group_id=self._group,
            session_timeout_ms=self._session_timeout_ms,
            rebalance_timeout_ms=self._rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=self._instance_id,
            protocol_type="consumer",
            protocols=[j.JoinGroupRequestProtocol(name=name, metadata=metadata) for name in self.assignors],
        )


def _assignment(parts: Mapping[str, Sequence[int]]) -> bytes:
    listed = [AssignmentTopicPartition(topic=topic, partitions=list(numbers)) for topic, numbers in parts.items()]
    return (1).to_bytes(2, "big") + encode(ConsumerProtocolAssignment(assigned_partitions=listed), 1)

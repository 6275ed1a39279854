"""Members of groups for tests: they call the coordinator's rules directly and record the responses."""

import struct
from collections.abc import Iterable, Mapping
from itertools import count

from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.commit_request import CommitRequest
from pybroker.broker.coordinator.group.consumer.consumer_groups import NO_TOPICS
from pybroker.broker.coordinator.group.group import Group
from pybroker.broker.coordinator.group.group_parts import GroupParts
from pybroker.broker.coordinator.group.joining import JoinRequest
from pybroker.broker.coordinator.group.member import MemberProtocol
from pybroker.broker.coordinator.group.offset_batch import TransactionalProducer
from pybroker.broker.coordinator.group.offsets import OffsetAndMetadata
from pybroker.broker.coordinator.group.rebalance_cause import RebalanceCause, RebalanceReason
from pybroker.broker.coordinator.group.results import JoinResult, LeaveResult, LeavingMember, SyncResult
from pybroker.broker.coordinator.group.settings import GroupSettings
from pybroker.broker.coordinator.group.syncing import SyncRequest
from pybroker.broker.coordinator.transaction_end import TransactionEnd
from pybroker.protocol.errors import ErrorCode
from support.in_process.offsets_topic import AwaitedOffsetsTopic, OffsetsTopic
from support.time.virtual_time import VirtualTime

SESSION_MS = 10_000
REBALANCE_MS = 60_000
NO_DELAY = GroupSettings(initial_rebalance_delay_ms=0)
TEST_CAUSE = RebalanceCause(RebalanceReason.MEMBER_JOINED, "test")


def subscription(*topics: str) -> bytes:
    """Returns a consumer's protocol metadata, version 1."""
    names = b"".join(struct.pack(">h", len(name.encode())) + name.encode() for name in topics)
    return struct.pack(">hi", 1, len(topics)) + names + struct.pack(">ii", -1, 0)


def protocols(*names: str, metadata: bytes = b"") -> tuple[MemberProtocol, ...]:
    return tuple(MemberProtocol(name, metadata or subscription("orders")) for name in names)


class Call:
    """A request; None until it has a response. A second response is an error."""

    def __init__(self) -> None:
        self._answers: list[object] = []

    def __call__(self, answer: object) -> None:
        assert not self._answers, f"answered twice: {self._answers[0]} and {answer}"
        self._answers.append(answer)

    @property
    def is_answered(self) -> bool:
        return bool(self._answers)


class JoinCall(Call):
    @property
    def result(self) -> JoinResult:
        (answer,) = self._answers
        assert isinstance(answer, JoinResult)
        return answer


class SyncCall(Call):
    @property
    def result(self) -> SyncResult:
        (answer,) = self._answers
        assert isinstance(answer, SyncResult)
        return answer


class CommitCall(Call):
    @property
    def codes(self) -> dict[TopicPartition, ErrorCode]:
        (answer,) = self._answers
        assert isinstance(answer, Mapping)
        return dict(answer)

    @property
    def error(self) -> ErrorCode:
        """Returns the error code of all partitions."""
        (code,) = set(self.codes.values())
        return code


class GroupWorld:
    """The coordinator's rules with all partitions, virtual time and a topic in memory."""

    def __init__(self, settings: GroupSettings = NO_DELAY, *, owned: Iterable[int] | None = None) -> None:
        self.time = VirtualTime()
        self.topic = OffsetsTopic()
        numbers = count(1)
        self.parts = GroupParts(
            settings,
            self.topic,
            AwaitedOffsetsTopic(self.topic),
            self.time,
            self.time.now_ms,
            lambda: f"{next(numbers):04}",
            NO_TOPICS,
            lambda partition: None,
        )
        for partition in range(self.topic.partition_count) if owned is None else owned:
            self.parts.registry.ownership.begin_loading(partition, 0)
            self.parts.registry.finish_loading(partition, [])

    def group(self, group_id: str = "g") -> Group:
        group = self.find(group_id)
        assert group is not None
        return group

    def find(self, group_id: str = "g") -> Group | None:
        """Returns the classic group, if it exists."""
        group = self.parts.registry.get(group_id)
        assert group is None or isinstance(group, Group)
        return group

    def join(
        self,
        member_id: str = "",
        *,
        group_id: str = "g",
        instance_id: str | None = None,
        client_id: str = "c",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        protocol_type: str = "consumer",
        protocols_: tuple[MemberProtocol, ...] | None = None,
        version: int = 9,
    ) -> JoinCall:
        """Sends a JoinGroup like a client of this version."""
        call = JoinCall()
        request = JoinRequest(
            group_id,
            member_id,
            instance_id,
            client_id,
            "/127.0.0.1",
            rebalance_ms,
            session_ms,
            protocol_type,
            protocols("range") if protocols_ is None else protocols_,
            requires_known_member_id=version >= 4,
            supports_skipping_assignment=version >= 9,
        )
        self.parts.membership.join(request, call)
        return call

    def sync(
        self,
        member_id: str,
        generation_id: int,
        assignments: Mapping[str, bytes] | None = None,
        *,
        instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> SyncCall:
        call = SyncCall()
        self.parts.membership.sync(
            SyncRequest("g", generation_id, member_id, instance_id, protocol_type, protocol_name, assignments), call
        )
        return call

    def heartbeat(self, member_id: str, generation_id: int, *, instance_id: str | None = None) -> ErrorCode:
        return self.parts.membership.heartbeat("g", member_id, instance_id, generation_id)

    def leave(self, *who: LeavingMember, group_id: str = "g") -> LeaveResult:
        return self.parts.membership.leave(group_id, who)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Ends the transaction in every partition, with markers above all offsets."""
        for partition in range(self.topic.partition_count):
            self.parts.commits.complete_transaction(partition, TransactionEnd(producer_id, is_commit, 1 << 62))

    def commit(
        self,
        offsets: Mapping[TopicPartition, int],
        member_id: str = "",
        generation_id: int = -1,
        *,
        group_id: str = "g",
        instance_id: str | None = None,
        metadata: str = "",
        producer_id: int | None = None,
        expire_ms: int | None = None,
    ) -> CommitCall:
        """Commits offsets, optionally in a producer's transaction."""
        call = CommitCall()
        values = {
            key: OffsetAndMetadata(offset, 0, metadata, self.time.now_ms(), expire_ms)
            for key, offset in offsets.items()
        }
        request = CommitRequest(group_id, values, member_id, instance_id, generation_id)
        if producer_id is None:
            self.parts.commits.commit(request, call)
        else:
            self.parts.commits.commit_in_transaction(request, TransactionalProducer(producer_id, 0), call)
        return call

    def committed(self, group_id: str = "g", *, require_stable: bool = False) -> dict[TopicPartition, int]:
        """Returns all offsets by OffsetFetch."""
        error, results = self.parts.commits.fetch(group_id, None, require_stable=require_stable)
        assert error is ErrorCode.NONE
        return {key: result.offset for key, result in results.items()}

    def stable_group(self, *member_names: str) -> list[str]:
        """Makes a stable group of these client ids; returns their member ids, leader first."""
        ids = [self.join(client_id=name, version=9).result.member_id for name in member_names]
        calls = [self.join(member_id, client_id=name) for member_id, name in zip(ids, member_names, strict=True)]
        # The first join completed alone: the member joins again when it learns of the others.
        if len(ids) > 1:
            calls[0] = self.join(ids[0])
        generation_id = calls[-1].result.generation_id
        leader_id = calls[-1].result.leader_id
        assignments = {member_id: f"share of {member_id}".encode() for member_id in ids}
        for member_id in sorted(ids, key=lambda one: one != leader_id):
            self.sync(member_id, generation_id, assignments)
        assert self.group().state.value == "Stable"
        return sorted(ids, key=lambda one: one != leader_id)

"""A member of a group by the classic protocol, whose group may be a consumer group meanwhile (KIP-848).

It behaves like a consumer of Kafka's Java client that keeps its partitions while the group rebalances (the cooperative
protocol), or one that gives up all of them (the eager one).
"""

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from pybroker.protocol.codec import Message, decode, encode
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.consumer_protocol import (
    AssignmentTopicPartition,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    SubscriptionTopicPartition,
)
from pybroker.protocol.messages.heartbeat import HeartbeatRequest
from pybroker.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from pybroker.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from simulation.checkers.ownership import Grant, OwnedPartition, OwnershipHistory
from simulation.clients.client_link import UnansweredError
from simulation.clients.cluster_client import ClusterClient
from simulation.clients.consumer_member import EAGER, FencedInstanceError, Membership
from simulation.clients.member_offsets import MemberOffsets
from simulation.transactions.coordinator_link import GROUP, CoordinatorLink

__all__ = ["ClassicMember"]

_JOIN_VERSION, _SYNC_VERSION, _BEAT_VERSION, _LEAVE_VERSION, _METADATA_VERSION = 9, 5, 4, 5, 12
_SESSION_TIMEOUT_MS = 4_000
_HEARTBEAT_S = 0.5
_JOIN_S = 5.0
_PACE_S = (0.05, 0.25)
_COMMIT_SHARE = 0.5
_FIND_AGAIN = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_PASSING = (*_FIND_AGAIN, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.REBALANCE_IN_PROGRESS)

Place = tuple[str, int]
Topics = Mapping[str, tuple[UUID, int]]
"""Ids and sizes by name."""


class ClassicMember:
    """One client's membership. `owned`: the partitions that it consumes, and since when."""

    def __init__(self, client: ClusterClient, membership: Membership, history: OwnershipHistory) -> None:
        self.membership = membership
        self.member_id = ""
        self.epoch = -1
        """The generation, which is the epoch in a consumer group."""
        self._synced = Grant("", -1, None)
        """The last generation that the coordinator has stored: a classic group stores it between the responses to
        JoinGroup and SyncGroup. The next coordinator may not know one that only JoinGroup told."""
        self.owned: dict[OwnedPartition, float] = {}
        self.is_resting = False
        self._client = client
        self._history = history
        self._link = CoordinatorLink(client, membership.group, GROUP, lambda: False)
        self.offsets = MemberOffsets(client, self._link, membership.group, history)
        self._names: dict[UUID, str] = {}
        self._is_in = False
        """Whether it has an assignment of its generation."""
        self._told = membership
        """The membership for which its last JoinGroup asked."""
        self._is_stuck = membership.revocation_s == (math.inf,)
        self._is_asked = False
        """Whether the coordinator has asked it to join again."""
        self._next_heartbeat_s = 0.0
        self._assigned: set[Place] = set()
        """Its assignment, also of topics whose ids it has not learned yet."""
        self._led: tuple[Sequence[str], Topics] | None = None
        """The topics to which the group subscribes, and those that existed when it assigned them as the leader."""

    @property
    def is_settled(self) -> bool:
        """Whether it has its assignment, and sends heartbeats."""
        return self._is_in and self._next_heartbeat_s <= self._client.loop.time() + _HEARTBEAT_S

    def pause(self, duration_s: float) -> None:
        """Send no heartbeat for some time, but go on with the rest."""
        self._next_heartbeat_s = self._client.loop.time() + duration_s

    def subscribe(self, membership: Membership) -> None:
        """Ask for other topics."""
        self.membership = membership
        self._is_in = False

    async def run(self) -> None:
        """Take part in the group until cancelled. Raises FencedInstanceError."""
        while True:
            try:
                if self._client.loop.time() >= self._next_heartbeat_s:
                    await (self._heartbeat() if self._is_in else self._join())
                if self.owned and not self.is_resting and self._client.random.random() < _COMMIT_SHARE:
                    await self._commit(self.owned)
            except UnansweredError:
                await self._client.back_off()
            await asyncio.sleep(self._client.random.uniform(*_PACE_S))

    async def leave(self, *, for_good: bool = True) -> bool:
        """Leave the group; a static member that comes back says nothing. Returns whether the coordinator answered."""
        self._drop(self.owned)
        if not for_good or not self.member_id:
            return True
        identity = MemberIdentity(member_id=self.member_id, group_instance_id=self.membership.instance_id)
        request = LeaveGroupRequest(group_id=self.membership.group, members=[identity])
        try:
            answer = await self._link.ask_once(request, _LEAVE_VERSION)
        except UnansweredError:
            return False
        code = ErrorCode(answer.error_code or answer.members[0].error_code)
        self._count("leave", code)
        if code in _FIND_AGAIN:
            self._link.forget()
        return code not in _PASSING

    # -- joining

    async def _join(self) -> None:
        if self._is_asked and self._is_stuck:  # it only sends heartbeats until it is fenced
            await self._heartbeat()
            return
        if not self.membership.keeps:
            await self._revoke(set(self.owned))
        topics = await self._topics(self.membership.names)
        membership = self._told = self.membership
        protocol = JoinGroupRequestProtocol(name=membership.protocol or EAGER, metadata=self._subscription())
        request = JoinGroupRequest(
            group_id=membership.group,
            session_timeout_ms=_SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=membership.rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=membership.instance_id,
            protocol_type="consumer",
            protocols=[protocol],
        )
        joined: JoinGroupResponse = await self._link.ask_once(request, _JOIN_VERSION, _JOIN_S)
        code = ErrorCode(joined.error_code)
        self._count("join", code)
        if code is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = joined.member_id
        elif code is not ErrorCode.NONE:
            self._failed(code)
        else:
            if joined.generation_id < self._synced.epoch and joined.member_id == self._synced.member_id:
                self._client.history.violations.append(
                    f"member {self.member_id} was in generation {self._synced.epoch}, joins {joined.generation_id}"
                )
            self.member_id, self.epoch, self._is_asked = joined.member_id, joined.generation_id, False
            await self._sync(joined, topics)

    async def _sync(self, joined: JoinGroupResponse, topics: Topics) -> None:
        assignments: list[SyncGroupRequestAssignment] = []
        self._led = None
        if joined.leader == joined.member_id:
            assignments, self._led = await self._lead(joined)
            if joined.skip_assignment:
                assignments = []
        request = SyncGroupRequest(
            group_id=self.membership.group,
            generation_id=self.epoch,
            member_id=self.member_id,
            group_instance_id=self.membership.instance_id,
            protocol_type="consumer",
            protocol_name=self.membership.protocol,
            assignments=assignments,
        )
        answer = await self._link.ask_once(request, _SYNC_VERSION, _JOIN_S)
        code = ErrorCode(answer.error_code)
        self._count("sync", code)
        if code is not ErrorCode.NONE:
            self._failed(code)
            return
        self._synced = Grant(self.member_id, self.epoch, None)
        self._history.granted(-1, self._synced)
        await self._take(_read_assignment(answer.assignment), topics)

    async def _take(self, assigned: set[Place], topics: Topics) -> None:
        """Give back what is not assigned any more, then begin with what is new."""
        target = {OwnedPartition(topics[topic][0], number) for topic, number in assigned if topic in topics}
        self._names |= {topics[topic][0]: topic for topic, _ in assigned if topic in topics}
        self._client.note(f"generation {self.epoch}: is assigned {sorted(assigned)}")
        gone = self.owned.keys() - target
        if self.membership.keeps and gone:
            delay_s = self._client.random.choice(self.membership.revocation_s)
            if delay_s < math.inf:
                await asyncio.sleep(delay_s)
        await self._revoke(gone)
        self._assigned = assigned
        now_s = self._client.loop.time()
        self.owned |= {each: now_s for each in target if each not in self.owned}
        has_more_to_tell = self.membership is not self._told  # it has subscribed to other topics meanwhile
        # after a revocation it joins again, as Java's client does
        self._is_in = not has_more_to_tell and not (gone and self.membership.keeps)
        self._next_heartbeat_s = now_s + _HEARTBEAT_S if self._is_in else now_s

    async def _lead(
        self, joined: JoinGroupResponse
    ) -> tuple[list[SyncGroupRequestAssignment], tuple[Sequence[str], Topics]]:
        """Share the partitions out. A partition that another member still has is given to nobody yet."""
        subscriptions = {each.member_id: _read_subscription(each.metadata) for each in joined.members}
        names = sorted({topic for each in subscriptions.values() for topic in each.topics})
        topics = await self._topics(names)
        owners = {
            (topic.topic, number): member_id
            for member_id, each in subscriptions.items()
            for topic in each.owned_partitions
            for number in topic.partitions
        }
        shares: dict[str, list[Place]] = {member_id: [] for member_id in subscriptions}
        for topic, (_, size) in topics.items():
            takers = sorted(member_id for member_id, each in subscriptions.items() if topic in each.topics)
            for number in range(size):
                taker = takers[number % len(takers)]
                if owners.get((topic, number), taker) == taker:
                    shares[taker].append((topic, number))
        return [
            SyncGroupRequestAssignment(member_id=member_id, assignment=_assignment(places))
            for member_id, places in shares.items()
        ], (names, topics)

    def _subscription(self) -> bytes:
        held = [
            SubscriptionTopicPartition(topic=self._names[topic_id], partitions=[number])
            for topic_id, number in sorted(self.owned)
        ]
        value = ConsumerProtocolSubscription(topics=list(self.membership.names), owned_partitions=held)
        return _versioned(value)

    def _failed(self, code: ErrorCode) -> None:
        """A request of the membership was refused."""
        self._is_in = False
        if code in _FIND_AGAIN:
            self._link.forget()
        elif code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            self._client.history.counts["consumer group: fenced"] += 1
            self._drop(self.owned)
            self.epoch, self._is_asked, self._is_stuck = -1, False, False
            if code is ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""
        elif code is ErrorCode.FENCED_INSTANCE_ID:
            self._drop(self.owned)
            raise FencedInstanceError
        elif code not in _PASSING:
            self._client.history.violations.append(f"{self.member_id}: {code.name}")

    # -- heartbeats

    async def _heartbeat(self) -> None:
        request = HeartbeatRequest(
            group_id=self.membership.group,
            generation_id=self.epoch,
            member_id=self.member_id,
            group_instance_id=self.membership.instance_id,
        )
        code = ErrorCode((await self._link.ask_once(request, _BEAT_VERSION)).error_code)
        self._count("heartbeat", code)
        self._next_heartbeat_s = self._client.loop.time() + _HEARTBEAT_S
        if code is ErrorCode.NONE:
            await self._watch_topics()
        elif code in _FIND_AGAIN:
            self._link.forget()
        elif code is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            self._is_asked = code is ErrorCode.REBALANCE_IN_PROGRESS
            self._failed(code)
            self._next_heartbeat_s = self._client.loop.time()

    async def _watch_topics(self) -> None:
        """A leader joins again when topics have come, grown or gone. Every member learns the ids of topics that came
        after its assignment, and leaves topics that were made anew until they are assigned to it: a member of the
        consumer protocol may have them, because they have another id.
        """
        topics = await self._topics(self.membership.names if self._led is None else self._led[0])
        if self._led is not None and topics != self._led[1]:
            self._is_in = False
        owned = {(self._names[each.topic_id], each.number): each for each in self.owned}
        for name, number in list(self._assigned):
            if name not in topics:
                continue
            partition = OwnedPartition(topics[name][0], number)
            before = owned.get((name, number))
            if before is None:
                self._names[partition.topic_id] = name
                self.owned[partition] = self._client.loop.time()
            elif before != partition:
                self._drop([before])

    async def _topics(self, names: Iterable[str]) -> Topics:
        """The ids and sizes of the topics that exist."""
        asked = [MetadataRequestTopic(name=name) for name in names]
        if not asked:
            return {}
        request = MetadataRequest(topics=asked, allow_auto_topic_creation=False)
        answer = await self._client.ask_any(request, _METADATA_VERSION)
        return {each.name: (each.topic_id, len(each.partitions)) for each in answer.topics if not each.error_code}

    # -- partitions

    async def _revoke(self, partitions: set[OwnedPartition]) -> None:
        try:
            if partitions and not self.is_resting:
                await self._commit({each: self.owned[each] for each in partitions})
        finally:
            self._drop(each for each in partitions if each in self.owned)

    def _drop(self, partitions: Iterable[OwnedPartition]) -> None:
        for partition in list(partitions):
            del self.owned[partition]
            self._assigned.discard((self._names[partition.topic_id], partition.number))

    async def _commit(self, partitions: Mapping[OwnedPartition, float]) -> None:
        names = {each: self._names[each.topic_id] for each in partitions}
        await self.offsets.commit(self.member_id, self.epoch, dict(partitions), names)

    def _count(self, what: str, code: ErrorCode) -> None:
        self._client.history.counts[f"classic member: {what}: {code.name}"] += 1


def _versioned(value: Message) -> bytes:
    return b"\0\1" + encode(value, 1)


def _read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    return decode(ConsumerProtocolSubscription, memoryview(metadata)[2:], 1)


def _assignment(places: Iterable[Place]) -> bytes:
    listed = [AssignmentTopicPartition(topic=topic, partitions=[number]) for topic, number in places]
    return _versioned(ConsumerProtocolAssignment(assigned_partitions=listed))


def _read_assignment(blob: bytes) -> set[Place]:
    if not blob:
        return set()
    value = decode(ConsumerProtocolAssignment, memoryview(blob)[2:], 1)
    return {(each.topic, number) for each in value.assigned_partitions for number in each.partitions}

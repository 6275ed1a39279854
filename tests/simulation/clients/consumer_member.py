"""A member of a consumer group (KIP-848), which behaves like the members of Kafka's Java client.

It sends heartbeats, tells which partitions it has, reads them and commits its positions. It gives a partition back by a
heartbeat without it, after it has committed the last time.
"""

import asyncio
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
)
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from simulation.checkers.ownership import Grant, OwnedPartition, OwnershipHistory
from simulation.clients.client_link import UnansweredError
from simulation.clients.cluster_client import ClusterClient
from simulation.clients.member_offsets import MemberOffsets
from simulation.transactions.coordinator_link import GROUP, CoordinatorLink

__all__ = ["COOPERATIVE", "EAGER", "ConsumerMember", "FencedInstanceError", "Membership"]

COOPERATIVE, EAGER = "cooperative-sticky", "range"
_LEAVE_EPOCH, _STATIC_LEAVE_EPOCH = -1, -2
_METADATA_VERSION = 12
_FIRST_HEARTBEAT_S = 0.7
_PACE_S = (0.05, 0.25)
_COMMIT_SHARE = 0.5
_FIND_AGAIN = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_ASK_AGAIN = (*_FIND_AGAIN, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
_FENCED = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND)
"""GROUP_ID_NOT_FOUND comes from a broker that does not know yet that it is no coordinator any more."""
_INSTANCE_IS_TAKEN = (ErrorCode.UNRELEASED_INSTANCE_ID, ErrorCode.FENCED_INSTANCE_ID)


class FencedInstanceError(Exception):
    """Another member has the instance id."""


@dataclass(frozen=True)
class Membership:
    """The wishes of a member. ``version``: of its heartbeats. ``revocation_s``: how long it takes to give partitions
    back; infinite if it never does until it is fenced. ``pattern``: in place of names. ``protocol``: the assignor of a
    member of the classic protocol; None for the consumer protocol.
    """

    group: str
    names: tuple[str, ...]
    instance_id: str | None = None
    assignor: str | None = None
    pattern: str | None = None
    rebalance_timeout_ms: int = 3_000
    version: int = 1
    revocation_s: Sequence[float] = (0.0,)
    protocol: str | None = None

    @property
    def keeps(self) -> bool:
        """Whether the member keeps partitions while a classic group rebalances."""
        return self.protocol == COOPERATIVE


class ConsumerMember:
    """One client's membership. `owned`: the partitions that it consumes, and since when."""

    def __init__(
        self, client: ClusterClient, membership: Membership, member_id: str, history: OwnershipHistory
    ) -> None:
        """``member_id``: "" lets the coordinator make it, up to version 0."""
        self.membership = membership
        self.member_id = member_id
        self.epoch = 0
        self.owned: dict[OwnedPartition, float] = {}
        self.is_resting = False
        """It sends heartbeats, but neither reads nor commits."""
        self.is_repeated = False
        """Copies of its heartbeats come late."""
        self._client = client
        self._history = history
        self._is_over = False
        self._link = CoordinatorLink(client, membership.group, GROUP, lambda: self._is_over)
        self.offsets = MemberOffsets(client, self._link, membership.group, history)
        self._names: dict[UUID, str] = {}
        self._target: frozenset[OwnedPartition] | None = None
        """The assignment of the last response that had one; None when the member has it."""
        self._revoked_s: float | None = None
        self._told: frozenset[OwnedPartition] | None = None
        """The partitions of the last heartbeat that said which; None: the next one has all fields."""
        self._late: tuple[ConsumerGroupHeartbeatRequest, frozenset[OwnedPartition]] | None = None
        """The heartbeat with most partitions in its epoch, of which a copy may come late."""
        self._interval_s = _FIRST_HEARTBEAT_S
        self._next_heartbeat_s = 0.0

    @property
    def is_settled(self) -> bool:
        """Whether it has what it was assigned, has said so, and sends heartbeats."""
        is_paused = self._next_heartbeat_s > self._client.loop.time() + self._interval_s
        has_told = self._target is None and self._told == frozenset(self.owned)
        return self.epoch > 0 and has_told and not is_paused

    def pause(self, duration_s: float) -> None:
        """Send no heartbeat for some time, but go on with the rest."""
        self._next_heartbeat_s = self._client.loop.time() + duration_s

    def subscribe(self, membership: Membership) -> None:
        """Ask for other topics."""
        self.membership = membership
        self._told = None

    async def run(self) -> None:
        """Take part in the group until cancelled. Raises FencedInstanceError."""
        while True:
            try:
                if self._client.loop.time() >= self._next_heartbeat_s:
                    await self._heartbeat()
                await self._reconcile()
                if self.is_repeated:
                    await self._repeat()
                if self.owned and not self.is_resting and self._client.random.random() < _COMMIT_SHARE:
                    await self._commit(self.owned)
            except UnansweredError:
                await self._client.back_off()
            await asyncio.sleep(self._client.random.uniform(*_PACE_S))

    async def leave(self, *, for_good: bool = True) -> bool:
        """Leave the group, a static member perhaps only for a while. Returns whether the coordinator answered."""
        self._drop(self.owned)
        epoch = _LEAVE_EPOCH if for_good else _STATIC_LEAVE_EPOCH
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.membership.group,
            member_id=self.member_id,
            member_epoch=epoch,
            instance_id=self.membership.instance_id,
        )
        try:
            answer = await self._link.ask_once(request, self.membership.version)
        except UnansweredError:
            return False
        code = ErrorCode(answer.error_code)
        self._count("leave", code)
        if code in _FIND_AGAIN:
            self._link.forget()
        return code not in _ASK_AGAIN

    # -- heartbeats

    async def _heartbeat(self) -> None:
        owned, asked_epoch, is_full = frozenset(self.owned), self.epoch, self._told is None
        membership = self.membership
        request = self._request(owned, is_full=is_full)
        self._told = None  # unless it is answered
        answer: ConsumerGroupHeartbeatResponse = await self._link.ask_once(request, self.membership.version)
        code = ErrorCode(answer.error_code)
        self._count("heartbeat", code)
        if code is ErrorCode.NONE:
            self._accepted(asked_epoch, answer)
            self._told = owned if self.membership is membership else None
            if self._late is None or asked_epoch > self._late[0].member_epoch or owned > self._late[1]:
                self._late = request, owned
            self._next_heartbeat_s = self._client.loop.time() + self._interval_s
        elif code in _FENCED:
            self._client.note(f"is fenced in epoch {self.epoch}: {code.name}")
            self._fenced()
        elif code in _INSTANCE_IS_TAKEN:
            self._fenced()
            raise FencedInstanceError
        elif code in _ASK_AGAIN:
            if code in _FIND_AGAIN:
                self._link.forget()
        else:
            self._client.history.violations.append(f"{self.member_id}: {code.name} {answer.error_message or ''}")

    def _request(self, owned: frozenset[OwnedPartition], *, is_full: bool) -> ConsumerGroupHeartbeatRequest:
        """A heartbeat with all fields, or one with those that have changed."""
        membership = self.membership
        is_full = is_full or self.epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=membership.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=membership.instance_id,
        )
        if is_full or owned != self._told:
            request.topic_partitions = _listed(owned)
        if is_full:
            request.rebalance_timeout_ms = membership.rebalance_timeout_ms
            request.server_assignor = membership.assignor
            request.subscribed_topic_names = list(membership.names)
            if membership.version > 0:
                request.subscribed_topic_regex = membership.pattern
        return request

    def _accepted(self, asked_epoch: int, answer: ConsumerGroupHeartbeatResponse) -> None:
        self.member_id = answer.member_id or self.member_id
        assigned = None
        if answer.assignment is not None:
            topics = answer.assignment.topic_partitions
            assigned = frozenset(OwnedPartition(each.topic_id, number) for each in topics for number in each.partitions)
            self._target = assigned
            self._client.note(f"epoch {answer.member_epoch}: is assigned {sorted(map(str, assigned))}")
        self.epoch = answer.member_epoch
        self._interval_s = answer.heartbeat_interval_ms / 1000
        self._history.granted(asked_epoch, Grant(self.member_id, self.epoch, assigned))

    async def _repeat(self) -> None:
        """A copy of a heartbeat comes after the client has given partitions back and has got a newer epoch. It must be
        refused, because it says that the client has these partitions."""
        late = self._late
        if late is None or self._told != frozenset(self.owned) or late[0].member_epoch >= self.epoch:
            return
        self._late = None
        request, owned = late
        given_back = owned.difference(self.owned, self._target or ())
        if not given_back or request.topic_partitions is None:
            return
        answer: ConsumerGroupHeartbeatResponse = await self._link.ask_once(request, self.membership.version)
        self._count("late heartbeat", ErrorCode(answer.error_code))
        if answer.error_code == ErrorCode.NONE:
            told = f"a late heartbeat of epoch {request.member_epoch} with {sorted(map(str, given_back))} was accepted"
            self._client.history.violations.append(f"{self.member_id}: {told}")

    def _fenced(self) -> None:
        """Give all partitions up, and join anew."""
        self._client.history.counts["consumer group: fenced"] += 1
        self._drop(self.owned)
        self.epoch = 0
        self._told = None

    def _drop(self, partitions: Iterable[OwnedPartition]) -> None:
        for partition in list(partitions):
            del self.owned[partition]
        self._target, self._revoked_s = None, None

    # -- partitions

    async def _reconcile(self) -> None:
        """Give back what is not assigned any more, then begin with what is new."""
        target, loop = self._target, self._client.loop
        if target is None:
            return
        revoked = [each for each in self.owned if each not in target]
        if revoked and not await self._revoke(revoked):
            return
        self._revoked_s = None
        await self._learn_names(each.topic_id for each in target if each.topic_id not in self._names)
        known = [each for each in target if each.topic_id in self._names]
        self.owned |= {each: loop.time() for each in known if each not in self.owned}
        if len(known) == len(target):
            self._target = None
        self._next_heartbeat_s = min(self._next_heartbeat_s, loop.time())

    async def _revoke(self, revoked: list[OwnedPartition]) -> bool:
        """Returns False until the partitions are given up."""
        now_s = self._client.loop.time()
        if self._revoked_s is None:
            self._revoked_s = now_s + self._client.random.choice(self.membership.revocation_s)
            if self._revoked_s == math.inf:
                self._client.history.counts["consumer group: members that give nothing back"] += 1
        if now_s < self._revoked_s:
            return False
        target, owned = self._target, self.owned
        try:
            if not self.is_resting:
                await self._commit({each: owned[each] for each in revoked})
        finally:
            for each in revoked:
                owned.pop(each, None)
        return self._target is target

    async def _learn_names(self, topic_ids: Iterable[UUID]) -> None:
        unknown = list(dict.fromkeys(topic_ids))
        if not unknown:
            return
        request = MetadataRequest(
            topics=[MetadataRequestTopic(topic_id=each, name=None) for each in unknown], allow_auto_topic_creation=False
        )
        answer = await self._client.ask_any(request, _METADATA_VERSION)
        self._names |= {each.topic_id: each.name for each in answer.topics if each.name and not each.error_code}

    async def _commit(self, partitions: dict[OwnedPartition, float]) -> None:
        names = {each: self._names[each.topic_id] for each in partitions}
        await self.offsets.commit(self.member_id, self.epoch, partitions, names)

    def _count(self, what: str, code: ErrorCode) -> None:
        self._client.history.counts[f"consumer group: {what}: {code.name}"] += 1


def _listed(owned: Iterable[OwnedPartition]) -> list[RequestTopicPartitions]:
    topics: dict[Any, list[int]] = {}
    for topic_id, number in sorted(owned):
        topics.setdefault(topic_id, []).append(number)
    return [RequestTopicPartitions(topic_id=topic_id, partitions=numbers) for topic_id, numbers in topics.items()]

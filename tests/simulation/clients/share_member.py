"""A member of a share group (KIP-932): sends heartbeats, and has a share session with the leader of its partitions."""

import asyncio
from collections.abc import Iterable, Mapping
from uuid import UUID

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from simulation.clients.client_link import UnansweredError
from simulation.clients.cluster_client import ClusterClient
from simulation.clients.share_requests import Habits, SharedPartition
from simulation.clients.share_session import ShareSession
from simulation.share_groups.delivery_history import DeliveryHistory
from simulation.transactions.coordinator_link import GROUP, CoordinatorLink

__all__ = ["ShareMember"]

_LEAVE_EPOCH = -1
_VERSION = 1
_PACE_S = (0.02, 0.3)
_FIRST_HEARTBEAT_S = 0.7
_FIND_AGAIN = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_ASK_AGAIN = (*_FIND_AGAIN, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
_FENCED = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND)


class ShareMember:
    """One client's membership. ``topics``: the names of all topics, by id."""

    def __init__(
        self,
        client: ClusterClient,
        member_id: str,
        names: tuple[str, ...],
        habits: Habits,
        topics: Mapping[UUID, str],
        history: DeliveryHistory,
    ) -> None:
        self.names = names
        self.habits = habits
        self.paused_until_s = 0.0
        """It sends no heartbeat before."""
        self.told_interval_ms = -1
        self._client = client
        self._member_id = member_id
        self._topics = topics
        self._history = history
        self._epoch = 0
        self._told_names: tuple[str, ...] | None = None
        self._assigned: tuple[SharedPartition, ...] = ()
        self._sessions: dict[int, ShareSession] = {}
        self._link = CoordinatorLink(client, habits.group, GROUP, lambda: False)

    async def run(self) -> None:
        """Take part in the group until cancelled."""
        await asyncio.gather(self._beat(), self._consume())

    async def leave(self) -> None:
        """End the share sessions, and leave the group."""
        for session in self._sessions.values():
            await session.close()
        request = ShareGroupHeartbeatRequest(
            group_id=self.habits.group, member_id=self._member_id, member_epoch=_LEAVE_EPOCH
        )
        try:
            answer = await self._link.ask_once(request, _VERSION)
            self._count(f"leave: {ErrorCode(answer.error_code).name}")
        except UnansweredError:
            self._count("leave: no answer")

    def begin_anew(self) -> None:
        """Open new share sessions, without a word about the old ones."""
        for session in self._sessions.values():
            session.begin_anew()

    def told_locks_ms(self) -> Iterable[int]:
        """How long locks last, as each broker told last."""
        return [session.told_lock_ms for session in self._sessions.values() if session.told_lock_ms >= 0]

    # -- the group

    async def _beat(self) -> None:
        interval_s = _FIRST_HEARTBEAT_S
        while True:
            if self._client.loop.time() >= self.paused_until_s:
                try:
                    interval_s = await self._heartbeat()
                except UnansweredError:
                    await self._client.back_off()
            await asyncio.sleep(interval_s)

    async def _heartbeat(self) -> float:
        """Returns the time until the next one."""
        is_full = self._epoch == 0 or self._told_names != self.names
        names = self.names
        request = ShareGroupHeartbeatRequest(
            group_id=self.habits.group, member_id=self._member_id, member_epoch=self._epoch
        )
        if is_full:
            request.subscribed_topic_names = list(names)
        self._told_names = None
        answer = await self._link.ask_once(request, _VERSION)
        code = ErrorCode(answer.error_code)
        self._count(f"heartbeat: {code.name}")
        if code is ErrorCode.NONE:
            self._told_names, self._epoch = names, answer.member_epoch
            if answer.assignment is not None:
                self._assigned = tuple(
                    SharedPartition(each.topic_id, (self._topics[each.topic_id], number))
                    for each in answer.assignment.topic_partitions
                    for number in each.partitions
                )
            self.told_interval_ms = answer.heartbeat_interval_ms
            return float(answer.heartbeat_interval_ms) / 1000
        if code in _FENCED:
            self._epoch, self._assigned = 0, ()
        elif code in _FIND_AGAIN:
            self._link.forget()
        elif code not in _ASK_AGAIN:
            self._client.history.violations.append(f"{self._member_id}: {code.name} {answer.error_message or ''}")
        return _FIRST_HEARTBEAT_S / 4

    # -- records

    async def _consume(self) -> None:
        client = self._client
        while True:
            by_leader: dict[int, list[SharedPartition]] = {node_id: [] for node_id in self._sessions}
            for partition in self._assigned:
                leader, _ = client.leaders.get(partition.place, (-1, -1))
                if leader >= 0:
                    by_leader.setdefault(leader, []).append(partition)
            results = await asyncio.gather(*(self._session(each).turn(by_leader[each]) for each in by_leader))
            if not all(results) or sum(map(len, by_leader.values())) < len(self._assigned):
                await client.back_off()
                await client.refresh(*self._topics.values())
            await asyncio.sleep(client.random.uniform(*_PACE_S))

    def _session(self, node_id: int) -> ShareSession:
        session = self._sessions.get(node_id)
        if session is None:
            session = ShareSession(self._client, node_id, self._member_id, self.habits, self._history)
            self._sessions[node_id] = session
        session.habits = self.habits
        return session

    def _count(self, what: str) -> None:
        self._client.history.counts[f"share group: {what}"] += 1

"""Members of a consumer group (KIP-848) that cost little: each sends heartbeats as a client does, and reads no records.

All members are in one process, so that the broker does most of the work.
"""

import asyncio
import time
from uuid import UUID

from pybroker.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
)
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from support.clients.async_wire_client import AsyncWireClient

__all__ = ["Member", "Members"]

_VERSION = 1
_FIND_VERSION = 4
_LEAVE = -1
_REBALANCE_TIMEOUT_MS = 60_000
_FIND_AGAIN_S = 0.2
_NOT_THERE_YET = (14, 15, 16)
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR."""

Partitions = dict[UUID, frozenset[int]]


class Member:
    """A member that subscribes to one topic."""

    def __init__(self, servers: str, group: str, topic: str, member_id: str) -> None:
        self.epoch = 0
        self.owned: Partitions = {}
        self.is_settled = False
        """Whether the broker knows that the member has what it was assigned."""
        self.heard_s = 0.0
        """When the last heartbeat was sent."""
        self._servers = servers
        self._group = group
        self._topic = topic
        self._member_id = member_id
        self._task: asyncio.Task[None] | None = None
        self._client: AsyncWireClient | None = None

    def begin(self, delay_s: float = 0.0) -> None:
        """``delay_s``: waits so long after the first heartbeat, so that members do not ask at the same time."""
        self._task = asyncio.ensure_future(self._run(delay_s))

    async def _run(self, delay_s: float) -> None:
        self._client = await AsyncWireClient.connect(self._servers)
        # The first such request has the broker make the coordinators.
        await self._client.ask(FindCoordinatorRequest(coordinator_keys=[self._group]), _FIND_VERSION)
        response = await self._beat(is_first=True)
        await asyncio.sleep(delay_s)
        while True:
            if response.assignment is not None:
                self.owned = {
                    each.topic_id: frozenset(each.partitions) for each in response.assignment.topic_partitions
                }
                self.is_settled = False
                response = await self._beat(tells=True)
                self.is_settled = response.assignment is None
            else:
                await asyncio.sleep(response.heartbeat_interval_ms / 1000)
                response = await self._beat()

    async def _beat(self, *, is_first: bool = False, tells: bool = False) -> ConsumerGroupHeartbeatResponse:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group, member_id=self._member_id, member_epoch=self.epoch
        )
        if is_first:
            request.rebalance_timeout_ms = _REBALANCE_TIMEOUT_MS
            request.subscribed_topic_names = [self._topic]
        if is_first or tells:
            request.topic_partitions = [
                RequestTopicPartitions(topic_id=topic_id, partitions=sorted(own))
                for topic_id, own in self.owned.items()
            ]
        assert self._client is not None
        while True:
            self.heard_s = time.monotonic()
            response: ConsumerGroupHeartbeatResponse = await self._client.ask(request, _VERSION)
            if response.error_code in _NOT_THERE_YET and is_first:
                await asyncio.sleep(_FIND_AGAIN_S)
                continue
            if response.error_code:
                raise RuntimeError(f"heartbeat refused: {response.error_code} {response.error_message}")
            self.epoch = response.member_epoch
            return response

    def check(self) -> None:
        """Raises the error that ended the member, if any."""
        if self._task is not None and self._task.done():
            self._task.result()

    async def kill(self) -> None:
        """Ends the member without a word."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if self._client is not None:
            self._client.close()

    async def leave(self) -> None:
        """Ends the member and tells the broker."""
        await self.kill()
        client = await AsyncWireClient.connect(self._servers)
        await client.ask(
            ConsumerGroupHeartbeatRequest(group_id=self._group, member_id=self._member_id, member_epoch=_LEAVE),
            _VERSION,
        )
        client.close()


class Members:
    """The members of one group that are alive. ``partitions``: of the topic."""

    def __init__(self, servers: str, group: str, topic: str, partitions: int) -> None:
        self._servers = servers
        self._group = group
        self._topic = topic
        self._partitions = partitions
        self._made = 0
        self.alive: list[Member] = []

    def join(self, delay_s: float = 0.0) -> Member:
        self._made += 1
        member_id = str(UUID(int=self._made, version=4))
        member = Member(self._servers, self._group, self._topic, member_id)
        self.alive.append(member)
        member.begin(delay_s)
        return member

    @property
    def epoch(self) -> int:
        return max((member.epoch for member in self.alive), default=0)

    def is_stable(self, after_epoch: int) -> bool:
        """Whether all members are in one epoch after this one, and have all partitions among them."""
        for member in self.alive:
            member.check()
        epochs = {member.epoch for member in self.alive}
        if len(epochs) != 1 or epochs.pop() <= after_epoch or not all(member.is_settled for member in self.alive):
            return False
        owned = [len(own) for member in self.alive for own in member.owned.values()]
        return sum(owned) == self._partitions

    async def stable(self, after_epoch: int, timeout_s: float = 60.0) -> float:
        """Waits until the members are stable; returns the monotonic time."""
        deadline_s = time.monotonic() + timeout_s
        while not self.is_stable(after_epoch):
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"the group is not stable after {timeout_s:.0f} s")
            await asyncio.sleep(0.001)
        return time.monotonic()

    async def end(self) -> None:
        for member in self.alive:
            await member.kill()

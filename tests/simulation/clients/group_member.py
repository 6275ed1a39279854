"""A member of a consumer group: joins, syncs, heartbeats, and checks that committed offsets are never lost.

The leader of a generation assigns the partitions round-robin. Members count instead of reading: each commit of a
partition is one higher than the last, so a lower offset shows that a commit was forgotten.
"""

import asyncio
import json
from typing import Any

from pybroker.base.coordinator_partition import partition_for_key
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.heartbeat import HeartbeatRequest
from pybroker.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from pybroker.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pybroker.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from pybroker.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from simulation.checkers.history import Commit, Place
from simulation.clients.client_link import UnansweredError
from simulation.clients.cluster_client import ClusterClient
from simulation.machines.simulated_cluster import SETTINGS

__all__ = ["GROUP", "GroupMember", "committed_offset", "offsets_place"]

GROUP = "group"
_SESSION_TIMEOUT_MS = 6_000
_HEARTBEAT_S = 0.7


class GroupMember:
    """A group member. `commits`: the number of offsets it committed."""

    def __init__(self, client: ClusterClient, places: list[Place]) -> None:
        self._client = client
        self._places = places
        self._member_id = ""
        self._generation = -1
        self._coordinator: tuple[str, int] | None = None
        self._coordinator_id = -1
        self._is_over = False
        self.commits = 0

    def stop(self) -> None:
        self._is_over = True

    async def run(self) -> None:
        while not self._is_over:
            try:
                assigned = await self._join()
                if assigned is not None:
                    await self._work(assigned)
            except UnansweredError:
                self._coordinator = None
            await self._client.back_off()

    async def _address(self) -> tuple[str, int]:
        if self._coordinator is None:
            answer = await self._client.ask_any(FindCoordinatorRequest(key=GROUP, key_type=0), 3)
            if answer.error_code:
                raise UnansweredError("no coordinator")
            self._coordinator, self._coordinator_id = (answer.host, answer.port), answer.node_id
        return self._coordinator

    async def _ask(self, request: Message, version: int, timeout_s: float = 3.0) -> Any:
        return await self._client.link(await self._address()).ask(request, version, timeout_s)

    def _failed(self, code: ErrorCode) -> None:
        self._client.history.counts[f"group: {code.name}"] += 1
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            self._member_id = ""
        elif code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
            self._coordinator = None

    async def _join(self) -> list[Place] | None:
        """Returns the partitions assigned to this member in the generation it joined."""
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=_SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=_SESSION_TIMEOUT_MS,
            member_id=self._member_id,
            protocol_type="simulation",
            protocols=[JoinGroupRequestProtocol(name="turns", metadata=b"")],
        )
        joined = await self._ask(request, 5, _SESSION_TIMEOUT_MS / 1000 + 3)
        assert isinstance(joined, JoinGroupResponse)
        if joined.error_code:
            if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self._member_id = joined.member_id
            else:
                self._failed(ErrorCode(joined.error_code))
            return None
        self._member_id, self._generation = joined.member_id, joined.generation_id
        return await self._sync(joined)

    async def _sync(self, joined: JoinGroupResponse) -> list[Place] | None:
        members = sorted(each.member_id for each in joined.members)
        assignments = [
            SyncGroupRequestAssignment(
                member_id=member, assignment=json.dumps(self._places[turn :: len(members)]).encode()
            )
            for turn, member in enumerate(members)
        ]
        answer = await self._ask(
            SyncGroupRequest(
                group_id=GROUP,
                generation_id=self._generation,
                member_id=self._member_id,
                assignments=assignments if joined.leader == self._member_id else [],
            ),
            3,
            _SESSION_TIMEOUT_MS / 1000 + 3,
        )
        if answer.error_code:
            self._failed(ErrorCode(answer.error_code))
            return None
        found = json.loads(answer.assignment or b"[]")
        return [(topic, number) for topic, number in found]

    async def _work(self, assigned: list[Place]) -> None:
        """Commit and send heartbeats until the generation ends."""
        while not self._is_over:
            await asyncio.sleep(_HEARTBEAT_S)
            answer = await self._ask(
                HeartbeatRequest(group_id=GROUP, generation_id=self._generation, member_id=self._member_id), 3
            )
            code = ErrorCode(answer.error_code)
            if code is not ErrorCode.NONE:
                self._failed(code)
                return
            for place in assigned:
                if not await self._commit(place):
                    return

    async def _commit(self, place: Place) -> bool:
        history, kept_in = self._client.history, offsets_place(GROUP)
        expected = history.committed.get((GROUP, place), Commit())
        before = await committed_offset(self._client, await self._address(), place)
        if before is None:
            return False
        request = OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=self._generation,
            member_id=self._member_id,
            topics=[
                OffsetCommitRequestTopic(
                    name=place[0],
                    partitions=[OffsetCommitRequestPartition(partition_index=place[1], committed_offset=before + 1)],
                )
            ],
        )
        coordinator_id = self._coordinator_id
        known_epoch, asked_s = self._client.known_epoch(coordinator_id, kept_in), self._client.loop.time()
        answer = await self._ask(request, 7)
        code = ErrorCode(answer.topics[0].partitions[0].error_code)
        if code is not ErrorCode.NONE:
            self._failed(code)
            return False
        self.commits += 1
        history.counts["group: commits"] += 1
        commit = Commit(before + 1, self._client.acknowledged(coordinator_id, kept_in, known_epoch, asked_s))
        if before < expected.offset:  # it is the coordinator, because it has committed something since that response
            history.suspect(
                kept_in, f"{place}: offset {expected.offset} was committed, {before} is known", expected.record
            )
        history.has_committed((GROUP, place), expected, commit)
        return True


def offsets_place(group: str) -> Place:
    """The partition of ``__consumer_offsets`` that stores the group's commits."""
    return "__consumer_offsets", partition_for_key(group, int(SETTINGS["offsets.topic.num.partitions"]))


async def committed_offset(client: ClusterClient, coordinator: tuple[str, int], place: Place) -> int | None:
    """The committed offset; -1 for none, None when the coordinator gives no response. Raises UnansweredError."""
    request = OffsetFetchRequest(
        group_id=GROUP, topics=[OffsetFetchRequestTopic(name=place[0], partition_indexes=[place[1]])]
    )
    answer = await client.link(coordinator).ask(request, 5, 3.0)
    if answer.error_code or answer.topics[0].partitions[0].error_code:
        return None
    offset: int = answer.topics[0].partitions[0].committed_offset
    return offset

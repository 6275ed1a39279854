"""One member of a consumer group whose leader deals the partitions in turn: joins, syncs, heartbeats."""

import json

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.heartbeat import HeartbeatRequest
from pybroker.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pybroker.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from simulation.checkers.history import Place
from simulation.clients.client_link import UnansweredError
from simulation.transactions.coordinator_link import CoordinatorLink
from simulation.transactions.transaction_errors import FIND_AGAIN
from simulation.transactions.transaction_manager import GroupMetadata

__all__ = ["Membership"]

_SESSION_TIMEOUT_MS = 6_000
_REBALANCE_TIMEOUT_MS = 3_000


class Membership:
    """`metadata`: the member and its generation, for commits."""

    def __init__(self, link: CoordinatorLink, group: str, places: list[Place]) -> None:
        self._link = link
        self._places = places
        self.metadata = GroupMetadata(group)

    async def join(self) -> list[Place] | None:
        """The partitions of this member in a new generation; None: try again."""
        metadata = self.metadata
        request = JoinGroupRequest(
            group_id=metadata.group,
            session_timeout_ms=_SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=_REBALANCE_TIMEOUT_MS,
            member_id=metadata.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="turns", metadata=b"")],
        )
        try:
            joined = await self._link.ask_once(request, 5)
            if joined.error_code:
                if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                    metadata.member_id = joined.member_id
                else:
                    self._failed(ErrorCode(joined.error_code))
                return None
            self.metadata = GroupMetadata(metadata.group, joined.member_id, joined.generation_id)
            members = sorted(each.member_id for each in joined.members)
            answer = await self._link.ask_once(self._sync(members, is_leader=joined.leader == joined.member_id), 3)
        except UnansweredError:
            return None
        if answer.error_code:
            self._failed(ErrorCode(answer.error_code))
            return None
        return [(topic, number) for topic, number in json.loads(answer.assignment or b"[]")]

    def _sync(self, members: list[str], *, is_leader: bool) -> SyncGroupRequest:
        assignments = [
            SyncGroupRequestAssignment(
                member_id=member, assignment=json.dumps(self._places[turn :: len(members)]).encode()
            )
            for turn, member in enumerate(members)
        ]
        metadata = self.metadata
        return SyncGroupRequest(
            group_id=metadata.group,
            generation_id=metadata.generation,
            member_id=metadata.member_id,
            assignments=assignments if is_leader else [],
        )

    async def is_current(self) -> bool:
        """Send a heartbeat. Returns False when the member must join again."""
        metadata = self.metadata
        request = HeartbeatRequest(
            group_id=metadata.group, generation_id=metadata.generation, member_id=metadata.member_id
        )
        try:
            answer = await self._link.ask_once(request, 3)
        except UnansweredError:
            return True  # the session timeout decides
        if answer.error_code in (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, *FIND_AGAIN):
            self._failed(ErrorCode(answer.error_code))
            return True
        if answer.error_code:
            self._failed(ErrorCode(answer.error_code))
            return False
        return True

    def _failed(self, code: ErrorCode) -> None:
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            self.metadata = GroupMetadata(self.metadata.group)
        elif code in FIND_AGAIN:
            self._link.forget()

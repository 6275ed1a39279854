"""Requests of members of consumer groups that use the classic protocol: JoinGroup, SyncGroup and Heartbeat.

Nobody waits for other members: a JoinGroup is answered when its records are written, and a SyncGroup with the
assignment that the member has by then. A Heartbeat tells the member to join again.
"""

from collections.abc import Callable, Iterable

from .....base.timers import Scheduler
from .....protocol.errors import ErrorCode, KafkaError, RebalanceInProgressError, error_for
from ..consumer.consumer_group import ConsumerGroup
from ..consumer.decision import World, decide
from ..consumer.member import ConsumerMember
from ..consumer.records import GroupRecord
from ..consumer.states import MemberState
from ..consumer.target_runs import TargetRuns
from ..consumer.timers import MemberTimers
from ..joining import JoinRequest
from ..member import JoinReply, SyncReply
from ..modern.heartbeat_answer import HeartbeatAnswer
from ..modern.writing import GroupWriter
from ..results import UNKNOWN_MEMBER_ID, JoinResult, SyncResult
from ..subscriptions import CONSUMER_PROTOCOL_TYPE
from ..syncing import SyncRequest
from .client_protocol import assignment_bytes
from .conversions import Conversions
from .rules import check_join, check_return, check_sync, classic_member, has_to_join_again, joining_heartbeat
from .timers import AwaitedRequest, ClassicTimers

__all__ = ["ClassicMembers"]


class ClassicMembers:
    """``world``: of a group, by its id. ``remove`` removes a member of a group, for a reason in words."""

    def __init__(
        self,
        scheduler: Scheduler,
        writer: GroupWriter[ConsumerGroup, GroupRecord],
        sessions: MemberTimers,
        targets: TargetRuns,
        conversions: Conversions,
        world: Callable[[str], World],
        remove: Callable[[ConsumerGroup, str, str], None],
    ) -> None:
        self._writer = writer
        self._sessions = sessions
        self._targets = targets
        self._conversions = conversions
        self._world = world
        self._timers = ClassicTimers(scheduler, remove, sessions.grace_ms)

    def begin_anew(self, group: ConsumerGroup, is_alive: Callable[[ConsumerMember], bool]) -> None:
        """Begin the waits for members that are alive anew: their clients could not see that the clock moved."""
        self._timers.begin_anew(group, is_alive)

    # -- requests

    def join(self, group: ConsumerGroup, request: JoinRequest, reply: JoinReply) -> None:
        """JoinGroup to a group with members."""
        try:
            self._join(group, request, reply)
        except KafkaError as error:
            reply(JoinResult(error.code, UNKNOWN_MEMBER_ID))

    def _join(self, group: ConsumerGroup, request: JoinRequest, reply: JoinReply) -> None:
        world = self._world(group.group_id)
        check_join(group, request, self._conversions.policy, world.settings.max_size)
        member_id = request.member_id
        if member_id == UNKNOWN_MEMBER_ID:
            member_id = world.new_member_id()
            if request.group_instance_id is None and request.requires_known_member_id:
                reply(JoinResult(ErrorCode.MEMBER_ID_REQUIRED, member_id))
                return
        joining = joining_heartbeat(request, member_id, world.topics)
        check_return(group, joining)
        records, answer = decide(group, joining, world)
        if records and (code := self._writer.refusal(group.group_id)) is not ErrorCode.NONE:
            group.topics_changed = True
            raise error_for(code)
        if self._conversions.replace_last(group, joining, request, self._writer, reply):
            return

        def written(error: ErrorCode) -> None:
            if error is not ErrorCode.NONE:
                reply(JoinResult(error, UNKNOWN_MEMBER_ID))
                return
            self._joined(group, answer)
            name = request.protocols[0].name
            reply(JoinResult(error, member_id, answer.member_epoch, CONSUMER_PROTOCOL_TYPE, name))

        if not records:
            self._writer.after_writes(group, written)
        elif not self._writer.write(group, records, written):
            group.topics_changed = True  # whether they did is still to be stored
            reply(JoinResult(ErrorCode.UNKNOWN_SERVER_ERROR, UNKNOWN_MEMBER_ID))
            return
        self._targets.maybe_begin(group)

    def _joined(self, group: ConsumerGroup, answer: HeartbeatAnswer) -> None:
        member = group.members.get(answer.member_id)
        if group.is_dead or member is None or not member.is_classic:
            return
        self._sessions.keep_alive(group, answer.member_id)
        self._timers.came(group, answer.member_id, AwaitedRequest.JOIN)
        self._timers.came(group, answer.member_id, AwaitedRequest.SYNC)
        self._timers.wait(group, answer.member_id, AwaitedRequest.SYNC)

    def sync(self, group: ConsumerGroup, request: SyncRequest, reply: SyncReply) -> None:
        """SyncGroup: the member's assignment."""
        try:
            assignment = self._sync(group, request)
        except KafkaError as error:
            reply(SyncResult(error.code))
            return
        member_id = request.member_id

        def written(error: ErrorCode) -> None:
            if error is not ErrorCode.NONE:
                reply(SyncResult(error))
                return
            self._timers.came(group, member_id, AwaitedRequest.SYNC)
            if not group.is_dead and member_id in group.members:
                self._sessions.keep_alive(group, member_id)
            reply(SyncResult(error, request.protocol_type, request.protocol_name, assignment))

        self._writer.after_writes(group, written)

    def _sync(self, group: ConsumerGroup, request: SyncRequest) -> bytes:
        """The assignment, as the client reads it. Raises KafkaError."""
        member, classic = classic_member(group, request.member_id, request.group_instance_id, request.generation_id)
        check_sync(classic, request)
        # A member that has to give partitions back must first learn which.
        is_revoking = member.current.state is MemberState.UNREVOKED_PARTITIONS
        if member.epoch < self._newest_epoch(group) and not is_revoking:
            self._timers.wait(group, member.member_id, AwaitedRequest.JOIN)
            raise RebalanceInProgressError()
        return assignment_bytes(
            member.current.assigned, classic.protocols[0].metadata, self._world(group.group_id).topics
        )

    def heartbeat(self, group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int) -> ErrorCode:
        """Heartbeat: extend the member's session. REBALANCE_IN_PROGRESS asks it to join again."""
        try:
            member, _ = classic_member(group, member_id, instance_id, generation_id)
        except KafkaError as error:
            return error.code
        self._sessions.keep_alive(group, member_id)
        if has_to_join_again(group, member, self._newest_epoch(group), self._world(group.group_id).topics):
            self._timers.wait(group, member_id, AwaitedRequest.JOIN)
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    # -- what follows from a change

    def follow(self, group: ConsumerGroup, records: Iterable[GroupRecord]) -> None:
        """The group has changed by these records."""
        self._timers.follow(group, records)

    def ended(self, group: ConsumerGroup) -> None:
        """The group was deleted, has another type now, or is coordinated by another broker."""
        self._timers.end(group)

    def _newest_epoch(self, group: ConsumerGroup) -> int:
        """The newest epoch that a JoinGroup may lead to. That of a large group counts when its target is computed."""
        return group.target_epoch if self._targets.is_late(group) else group.epoch

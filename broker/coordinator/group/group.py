"""A group of the classic protocol: its members and its generation (Kafka's ClassicGroup). No clock, no I/O.

This file has the state and its invariants. The decisions are elsewhere: ``joining.py`` (who may join), ``rebalance.py``
(when a rebalance ends) and ``syncing.py`` (what is stored).
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from ....base.timers import TimerHandle
from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from ....protocol.text_size import text_bytes
from .base import GroupBase
from .commit_request import CommitRequest
from .member import JoinReply, Member, MemberProtocol
from .memory import member_bytes, pending_bytes, protocols_bytes, subscription_bytes
from .offset_expiry import expired_offsets
from .protocol_support import ProtocolSupport
from .record_keys import encode_group_key
from .results import UNKNOWN_MEMBER_ID, GroupSummary, JoinedMember, JoinResult, SyncResult
from .states import GroupState, IllegalGroupTransitionError, may_move
from .subscriptions import subscribed_topics

__all__ = ["Group"]


class Group(GroupBase):
    """A group of the classic protocol.

    ``state_timestamp_ms``: when it entered its state (wall clock); None when it was loaded from a record of an old
    version without that time.
    """

    __slots__ = (
        "_awaiting_join",
        "_protocols",
        "failed_count",
        "generation_id",
        "has_new_member",
        "is_in_initial_delay",
        "join_timer",
        "leader_id",
        "members",
        "pending_members",
        "pending_sync",
        "protocol_name",
        "protocol_type",
        "state",
        "state_timestamp_ms",
        "static_members",
        "storing_generation",
        "subscribed_topics",
        "sync_timer",
    )
    kind = "classic"

    def __init__(self, group_id: str, state_timestamp_ms: int | None, state: GroupState = GroupState.EMPTY) -> None:
        super().__init__(group_id)
        self.state = state
        self.state_timestamp_ms = state_timestamp_ms
        self.generation_id: int = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: OrderedDict[str, Member] = OrderedDict()
        """In the order of joining. An OrderedDict finds its first member at once; a dict would need linear time after
        many first members were removed."""
        self.static_members: dict[str, str] = {}
        """group.instance.id → member id"""
        self.pending_members: dict[str, TimerHandle] = {}
        """Ids handed out with MEMBER_ID_REQUIRED that have not joined yet (KIP-394), with their expiry timers."""
        self.pending_sync: dict[str, None] = {}
        """Members of this generation that have not sent a SyncGroup yet, in the order of joining."""
        self.subscribed_topics: frozenset[str] | None = None
        """Topics that the members of a consumer group read; None when unknown."""
        self.has_new_member = False
        """A new member came during the first rebalance: the initial delay may be extended."""
        self.is_in_initial_delay = False
        """The first rebalance waits its full delay, even when all known members have joined."""
        self.join_timer: TimerHandle | None = None
        self.sync_timer: TimerHandle | None = None
        self.failed_count = 0
        """Members whose session expired since the last generation began."""
        self.storing_generation: int | None = None
        """The generation whose assignment is being written. A repeated SyncGroup must not start a second write."""
        self._awaiting_join = 0
        self._protocols = ProtocolSupport()

    def __repr__(self) -> str:
        return (
            f"<Group {self.group_id!r} {self.state.value} generation {self.generation_id}, {len(self.members)} members>"
        )

    # -- state

    def transition_to(self, target: GroupState, now_ms: int) -> None:
        """Move to ``target``. Raises IllegalGroupTransitionError, without a change, when the table forbids the move."""
        if not may_move(self.state, target):
            raise IllegalGroupTransitionError(f"group {self.group_id}: {self.state.value} to {target.value}")
        self.state = target
        self.state_timestamp_ms = now_ms

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def is_empty(self) -> bool:
        return self.state is GroupState.EMPTY

    @property
    def is_finished(self) -> bool:
        return not self.pending_members and super().is_finished

    @property
    def member_count(self) -> int:
        return len(self.members)

    def client_ids(self) -> Iterable[str]:
        return (member.client_id for member in self.members.values())

    @property
    def is_dead(self) -> bool:
        """Whether it was removed from this coordinator."""
        return self.state is GroupState.DEAD

    @property
    def can_rebalance(self) -> bool:
        """Whether a rebalance may start now."""
        return may_move(self.state, GroupState.PREPARING_REBALANCE)

    def init_next_generation(self, now_ms: int) -> None:
        """Begin the next generation: with members, choose a protocol and wait for SyncGroups; without, become empty."""
        protocol_name = self.select_protocol() if self.members else None
        self.transition_to(GroupState.COMPLETING_REBALANCE if self.members else GroupState.EMPTY, now_ms)
        self.generation_id += 1
        self.failed_count = 0
        self.protocol_name = protocol_name
        self.refresh_subscribed_topics()
        self.pending_sync.clear()

    # -- members

    def add(self, member: Member, reply: JoinReply | None = None) -> None:
        """Add a member whose protocols the group supports. The first member leads and sets the protocol type."""
        if member.group_instance_id is not None:
            if member.group_instance_id in self.static_members:
                raise RuntimeError(f"static member {member.group_instance_id} is already in group {self.group_id}")
            self.static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.set_protocol_type(member.protocol_type)
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._grow(member_bytes(member) + protocols_bytes(member.protocols))
        self._protocols.add(member.protocols)
        self._set_join_reply(member, reply)
        self.forget_pending(member.member_id)

    def set_protocol_type(self, protocol_type: str | None) -> None:
        """Set the protocol type, which remains when all members have left."""
        self._grow(text_bytes(protocol_type or "") - text_bytes(self.protocol_type or ""))
        self.protocol_type = protocol_type

    def assign(self, member: Member, assignment: bytes) -> None:
        """Set the member's assignment as the leader sent it."""
        self._grow(len(assignment) - len(member.assignment))
        member.assignment = assignment

    def remove(self, member_id: str) -> Member | None:
        """Remove a member, or an id that has not joined yet. If it was the leader, the earliest other member leads."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._grow(-member_bytes(member) - protocols_bytes(member.protocols))
            self._protocols.remove(member.protocols)
            self._set_join_reply(member, None)
            if member.group_instance_id is not None:
                del self.static_members[member.group_instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.forget_pending(member_id)
        self.pending_sync.pop(member_id, None)
        return member

    def update_member(
        self,
        member: Member,
        protocols: tuple[MemberProtocol, ...],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        reply: JoinReply | None,
    ) -> None:
        """A member joins again. An older parked JoinGroup of it is answered, so that requests behind it on its
        connection are answered too."""
        older = member.join_reply
        self._protocols.remove(member.protocols)
        self._grow(protocols_bytes(protocols) - protocols_bytes(member.protocols))
        member.protocols = protocols
        self._protocols.add(protocols)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        self._set_join_reply(member, reply)
        if older is not None:
            older(JoinResult(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))

    def replace_static_member(self, instance_id: str, old_member_id: str, new_member_id: str) -> Member:
        """A static member returned under a new id: requests parked under the old id get FENCED_INSTANCE_ID."""
        member = self.members.pop(old_member_id)
        self.answer_join(member, JoinResult(ErrorCode.FENCED_INSTANCE_ID, old_member_id))
        member.answer_sync(SyncResult(ErrorCode.FENCED_INSTANCE_ID))
        before = member_bytes(member)
        member.member_id = new_member_id
        self._grow(member_bytes(member) - before)
        self.members[new_member_id] = member
        self.static_members[instance_id] = new_member_id
        if self.leader_id == old_member_id:
            self.leader_id = new_member_id
        if old_member_id in self.pending_sync:
            del self.pending_sync[old_member_id]
            self.pending_sync[new_member_id] = None
        return member

    def remember_pending(self, member_id: str, timer: TimerHandle) -> None:
        """Remember an id that was handed out; ``timer`` expires it."""
        self.pending_members[member_id] = timer
        self._grow(pending_bytes(member_id))

    def forget_pending(self, member_id: str) -> bool:
        """Forget an id that was handed out. Returns whether it was known."""
        timer = self.pending_members.pop(member_id, None)
        if timer is None:
            return False
        timer.cancel()
        self._grow(-pending_bytes(member_id))
        return True

    def member_error(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID (KIP-345) for a request of this member; NONE when it is valid."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def is_leader(self, member_id: str) -> bool:
        """Whether the member computes the assignment of this generation."""
        return self.leader_id == member_id

    @property
    def lacks_leader(self) -> bool:
        """Whether members share their partitions, but none of them knows that it leads: it was a consumer group. Then
        nobody watches the topics."""
        return self.leader_id is None and self.state is GroupState.STABLE

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of all members; 0 without members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # -- parked JoinGroups

    def answer_join(self, member: Member, result: JoinResult) -> None:
        """Answer the member's parked JoinGroup, if there is one."""
        reply = member.join_reply
        self._set_join_reply(member, None)
        if reply is not None:
            reply(result)

    @property
    def awaiting_join_count(self) -> int:
        """How many members have a JoinGroup parked."""
        return self._awaiting_join

    @property
    def have_all_joined(self) -> bool:
        """Whether every member has a JoinGroup parked and every id handed out has joined."""
        return self._awaiting_join == len(self.members) and not self.pending_members

    def members_not_joined(self) -> list[Member]:
        """Members without a parked JoinGroup."""
        return [member for member in self.members.values() if not member.is_awaiting_join]

    def members_not_synced(self) -> list[Member]:
        """Members of this generation that have not sent a SyncGroup yet."""
        return [self.members[member_id] for member_id in self.pending_sync if member_id in self.members]

    def maybe_elect_joined_leader(self) -> bool:
        """Make a member with a parked JoinGroup the leader, preferably the current leader. False when there is none."""
        if self.leader_id is not None and self.members[self.leader_id].is_awaiting_join:
            return True
        joined = next((member for member in self.members.values() if member.is_awaiting_join), None)
        if joined is None:
            return False
        self.leader_id = joined.member_id
        return True

    # -- protocols

    def supports(self, protocol_type: str, protocols: Iterable[MemberProtocol]) -> bool:
        """Whether a member with these protocols can join: the type is the same and all members share a protocol."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and any(True for _ in protocols)
        return self.protocol_type == protocol_type and self._protocols.has_common(protocols, len(self.members))

    def select_protocol(self) -> str:
        """The protocol with most votes among those that all members support; at a tie, the earliest vote."""
        return self._protocols.select(self.members.values())

    def refresh_subscribed_topics(self) -> None:
        """Read the members' subscriptions again: at each generation and after loading."""
        before = self.subscribed_topics
        self.subscribed_topics = self._read_subscriptions()
        self._grow(subscription_bytes(self.subscribed_topics) - subscription_bytes(before))

    def _read_subscriptions(self) -> frozenset[str] | None:
        if not self.is_consumer_group:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        return subscribed_topics(m.metadata(self.protocol_name) for m in self.members.values())

    # -- offsets

    def refuses_commit(self, request: CommitRequest, *, is_transactional: bool) -> ErrorCode:
        """Without members, a client without a generation may commit. With members only these may; but a transactional
        commit is checked only when the client sends a member id (KIP-447)."""
        if request.generation_id < 0 and self.is_empty:
            return ErrorCode.NONE
        has_name = request.member_id != UNKNOWN_MEMBER_ID or request.group_instance_id is not None
        if request.generation_id < 0 and not has_name:
            return ErrorCode.NONE if is_transactional else ErrorCode.UNKNOWN_MEMBER_ID
        error = self.member_error(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        if request.generation_id != self.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        if self.state is GroupState.COMPLETING_REBALANCE and not is_transactional:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def refuses_deletion_of_offsets(self) -> ErrorCode:
        return ErrorCode.NONE if self.is_empty or self.is_consumer_group else ErrorCode.NON_EMPTY_GROUP

    def is_subscribed_to(self, topic: str) -> bool:
        return not self.is_empty and (self.subscribed_topics is None or topic in self.subscribed_topics)

    def expired_offsets(self, now_ms: int, retention_ms: int) -> Sequence[TopicPartition]:
        """When the retention begins:

        - Group without members: when it became empty.
        - Stable consumer group: at each commit; offsets of topics that members read do not expire.
        - Group without a protocol type (offsets committed without a group): at each commit.
        - Any other group: no offset expires.
        """
        if self.protocol_type is None:
            return expired_offsets(self.offsets, now_ms, retention_ms)
        if self.is_empty:
            return expired_offsets(self.offsets, now_ms, retention_ms, since_ms=self.state_timestamp_ms)
        if self.is_consumer_group and self.state is GroupState.STABLE and self.subscribed_topics is not None:
            return expired_offsets(self.offsets, now_ms, retention_ms, kept=self.subscribed_topics)
        return ()

    # -- the end

    def tombstones(self) -> Sequence[bytes]:
        """A group that never had a generation was never written either."""
        return (encode_group_key(self.group_id),) if self.generation_id > 0 else ()

    def bury(self, now_ms: int) -> None:
        self.transition_to(GroupState.DEAD, now_ms)
        self.cancel_join_timer()
        self.cancel_sync_timer()
        for member_id in list(self.pending_members):
            self.forget_pending(member_id)
        for member in self.members.values():
            member.cancel_session_timer()
            self.answer_join(member, JoinResult(ErrorCode.NOT_COORDINATOR, member.member_id))
            member.answer_sync(SyncResult(ErrorCode.NOT_COORDINATOR))

    def cancel_join_timer(self) -> None:
        """End the wait for joins."""
        self.is_in_initial_delay = False
        if self.join_timer is not None:
            self.join_timer.cancel()
            self.join_timer = None

    def cancel_sync_timer(self) -> None:
        """End the wait for syncs."""
        if self.sync_timer is not None:
            self.sync_timer.cancel()
            self.sync_timer = None

    # -- views

    def joined_members(self) -> tuple[JoinedMember, ...]:
        """All members with their metadata for the chosen protocol, for the leader."""
        assert self.protocol_name is not None
        return tuple(
            JoinedMember(member.member_id, member.group_instance_id, member.metadata(self.protocol_name))
            for member in self.members.values()
        )

    def join_result(self, member_id: str, *, leader_id: str | None = None, skip_assignment: bool = False) -> JoinResult:
        """The current generation for ``member_id``. ``leader_id``: the leader to show in place of the actual one."""
        shown_leader = leader_id if leader_id is not None else self.leader_id or ""
        return JoinResult(
            ErrorCode.NONE,
            member_id,
            self.generation_id,
            self.protocol_type,
            self.protocol_name,
            shown_leader,
            self.joined_members() if shown_leader == member_id else (),
            skip_assignment,
        )

    def summary(self) -> GroupSummary:
        protocol_name = self.protocol_name if self.state is GroupState.STABLE else None
        return GroupSummary(
            ErrorCode.NONE,
            self.state.value,
            self.protocol_type or "",
            protocol_name or "",
            tuple(member.summary(protocol_name) for member in self.members.values()),
        )

    def _set_join_reply(self, member: Member, reply: JoinReply | None) -> None:
        self._awaiting_join += (reply is not None) - (member.join_reply is not None)
        member.join_reply = reply

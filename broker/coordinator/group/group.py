"""One group: its members, its generation and its offsets (Kafka's GroupMetadata). No clock, no I/O.

Who may join, when a rebalance ends and what is stored is decided in ``joining.py``, ``rebalance.py`` and
``syncing.py``; here live the facts and the rules that must always hold between them.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable

from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from ....protocol.text_size import text_bytes
from .member import JoinReply, Member, MemberProtocol, Timer
from .memory import GroupMemory, group_bytes, member_bytes, pending_bytes, protocols_bytes, subscription_bytes
from .offsets import CommitRecord, GroupOffsets
from .results import GroupListing, GroupSummary, JoinedMember, JoinResult, SyncResult
from .states import GroupState, IllegalGroupTransitionError, may_move
from .subscriptions import CONSUMER_PROTOCOL_TYPE, subscribed_topics

__all__ = ["CLASSIC_GROUP_TYPE", "Group"]

CLASSIC_GROUP_TYPE = "classic"


class Group:
    """A group of the classic protocol.

    ``state_timestamp_ms`` is when it came into its state (wall clock), None when loaded from a record too old to say.
    """

    __slots__ = (
        "_awaiting_join",
        "_supporters",
        "failed_count",
        "generation_id",
        "group_id",
        "has_new_member",
        "is_in_initial_delay",
        "join_timer",
        "leader_id",
        "members",
        "memory",
        "offsets",
        "pending_members",
        "pending_sync",
        "protocol_name",
        "protocol_type",
        "size_bytes",
        "state",
        "state_timestamp_ms",
        "static_members",
        "storing_generation",
        "subscribed_topics",
        "sync_timer",
    )

    def __init__(self, group_id: str, state_timestamp_ms: int | None, state: GroupState = GroupState.EMPTY) -> None:
        self.group_id = group_id
        self.state = state
        self.state_timestamp_ms = state_timestamp_ms
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: OrderedDict[str, Member] = OrderedDict()
        """In the order of joining. Asked for its first one again and again while members go in that order, a dict would
        step over the places of all that are gone."""
        self.static_members: dict[str, str] = {}
        """group.instance.id → member id"""
        self.pending_members: dict[str, Timer] = {}
        """Ids handed out with MEMBER_ID_REQUIRED whose owners have not come back yet (KIP-394)."""
        self.pending_sync: dict[str, None] = {}
        """Members of this generation that have not sent a SyncGroup yet, in the order of joining."""
        self.subscribed_topics: frozenset[str] | None = None
        """What the members of a consumer group read; None when that cannot be known."""
        self.offsets = GroupOffsets()
        self.has_new_member = False
        """Somebody new came during the first rebalance: its initial delay may be prolonged."""
        self.is_in_initial_delay = False
        """The first rebalance waits its full delay, even when all known members are there."""
        self.join_timer: Timer | None = None
        self.sync_timer: Timer | None = None
        self.failed_count = 0
        """Members whose session ended since the last generation was made."""
        self.storing_generation: int | None = None
        """The generation whose assignment is being written: its leader's repeated SyncGroup starts no second write."""
        self.size_bytes = group_bytes(group_id)
        """What it takes in memory, about, but for its offsets."""
        self.memory: GroupMemory | None = None
        """The account that ``size_bytes`` is part of, while the group is in a registry."""
        self._awaiting_join = 0
        self._supporters: Counter[str] = Counter()

    def __repr__(self) -> str:
        return (
            f"<Group {self.group_id!r} {self.state.value} generation {self.generation_id}, {len(self.members)} members>"
        )

    # -- state

    def transition_to(self, target: GroupState, now_ms: int) -> None:
        """Move to ``target``; IllegalGroupTransitionError and no change when the table forbids it."""
        if not may_move(self.state, target):
            raise IllegalGroupTransitionError(f"group {self.group_id}: {self.state.value} to {target.value}")
        self.state = target
        self.state_timestamp_ms = now_ms

    @property
    def is_unused(self) -> bool:
        """Nothing of it was ever stored, and nobody is about to join."""
        return (
            self.state is GroupState.EMPTY
            and self.generation_id == 0
            and not self.pending_members
            and self.offsets.is_empty()
        )

    @property
    def is_dead(self) -> bool:
        """Removed from its coordinator."""
        return self.state is GroupState.DEAD

    @property
    def can_rebalance(self) -> bool:
        """Whether a rebalance may start now."""
        return may_move(self.state, GroupState.PREPARING_REBALANCE)

    def init_next_generation(self, now_ms: int) -> None:
        """Count the generation up; with members choose their protocol and wait for syncs, without be empty."""
        protocol_name = self.select_protocol() if self.members else None
        self.transition_to(GroupState.COMPLETING_REBALANCE if self.members else GroupState.EMPTY, now_ms)
        self.generation_id += 1
        self.failed_count = 0
        self.protocol_name = protocol_name
        self.refresh_subscribed_topics()
        self.pending_sync.clear()

    # -- members

    def add(self, member: Member, reply: JoinReply | None = None) -> None:
        """Take in a member whose protocols the group supports. The first one leads and gives the protocol type."""
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
        self._supporters.update({protocol.name for protocol in member.protocols})
        self._set_join_reply(member, reply)
        self.forget_pending(member.member_id)

    def set_protocol_type(self, protocol_type: str | None) -> None:
        """It stays when the members are gone."""
        self._grow(text_bytes(protocol_type or "") - text_bytes(self.protocol_type or ""))
        self.protocol_type = protocol_type

    def assign(self, member: Member, assignment: bytes) -> None:
        """What it is told to work on, in the leader's words."""
        self._grow(len(assignment) - len(member.assignment))
        member.assignment = assignment

    def remove(self, member_id: str) -> Member | None:
        """Take out a member (or an id that was only handed out). The member that joined first among the rest leads."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._grow(-member_bytes(member) - protocols_bytes(member.protocols))
            self._drop_support(member)
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
        """A member joins again. A JoinGroup of it still parked is an older attempt: it is answered, so that what was
        asked behind it on its connection is, too."""
        older = member.join_reply
        self._drop_support(member)
        self._grow(protocols_bytes(protocols) - protocols_bytes(member.protocols))
        member.protocols = protocols
        self._supporters.update({protocol.name for protocol in protocols})
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        self._set_join_reply(member, reply)
        if older is not None:
            older(JoinResult(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))

    def replace_static_member(self, instance_id: str, old_member_id: str, new_member_id: str) -> Member:
        """The same static member came back under a new id: requests parked under the old id are fenced."""
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

    def remember_pending(self, member_id: str, timer: Timer) -> None:
        """An id is handed out; ``timer`` takes it back."""
        self.pending_members[member_id] = timer
        self._grow(pending_bytes(member_id))

    def forget_pending(self, member_id: str) -> bool:
        """An id handed out is used, given up or too old; whether it was known."""
        timer = self.pending_members.pop(member_id, None)
        if timer is None:
            return False
        timer.cancel()
        self._grow(-pending_bytes(member_id))
        return True

    def member_error(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """Whether a request may speak for this member: UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID (KIP-345)."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def is_leader(self, member_id: str) -> bool:
        """Whether it computes the assignment of this generation."""
        return self.leader_id == member_id

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest of the members'; 0 without members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # -- joins under way

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
        """Every known member is back, and every id handed out was used."""
        return self._awaiting_join == len(self.members) and not self.pending_members

    def members_not_joined(self) -> list[Member]:
        """Members without a parked JoinGroup."""
        return [member for member in self.members.values() if not member.is_awaiting_join]

    def maybe_elect_joined_leader(self) -> bool:
        """Make sure that the leader is one who joined; False when nobody did."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].is_awaiting_join:
            return True
        joined = next((member for member in self.members.values() if member.is_awaiting_join), None)
        if joined is None:
            return False
        self.leader_id = joined.member_id
        return True

    # -- protocols

    def supports(self, protocol_type: str, protocols: Iterable[MemberProtocol]) -> bool:
        """Whether somebody with these protocols can take part: the same type, and one that all members have."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and any(True for _ in protocols)
        size = len(self.members)
        return self.protocol_type == protocol_type and any(self._supporters[p.name] == size for p in protocols)

    def select_protocol(self) -> str:
        """The protocol all support that most members prefer; at a draw the one that was voted for first."""
        size = len(self.members)
        candidates = frozenset(name for name, supporters in self._supporters.items() if supporters == size)
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    @property
    def is_consumer_group(self) -> bool:
        """Whether its members are consumers, whose metadata the broker can read."""
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def refresh_subscribed_topics(self) -> None:
        """Read the members' subscriptions anew: at each generation and after loading."""
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

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether members read the topic; True also when that cannot be known."""
        return self.subscribed_topics is None or topic in self.subscribed_topics

    # -- offsets

    def expired_offsets(self, now_ms: int, retention_ms: int) -> list[TopicPartition]:
        """Committed offsets whose time is over (KIP-211).

        Without members the clock starts when the group became empty, for members' topics it never does, for
        offsets kept by hand (no protocol type) at the commit.
        """
        if self.protocol_type is not None and self.state is GroupState.EMPTY:
            since, kept = self.state_timestamp_ms, frozenset[str]()
        elif self.is_consumer_group and self.state is GroupState.STABLE and self.subscribed_topics is not None:
            since, kept = None, self.subscribed_topics
        elif self.protocol_type is None:
            since, kept = None, frozenset[str]()
        else:
            return []
        return [
            partition
            for partition, record in self.offsets.committed.items()
            if partition.topic not in kept
            and not self.offsets.is_pending(partition)
            and _is_expired(record, since, now_ms, retention_ms)
        ]

    # -- views

    def joined_members(self) -> tuple[JoinedMember, ...]:
        """What the leader is told: everybody's metadata for the chosen protocol."""
        assert self.protocol_name is not None
        return tuple(
            JoinedMember(member.member_id, member.group_instance_id, member.metadata(self.protocol_name))
            for member in self.members.values()
        )

    def join_result(self, member_id: str, *, leader_id: str | None = None, skip_assignment: bool = False) -> JoinResult:
        """The current generation as ``member_id`` is to see it; ``leader_id`` shows another one as its leader."""
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

    def listing(self) -> GroupListing:
        """For ListGroups."""
        return GroupListing(self.group_id, self.protocol_type or "", self.state.value, CLASSIC_GROUP_TYPE)

    def summary(self) -> GroupSummary:
        """For DescribeGroups."""
        protocol_name = self.protocol_name if self.state is GroupState.STABLE else None
        return GroupSummary(
            ErrorCode.NONE,
            self.state.value,
            self.protocol_type or "",
            protocol_name or "",
            tuple(member.summary(protocol_name) for member in self.members.values()),
        )

    def _grow(self, size_bytes: int) -> None:
        self.size_bytes += size_bytes
        if self.memory is not None:
            self.memory.used_bytes += size_bytes

    def _set_join_reply(self, member: Member, reply: JoinReply | None) -> None:
        self._awaiting_join += (reply is not None) - (member.join_reply is not None)
        member.join_reply = reply

    def _drop_support(self, member: Member) -> None:
        self._supporters.subtract({protocol.name for protocol in member.protocols})
        for protocol in member.protocols:
            if not self._supporters[protocol.name]:
                del self._supporters[protocol.name]


def _is_expired(record: CommitRecord, since_ms: int | None, now_ms: int, retention_ms: int) -> bool:
    value = record.value
    if value.expire_timestamp_ms is not None:
        return now_ms >= value.expire_timestamp_ms
    start_ms = value.commit_timestamp_ms if since_ms is None else since_ms
    return now_ms - start_ms >= retention_ms

"""Changes groups with members from one protocol to the other, as far as the policy allows."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from .....protocol.errors import ErrorCode, KafkaError
from ..consumer.consumer_group import ConsumerGroup
from ..consumer.heartbeat import Heartbeat
from ..consumer.records import GroupRecord, MemberMetadata
from ..consumer.settings import ConsumerGroupSettings
from ..group import Group
from ..joining import JoinRequest, Joins
from ..member import JoinReply
from ..modern.topics import TopicLookup
from ..modern.writing import GroupWriter, Written
from ..rebalance import Rebalances
from ..rebalance_cause import RebalanceCause, RebalanceReason
from ..results import UNKNOWN_MEMBER_ID, JoinResult, SyncResult
from .downgrade import classic_group, has_only_classic_members
from .policy import MigrationPolicy
from .upgrade import UpgradeDraft, check_upgrade
from .upgrades import UpgradeOutcome, Upgrades

__all__ = ["Conversions"]

logger = logging.getLogger(__name__)

_Writer = GroupWriter[ConsumerGroup, GroupRecord]


class Conversions:
    """``max_size``: of classic groups. ``now_ms``: the wall clock."""

    def __init__(
        self,
        settings: ConsumerGroupSettings,
        max_size: int,
        topics: TopicLookup,
        rebalances: Rebalances,
        joins: Joins,
        upgrades: Upgrades,
        now_ms: Callable[[], int],
    ) -> None:
        self._upgrades = upgrades
        self._settings = settings
        self._max_size = max_size
        self._topics = topics
        self._rebalances = rebalances
        self._joins = joins
        self._now_ms = now_ms

    @property
    def policy(self) -> MigrationPolicy:
        return self._settings.migration

    # -- up

    def draft(
        self,
        group: Group,
        joining: Heartbeat,
        made: UpgradeOutcome | None,
        done: Callable[[UpgradeOutcome | None], None],
    ) -> UpgradeDraft | None:
        """The consumer group that a classic one with members becomes, because a client joins it.

        ``made``: the outcome of an earlier call. Returns None when the group is being made; then ``done`` gets the
        outcome, or None when it was made for another request. An error is the outcome for all that wait.
        Raises KafkaError, and for the usual reasons before the work that takes long for a large group.
        """
        check_upgrade(group, joining, self.policy, self._settings.max_size)
        if isinstance(made, KafkaError):
            raise made
        if made is not None and made.is_of(group):
            return made
        if not self._upgrades.after(group.group_id, done):
            self._upgrades.begin(group, done)
        return None

    def is_drafted(self, group_id: str) -> bool:
        """Whether the consumer group is being made that a classic group becomes."""
        return self._upgrades.is_running(group_id)

    def upgraded(self, old: Group, new: ConsumerGroup) -> None:
        """The consumer group has taken the place of the classic one: its members join again."""
        logger.info("group %s became a consumer group of %d members", old.group_id, len(new.members))
        for member in old.members.values():
            old.answer_join(member, JoinResult(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
            member.answer_sync(SyncResult(ErrorCode.REBALANCE_IN_PROGRESS))
        old.bury(self._now_ms())

    # -- down

    def downgrade(self, group: ConsumerGroup, leaving: Sequence[str], writer: _Writer, done: Written) -> bool:
        """Make the group a classic one without these members, if only members of the classic protocol are left.

        False: the group stays as it is.
        """
        classic = self._without(group, leaving, None)
        if classic is None or not writer.write_classic(group, classic, done):
            return False
        if self._begin(group, classic):
            text = f"member {leaving[-1]} left, the last of the consumer protocol"
            self._rebalances.prepare(classic, RebalanceCause(RebalanceReason.MEMBER_LEFT, text))
        return True

    def replace_last(
        self,
        group: ConsumerGroup,
        joining: Heartbeat,
        request: JoinRequest,
        writer: _Writer,
        reply: JoinReply,
    ) -> bool:
        """Make the group a classic one when a static member returns by the classic protocol, and was the last of the
        consumer protocol. False: the group stays as it is."""
        holder_id = group.static_members.get(joining.instance_id or "")
        if holder_id is None or group.members[holder_id].is_classic:
            return False
        before = group.members[holder_id].metadata
        newcomer = joining.updated(before._replace(member_id=joining.member_id))
        classic = self._without(group, [holder_id], newcomer)
        if classic is None:
            return False

        def written(error: ErrorCode) -> None:
            if error is not ErrorCode.NONE:
                reply(JoinResult(error, UNKNOWN_MEMBER_ID))
            elif not has_changed:
                generation_id = classic.generation_id
                reply(
                    JoinResult(error, newcomer.member_id, generation_id, classic.protocol_type, classic.protocol_name)
                )

        has_changed = bool(before.pattern) or before.names != newcomer.names
        if not writer.write_classic(group, classic, written):
            return False
        if self._begin(group, classic) and has_changed:
            text = f"static member {newcomer.member_id} returned with another subscription"
            self._rebalances.prepare(classic, RebalanceCause(RebalanceReason.MEMBER_REJOINED, text))
            self._joins.join(classic, replace(request, member_id=newcomer.member_id), reply)
        return True

    def _without(self, group: ConsumerGroup, leaving: Sequence[str], newcomer: MemberMetadata | None) -> Group | None:
        """The classic group of the other members; None when the group stays a consumer group."""
        count = len(group.members) - (len(leaving) if newcomer is None else 0)
        if not self.policy.may_downgrade or count > self._max_size:
            return None
        if not has_only_classic_members(group, leaving) and (newcomer is None or len(group.members) > 1):
            return None
        return classic_group(group, leaving, newcomer, self._topics, self._now_ms())

    def _begin(self, group: ConsumerGroup, classic: Group) -> bool:
        """Begin the members' sessions. False when the group was not written, so that its partition is loaded anew."""
        group.bury(self._now_ms())
        if classic.is_dead:
            return False
        count, generation_id = len(classic.members), classic.generation_id
        logger.info(
            "group %s became a classic group of %d members in generation %d", group.group_id, count, generation_id
        )
        for member in classic.members.values():
            self._rebalances.keep_alive(classic, member)
        return True

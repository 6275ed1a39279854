"""Requests about share groups (KIP-932): heartbeats of members and descriptions.

Everything runs on the event loop. A heartbeat is decided by ``decision.py``; this file finds the group, has the records
written, and starts what follows from them: sessions, the target of a large group, the states of new partitions.
"""

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple
from uuid import UUID

from .....config.group_config import GroupConfig
from .....protocol.errors import (
    ErrorCode,
    KafkaError,
    UnknownServerError,
    error_for,
)
from ...share.ports import ShareState
from ..modern.heartbeat_answer import HeartbeatAnswer, HeartbeatReply, refused
from ..modern.pending_reply import PendingReply
from ..modern.sessions import Sessions
from ..modern.space import GroupSpace, no_space_error
from ..modern.target_runs import ComputedTarget
from ..modern.topics import TopicLookup
from ..modern.turns import Turns
from ..modern.writing import GroupWriter, Written
from ..record_log import RecordLog
from ..registry import GroupRegistry
from .decision import ShareWorld, decide
from .describe import DescribedShareGroup, described
from .heartbeat import JOIN_EPOCH, ShareHeartbeat, check
from .initializations import Initializations
from .leaving import fence
from .lookup import ShareGroupLookup
from .records import RecordKind, Removed, ShareMember, ShareRecord
from .settings import ShareGroupSettings
from .share_group import ShareGroup
from .state_runs import StateRuns
from .states import with_initialized, without_topics
from .target_runs import ShareTargetRuns
from .topic_index import ShareTopicIndex, is_about_states
from .topic_knowledge import TopicKnowledge
from .topic_looks import TopicLooks

__all__ = ["ShareGroups", "SharePorts"]

logger = logging.getLogger(__name__)


ShareGrace = Callable[[ShareMember], int]
"""How many more ms a member gets whose session is over; 0: none."""


def _no_grace(member: ShareMember) -> int:
    """On a clock that nobody moves."""
    return 0


class SharePorts(NamedTuple):
    """The parts of the broker that share groups use.

    ``group_config``: the settings of a group by its id; None where groups have no settings of their own.
    """

    settings: ShareGroupSettings
    topics: TopicLookup
    state: ShareState
    group_config: Callable[[str], GroupConfig] | None = None


class ShareGroups:
    """The share groups of the registry. ``reload`` loads a partition anew."""

    def __init__(
        self,
        registry: GroupRegistry,
        log: RecordLog,
        turns: Turns,
        now_ms: Callable[[], int],
        ports: SharePorts,
        reload: Callable[[int], None],
    ) -> None:
        scheduler = turns.scheduler
        self.lookup = ShareGroupLookup(registry, now_ms)
        self._space = GroupSpace(registry, now_ms)
        self._ports = ports
        self._index = ShareTopicIndex(ports.topics)
        self.knowledge = TopicKnowledge()
        self._looks = TopicLooks(turns, ports.topics, self.knowledge)
        self._writer = GroupWriter(registry, log, self._applied, reload)
        self._grace: ShareGrace = _no_grace
        self._sessions = Sessions(scheduler, self.session_timeout_ms, self._session_ended, self._grace_ms)
        self._targets = ShareTargetRuns(turns, ports.topics, self._target_computed, self._writer.may_write)
        self.state_runs = StateRuns(scheduler)
        self.initializations = Initializations(scheduler, ports.state, ports.topics, self.state_runs, self._initialized)

    # -- requests

    def heartbeat(self, request: ShareHeartbeat, reply: HeartbeatReply) -> None:
        """ShareGroupHeartbeat. ``reply`` is called when the records are written on which the response depends, and the
        target of a large group is known."""
        is_stay = request.member_epoch >= JOIN_EPOCH
        if is_stay and self._targets.after(request.group_id, self._heartbeat, request, reply):
            self._waits(request)
        else:
            self._heartbeat(request, reply)

    def _waits(self, request: ShareHeartbeat) -> None:
        """A member whose heartbeat waits is not silent."""
        group = self.lookup.known(request.group_id)
        if group is not None:
            member = group.members.get(request.member_id)
            if member is not None and member.current.epoch == request.member_epoch:
                self._sessions.keep_alive(group, request.member_id)

    def _heartbeat(self, request: ShareHeartbeat, reply: HeartbeatReply) -> None:
        pending = PendingReply(reply)
        try:
            check(request)
            answer = self._decide(request, pending.written)
        except KafkaError as error:
            reply(refused(error))
            return
        group = self.lookup.known(request.group_id)
        if group is not None and answer.member_id in group.members:
            self._sessions.keep_alive(group, answer.member_id)
            self._looks.maybe_begin(group)
            self._targets.maybe_begin(group, tries_again=request.member_epoch == JOIN_EPOCH)
            self.initializations.maybe_begin(group)
            pending.hold(self._targets, request, answer, self._decide)
        else:
            pending.send()

    def _decide(self, request: ShareHeartbeat, reply: HeartbeatReply) -> HeartbeatAnswer:
        """Raises KafkaError when the request is refused."""
        self.lookup.check(request.group_id)
        group = self.lookup.of(request)
        is_sure = self.knowledge.is_sure(group.group_id)
        world = ShareWorld(self._ports.topics, self._settings_of(group), self._space.may_be_short, is_sure)
        records, answer = decide(group, request, world)

        def written(error: ErrorCode) -> None:
            reply(answer if error is ErrorCode.NONE else refused(error_for(error)))

        if not records:
            self._writer.after_writes(group, written)
        elif (code := self._writer.refusal(group.group_id)) is not ErrorCode.NONE:
            group.needs_look = True
            raise error_for(code)
        elif not self._writer.write(group, records, written):
            group.needs_look = True  # whether something changed is still to be stored
            raise UnknownServerError("The records of the group are too large.")
        return answer

    def describe(self, group_id: str) -> DescribedShareGroup:
        """ShareGroupDescribe of one group. Raises KafkaError."""
        return self.described(self.lookup.get(group_id))

    def described(self, group: ShareGroup) -> DescribedShareGroup:
        """A group of this broker as it is in memory."""
        return described(group, self._ports.topics)

    def session_timeout_ms(self, group: ShareGroup, member_id: str) -> int:
        """How long the member may be silent."""
        return self._settings_of(group).session_timeout_ms

    def silent_ms(self, group: ShareGroup, member_id: str) -> float | None:
        """How long ago the member's session began anew, which a heartbeat does; None: it has no session."""
        left_s = self._sessions.left_s(group, member_id)
        return None if left_s is None else max(self.session_timeout_ms(group, member_id) - left_s * 1000, 0.0)

    # -- groups that come and go

    def loaded(self, group: ShareGroup, partition: int) -> None:
        """The group was loaded: its members get new sessions."""
        for member_id in group.members:
            self._sessions.keep_alive(group, member_id)
        self._index.loaded(group)
        self.knowledge.loaded(group.group_id, partition)
        self._looks.maybe_begin(group)

    def ended(self, group: ShareGroup) -> None:
        """The group was deleted, or is coordinated by another broker."""
        self._sessions.end_all(group)
        self._looks.end(group)
        self.knowledge.ended(group.group_id)
        self._targets.end(group)
        self.initializations.end(group)
        self.state_runs.end(group)
        self._index.ended(group)

    # -- a clock that tests move

    def give_grace(self, grace: ShareGrace) -> None:
        """Ask ``grace`` from now on when the session of a member is over."""
        self._grace = grace

    def end_grace(self, is_alive: Callable[[ShareMember], bool]) -> None:
        """The clock does not move any more: begin the sessions of members that are alive anew."""
        self._grace = _no_grace
        for group in self.lookup.groups():
            for member_id, member in group.members.items():
                if is_alive(member):
                    self._sessions.keep_alive(group, member_id)

    # -- topics that change

    def topics_changed(self, names: Sequence[str]) -> None:
        """The metadata of these topics changed. Groups compare it at their next heartbeat; states of topics that were
        deleted or made anew are forgotten, because the share coordinator deletes them with the topic."""
        sure = self.knowledge.metadata_came() if names else ()
        gone: dict[str, set[UUID]] = {group_id: set() for group_id in sure}  # its keys are all groups concerned
        for name in names:
            topic_id = self._ports.topics.topic_id(name)
            for group_id in self._index.groups_of(name):
                gone.setdefault(group_id, set()).update(self._index.ids_with_states(group_id, name) - {topic_id})
        for group_id, topic_ids in sorted(gone.items()):
            group = self.lookup.known(group_id)
            if group is not None:
                group.note_topics_changed()
                may_write = topic_ids and self._writer.may_write(group_id)
                if not may_write or not self.write(group, (without_topics(group.states, topic_ids),)):
                    self._looks.changed(group)

    # -- what follows from a change

    def write(self, group: ShareGroup, records: Sequence[ShareRecord], done: Written = lambda error: None) -> bool:
        """Change a group. When the records are not written, the group is loaded anew, and ``done`` gets the error."""
        return self._writer.write(group, records, done)

    def refusal(self, group_id: str) -> ErrorCode:
        """The error for the client when the log would refuse a change of the group now."""
        return self._writer.refusal(group_id)

    def _applied(self, group: ShareGroup, records: Sequence[ShareRecord]) -> None:
        for record in records:
            if isinstance(record, Removed) and record.kind is RecordKind.MEMBER:
                self._sessions.end(group, record.name)
        self._index.follow(group, records)
        if any(map(is_about_states, records)):
            self._looks.changed(group)

    def _settings_of(self, group: ShareGroup) -> ShareGroupSettings:
        settings, group_config = self._ports.settings, self._ports.group_config
        return settings if group_config is None else settings.of_group(group_config(group.group_id))

    def _grace_ms(self, group: ShareGroup, member_id: str) -> int:
        """How many more ms a member gets whose session is over; 0: it is removed."""
        return max(self._writer.pause_ms(group.group_id), self._grace(group.members[member_id]))

    def _session_ended(self, group: ShareGroup, member_id: str) -> None:
        logger.info("group %s: share member %s removed: its session has ended", group.group_id, member_id)
        self.write(group, fence(group, member_id, self._ports.topics))

    def _target_computed(self, group: ShareGroup, target: ComputedTarget) -> None:
        if not self._space.allows(group.group_id, target.growth_bytes):
            self._targets.give_up(group, no_space_error())
        elif not self._writer.write(group, target.records, lambda error: None, encoded=target.encoded):
            self._targets.give_up(group, UnknownServerError("The target assignment is too large to store."))

    def _initialized(self, group: ShareGroup, partitions: frozenset[tuple[UUID, int]], done: Written) -> None:
        if (code := self._writer.refusal(group.group_id)) is not ErrorCode.NONE:
            done(code)
        elif not self.write(group, (with_initialized(group.states, partitions),), done):
            done(ErrorCode.UNKNOWN_SERVER_ERROR)

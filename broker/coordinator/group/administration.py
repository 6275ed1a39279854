"""Lists, describes and deletes groups, and expires their offsets (KIP-211, KIP-229, KIP-496, KIP-518)."""

import logging
from collections.abc import Callable, Collection, Sequence
from itertools import islice

from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from .base import GroupBase
from .modern.deletions import Deletions
from .registry import GroupRegistry
from .results import GroupListing, GroupSummary
from .settings import GroupSettings
from .states import GroupState
from .timeline import EventKind

__all__ = ["Administration"]

logger = logging.getLogger(__name__)

_NAMED_PARTITIONS = 5
"""In a text of the timeline."""


def _ignore(error: ErrorCode) -> None:
    """Nobody waits for the records."""


class Administration:
    """Requests of administrators, and the expiry of offsets."""

    def __init__(
        self,
        settings: GroupSettings,
        registry: GroupRegistry,
        deletions: Deletions,
        now_ms: Callable[[], int],
    ) -> None:
        self._settings = settings
        self._registry = registry
        self._deletions = deletions
        self._now_ms = now_ms
        self.deleted_offsets = 0
        """How many offsets clients have deleted, since the start."""
        self.expired_offsets = 0

    def list_groups(
        self, states: Collection[str] = (), types: Collection[str] = ()
    ) -> tuple[ErrorCode, list[GroupListing]]:
        """ListGroups. An empty filter matches every group; filters ignore case.

        With COORDINATOR_LOAD_IN_PROGRESS the list has the groups loaded so far.
        """
        if not self._registry.ownership.is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, []
        wanted_states = {state.lower() for state in states}
        wanted_types = {group_type.lower() for group_type in types}
        listings = [
            group.listing()
            for group in self._registry.groups()
            if (not wanted_types or group.kind in wanted_types)
            and (not wanted_states or group.state_name.lower() in wanted_states)
        ]
        error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if self._registry.ownership.is_loading_any else ErrorCode.NONE
        return error, listings

    def describe(self, group_id: str) -> GroupSummary:
        """DescribeGroups. A group that does not exist has the state Dead."""
        error = self._registry.check(group_id, may_be_empty=True)
        if error is not ErrorCode.NONE:
            return GroupSummary(error)
        group = self._registry.get(group_id)
        if group is None:
            return GroupSummary(ErrorCode.NONE, GroupState.DEAD.value, reason=f"Group {group_id} not found.")
        return group.summary()

    def delete_group(self, group_id: str, done: Callable[[ErrorCode], None] = _ignore) -> ErrorCode:
        """DeleteGroups. NON_EMPTY_GROUP for a group with members.

        Returns NONE when the group is deleted in memory; then ``done`` gets whether that is stored, see `Deletions`.
        """
        error = self._registry.check(group_id, may_be_empty=True)
        if error is not ErrorCode.NONE:
            return error
        group = self._registry.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if not group.is_empty:
            return ErrorCode.NON_EMPTY_GROUP
        error = self._deletions.refusal(group)
        if error is not ErrorCode.NONE:
            return error
        self._clear(group, group.offsets.remove_all(), done, is_deleted=True)
        return ErrorCode.NONE

    def delete_offsets(
        self, group_id: str, partitions: Collection[TopicPartition], done: Callable[[ErrorCode], None] = _ignore
    ) -> tuple[ErrorCode, dict[TopicPartition, ErrorCode]]:
        """OffsetDelete. GROUP_SUBSCRIBED_TO_TOPIC for partitions of topics that a member reads.

        When the error is NONE, ``done`` gets whether the deletion is stored, see `Deletions`.
        """
        error = self._registry.check(group_id)
        if error is not ErrorCode.NONE:
            return error, {}
        group = self._registry.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND, {}
        error = group.refuses_deletion_of_offsets() or self._deletions.refusal(group)
        if error is not ErrorCode.NONE:
            return error, {}
        codes = {
            partition: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            if group.is_subscribed_to(partition.topic)
            else ErrorCode.NONE
            for partition in partitions
        }
        free = [partition for partition, code in codes.items() if code is ErrorCode.NONE]
        if free:
            removed = group.offsets.remove(free)
            self.deleted_offsets += len(removed)
            if removed:
                text = f"a client deleted the offsets of {_places(removed)}"
                group.timeline.note(EventKind.OFFSETS_DELETED, text, group.generation_id, self._now_ms())
            self._clear(group, removed, done)
        else:
            done(ErrorCode.NONE)
        return ErrorCode.NONE, codes

    def forget_partitions(self, partitions: Collection[TopicPartition]) -> None:
        """Delete the offsets of deleted partitions."""
        deleted_partitions = frozenset(partitions)
        for group in self._registry.groups():
            removed = group.offsets.remove(group.offsets.known_among(deleted_partitions))
            if removed:
                deleted = ", ".join(map(str, removed))
                logger.info("group %s: offsets of %s deleted with their topics", group.group_id, deleted)
                text = f"offsets of {_places(removed)} deleted with their topics"
                group.timeline.note(EventKind.OFFSETS_DELETED, text, group.generation_id, self._now_ms())
            self._clear(group, removed)

    def expire(self) -> int:
        """Delete offsets past ``offsets.retention.minutes``, and groups that are left without offsets and members.

        Returns the number of offsets deleted.
        """
        now_ms = self._now_ms()
        count = 0
        for group in self._registry.groups():
            expired = group.expired_offsets(now_ms, self._settings.retention_ms)
            if expired:
                logger.info(
                    "group %s: offsets of %s deleted, past the %d minutes of offsets.retention.minutes or their own"
                    " retention",
                    group.group_id,
                    ", ".join(map(str, expired)),
                    self._settings.retention_ms // 60_000,
                )
                text = f"offsets of {_places(expired)} deleted, past their retention"
                group.timeline.note(EventKind.OFFSETS_EXPIRED, text, group.generation_id, now_ms)
            self._clear(group, group.offsets.remove(expired))
            count += len(expired)
        self.expired_offsets += count
        return count

    def _clear(
        self,
        group: GroupBase,
        removed: Collection[TopicPartition],
        done: Callable[[ErrorCode], None] | None = None,
        *,
        is_deleted: bool = False,
    ) -> None:
        """Write tombstones for ``removed`` offsets. A group without members and offsets is removed too, unless a client
        that got a member id is about to join.

        ``done``: see `Deletions`; None: no client waits.
        """
        group_keys: Sequence[bytes] = ()
        if is_deleted or group.is_finished:
            logger.info("group %s removed in generation %d", group.group_id, group.generation_id)
            group_keys = group.tombstones()
            group.bury(self._now_ms())
            self._registry.remove(group)
        self._deletions.write(group, removed, group_keys, done)


def _places(partitions: Collection[TopicPartition]) -> str:
    """The first partitions of a list, and how many more there are."""
    named = ", ".join(map(str, islice(partitions, _NAMED_PARTITIONS)))
    more = len(partitions) - _NAMED_PARTITIONS
    return f"{named} and {more} more" if more > 0 else named

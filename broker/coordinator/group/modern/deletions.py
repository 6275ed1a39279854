"""Writes the tombstones of deleted groups and offsets, and tells the client when they are written.

Kafka's older coordinator, which knows only classic groups, answers at once: so do classic groups here. Its newer
coordinator answers when the tombstones are committed. Memory changes first: when the tombstones are not written, the
partition is loaded anew, and the group is there again.
"""

from collections.abc import Callable, Collection, Sequence

from .....base.topic_partition import TopicPartition
from .....protocol.errors import ErrorCode, KafkaError
from ...internal_log import AppendDone, AppendOutcome
from ..base import GroupBase
from ..offset_log import OffsetLog
from ..registry import GroupRegistry
from .group import ModernGroup
from .writing import Written, write_error

__all__ = ["Deletions"]


class Deletions:
    """``reload`` loads a partition anew."""

    def __init__(self, registry: GroupRegistry, offset_log: OffsetLog, reload: Callable[[int], None]) -> None:
        self._registry = registry
        self._offset_log = offset_log
        self._reload = reload

    def refusal(self, group: GroupBase) -> ErrorCode:
        """The error for the client when the log would refuse the deletion now; nothing has to change in memory then."""
        if not isinstance(group, ModernGroup):
            return ErrorCode.NONE
        return write_error(self._offset_log.refusal(group.group_id))

    def write(
        self,
        group: GroupBase,
        partitions: Collection[TopicPartition],
        group_keys: Sequence[bytes],
        done: Written | None = None,
    ) -> None:
        """Write tombstones for offsets and for the other keys of the group. ``done`` None: no client waits."""
        group_id = group.group_id
        if done is not None and isinstance(group, ModernGroup) and (partitions or group_keys):
            self._offset_log.store_tombstones(group_id, partitions, group_keys, self._finisher(group_id, done))
            return
        self._offset_log.store_tombstones(group_id, partitions, group_keys)
        if done is not None:
            done(ErrorCode.NONE)

    def _finisher(self, group_id: str, done: Written) -> AppendDone:
        partition, ownership = self._registry.partition_for(group_id), self._registry.ownership
        epoch = ownership.epoch_of(partition) if ownership.owns(partition) else None

        def finish(outcome: AppendOutcome) -> None:
            if not isinstance(outcome, KafkaError):
                done(ErrorCode.NONE)
                return
            if ownership.is_active and ownership.owns(partition) and ownership.epoch_of(partition) == epoch:
                self._reload(partition)
            done(write_error(outcome.code))

        return finish

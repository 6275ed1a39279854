"""Rebuilds consumer groups from their records."""

import logging

from .....base.buffer import Buffer
from ..replay_part import ReplayedBatch
from .consumer_group import ConsumerGroup
from .record_bytes import decode_record
from .records import RecordKind, Removed

__all__ = ["CONSUMER_KEY_VERSIONS", "ConsumerReplay"]

CONSUMER_KEY_VERSIONS = tuple(map(int, RecordKind))

logger = logging.getLogger(__name__)


class ConsumerReplay:
    """Implements `ReplayPart`: the records of a group are applied one by one, as they were when they were written."""

    def __init__(self) -> None:
        self.groups: dict[str, ConsumerGroup] = {}

    def apply(self, version: int, key: Buffer, value: Buffer | None, batch: ReplayedBatch) -> None:
        group_id, record = decode_record(version, key, value)
        group = self.groups.get(group_id)
        if record is None:
            return
        if isinstance(record, Removed):
            if group is not None:
                self._remove(group, record)
            return
        if group is None:
            group = self.groups[group_id] = ConsumerGroup(group_id)
        group.apply(record)

    def _remove(self, group: ConsumerGroup, record: Removed) -> None:
        if record.kind is not RecordKind.GROUP:
            group.apply(record)
            return
        if group.members:
            logger.warning("group %s: deleted in the log, but %d members were not", group.group_id, len(group.members))
        del self.groups[group.group_id]

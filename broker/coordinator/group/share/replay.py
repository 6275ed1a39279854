"""Rebuilds share groups from their records."""

from .....base.buffer import Buffer
from ..replay_part import ReplayedBatch
from .record_bytes import decode_record
from .records import RecordKind, Removed
from .share_group import ShareGroup

__all__ = ["SHARE_KEY_VERSIONS", "ShareReplay"]

SHARE_KEY_VERSIONS = tuple(map(int, RecordKind))


class ShareReplay:
    """Implements `ReplayPart`: the records of a group are applied one by one, as they were when they were written."""

    def __init__(self) -> None:
        self.groups: dict[str, ShareGroup] = {}

    def apply(self, version: int, key: Buffer, value: Buffer | None, batch: ReplayedBatch) -> None:
        group_id, record = decode_record(version, key, value)
        group = self.groups.get(group_id)
        if record == Removed(RecordKind.GROUP):
            self.groups.pop(group_id, None)
        elif group is not None:
            group.apply(record)
        elif not isinstance(record, Removed):
            group = self.groups[group_id] = ShareGroup(group_id)
            group.apply(record)

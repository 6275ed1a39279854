"""Rebuilds classic groups from their records."""

from ....base.buffer import Buffer
from .group import Group
from .record_keys import decode_group_key
from .records import decode_group
from .replay_part import ReplayedBatch

__all__ = ["ClassicReplay"]


class ClassicReplay:
    """Implements `ReplayPart`: a record has the whole state of its group."""

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}

    def apply(self, version: int, key: Buffer, value: Buffer | None, batch: ReplayedBatch) -> None:
        group_id = decode_group_key(key)
        if value is None:
            self.groups.pop(group_id, None)
        else:
            self.groups[group_id] = decode_group(group_id, value)

"""The memory that histories of groups use: timelines and past commits.

**Why.** They help people and change nothing, so members and groups go first.

**How.** Histories get at most a quarter of ``pybroker.groups.max.bytes``, and grow only while groups use at most three
quarters of it. When members need the space, the registry drops all histories.
"""

from ..entry_memory import EntryMemory

__all__ = ["HistoryMemory"]

_SHARE = 4


class HistoryMemory:
    """``groups``: the memory of groups, whose limit histories share."""

    __slots__ = ("_groups", "used_bytes")

    def __init__(self, groups: EntryMemory) -> None:
        self._groups = groups
        self.used_bytes = 0

    def reserve(self, size_bytes: int) -> bool:
        """Reserve memory for an entry of a history. False when there is none: the entry is not kept."""
        groups = self._groups
        share = groups.max_bytes // _SHARE
        if self.used_bytes + size_bytes > share or groups.used_bytes > groups.max_bytes - share:
            return False
        self.used_bytes += size_bytes
        return True

    def release(self, size_bytes: int) -> None:
        """Give back memory that was reserved."""
        self.used_bytes -= size_bytes

"""The table of one-shot watches on nodes."""

from collections.abc import Iterable

from ...base.frozen import frozen
from .metadata_store import EventType, Watch, WatchEvent, parent_of

__all__ = ["TriggeredWatch", "WatchTable"]


@frozen
class TriggeredWatch:
    """A watch that was removed from the table, with the event to report."""

    event: WatchEvent
    watch: Watch
    on_data: bool
    """Whether it watched children; else data and existence."""


class WatchTable:
    """The watches of one session. Pure: `trigger` removes the watches that fire, and the caller calls them."""

    def __init__(self) -> None:
        # Dicts are used as ordered sets, so that the order of delivery does not depend on hashes.
        self._on_data: dict[str, dict[Watch, None]] = {}
        self._on_children: dict[str, dict[Watch, None]] = {}

    def __len__(self) -> int:
        """The number of watched paths; those of data and of children count apart."""
        return len(self._on_data) + len(self._on_children)

    @property
    def size_chars(self) -> int:
        """The length of all watched paths; takes time in proportion to their number."""
        return sum(map(len, self._on_data)) + sum(map(len, self._on_children))

    def watch_data(self, path: str, watch: Watch) -> None:
        self._on_data.setdefault(path, {})[watch] = None

    def watch_children(self, path: str, watch: Watch) -> None:
        self._on_children.setdefault(path, {})[watch] = None

    def trigger(self, changes: Iterable[WatchEvent]) -> list[TriggeredWatch]:
        """Remove and return the watches that ``changes`` fire, in ZooKeeper's order."""
        triggered: list[TriggeredWatch] = []
        for change in changes:
            data_watches = self._on_data.pop(change.path, {})
            triggered += [TriggeredWatch(change, watch, True) for watch in data_watches]
            if change.type is EventType.DATA_CHANGED:
                continue
            if change.type is EventType.DELETED:
                child_watches = self._on_children.pop(change.path, {})
                triggered += [TriggeredWatch(change, w, False) for w in child_watches if w not in data_watches]
            parent = parent_of(change.path)
            in_parent = WatchEvent(EventType.CHILDREN_CHANGED, parent)
            triggered += [TriggeredWatch(in_parent, watch, False) for watch in self._on_children.pop(parent, {})]
        return triggered

    def restore(self, triggered: Iterable[TriggeredWatch]) -> None:
        """Put back watches whose change was undone."""
        for entry in triggered:
            table = self._on_data if entry.on_data else self._on_children
            table.setdefault(entry.event.path, {})[entry.watch] = None

    def clear(self) -> None:
        self._on_data.clear()
        self._on_children.clear()

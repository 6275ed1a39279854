"""One-shot watches on nodes: who is told what."""

from collections.abc import Iterable
from dataclasses import dataclass

from .metadata_store import EventType, Watch, WatchEvent, parent_of

__all__ = ["TriggeredWatch", "WatchTable"]


@dataclass(frozen=True, slots=True)
class TriggeredWatch:
    """A watch that was taken out of the table, and what it is to be told."""

    event: WatchEvent
    watch: Watch
    on_data: bool
    """Which table it stood in: data (and existence), or children."""


class WatchTable:
    """The watches of one session. Pure: `trigger` takes out those a change concerns, the caller calls them."""

    def __init__(self) -> None:
        # Dicts serve as ordered sets: the order of delivery must not depend on hashes.
        self._on_data: dict[str, dict[Watch, None]] = {}
        self._on_children: dict[str, dict[Watch, None]] = {}

    def watch_data(self, path: str, watch: Watch) -> None:
        self._on_data.setdefault(path, {})[watch] = None

    def watch_children(self, path: str, watch: Watch) -> None:
        self._on_children.setdefault(path, {})[watch] = None

    def trigger(self, changes: Iterable[WatchEvent]) -> list[TriggeredWatch]:
        """The watches that ``changes`` (CREATED, DELETED, DATA_CHANGED of nodes) concern, in ZooKeeper's order."""
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
        """Put back watches whose change did not come to be."""
        for entry in triggered:
            table = self._on_data if entry.on_data else self._on_children
            table.setdefault(entry.event.path, {})[entry.watch] = None

    def clear(self) -> None:
        self._on_data.clear()
        self._on_children.clear()

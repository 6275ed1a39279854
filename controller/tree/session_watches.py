"""The watches of a ZooKeeper session, which the server forgets with each connection."""

from dataclasses import dataclass, field

from .metadata_store import EventType, Stat, Watch, WatchEvent

__all__ = ["SessionWatches"]


@dataclass(slots=True)
class _Watched:
    """``seen_zxid``: the last change that the watches' owners know; None: the node did not exist."""

    seen_zxid: int | None
    watches: dict[Watch, None] = field(default_factory=dict)


class SessionWatches:
    """Pure. After a reconnection the caller reads and watches each of `data_paths` and `children_paths` again.

    `missed_data` and `missed_children` then return the changes made meanwhile, so that each change is reported exactly
    once.
    """

    def __init__(self) -> None:
        self._data: dict[str, _Watched] = {}
        self._children: dict[str, _Watched] = {}

    @property
    def data_paths(self) -> list[str]:
        return list(self._data)

    @property
    def children_paths(self) -> list[str]:
        return list(self._children)

    def watch_data(self, path: str, watch: Watch, stat: Stat | None) -> None:
        """``stat`` was read together with the watch; None: the node did not exist."""
        self._data.setdefault(path, _Watched(_changed(stat))).watches[watch] = None

    def watch_children(self, path: str, watch: Watch, stat: Stat) -> None:
        self._children.setdefault(path, _Watched(stat.pzxid)).watches[watch] = None

    def take(self, event: WatchEvent) -> list[Watch]:
        """Remove and return the watches that ``event`` fires, each once."""
        told: dict[Watch, None] = {}
        if event.type is not EventType.CHILDREN_CHANGED and (watched := self._data.pop(event.path, None)):
            told |= watched.watches
        if event.type in (EventType.CHILDREN_CHANGED, EventType.DELETED) and (
            watched := self._children.pop(event.path, None)
        ):
            told |= watched.watches
        return list(told)

    def missed_data(self, path: str, stat: Stat | None) -> WatchEvent | None:
        """The event that the watches of a node's data have missed, given its present ``stat``; or None."""
        watched = self._data.get(path)
        if watched is None or watched.seen_zxid == _changed(stat):
            return None
        if watched.seen_zxid is None:
            return WatchEvent(EventType.CREATED, path)
        return WatchEvent(EventType.DELETED if stat is None else EventType.DATA_CHANGED, path)

    def missed_children(self, path: str, stat: Stat | None) -> WatchEvent | None:
        watched = self._children.get(path)
        if watched is None or (stat is not None and watched.seen_zxid == stat.pzxid):
            return None
        return WatchEvent(EventType.DELETED if stat is None else EventType.CHILDREN_CHANGED, path)

    def clear(self) -> None:
        self._data.clear()
        self._children.clear()


def _changed(stat: Stat | None) -> int | None:
    return None if stat is None else stat.mzxid

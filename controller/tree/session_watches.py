"""The watches of a session whose server forgets them with each connection: who is told, and what was missed."""

from dataclasses import dataclass, field

from .metadata_store import EventType, Stat, Watch, WatchEvent

__all__ = ["SessionWatches"]


@dataclass(slots=True)
class _Watched:
    """``seen_zxid``: of the change that the watches' owners know of last; None: the node was not there."""

    seen_zxid: int | None
    watches: dict[Watch, None] = field(default_factory=dict)


class SessionWatches:
    """Pure. After a reconnection each of `data_paths` and `children_paths` is read and watched anew, and `missed_data`
    and `missed_children` say what happened meanwhile: nobody misses a change, and nobody hears of one twice."""

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
        """``stat`` is what was read with the watch; None: there was no node."""
        self._data.setdefault(path, _Watched(_changed(stat))).watches[watch] = None

    def watch_children(self, path: str, watch: Watch, stat: Stat) -> None:
        self._children.setdefault(path, _Watched(stat.pzxid)).watches[watch] = None

    def take(self, event: WatchEvent) -> list[Watch]:
        """Those who are to be told, once each; their watches are used up."""
        told: dict[Watch, None] = {}
        if event.type is not EventType.CHILDREN_CHANGED and (watched := self._data.pop(event.path, None)):
            told |= watched.watches
        if event.type in (EventType.CHILDREN_CHANGED, EventType.DELETED) and (
            watched := self._children.pop(event.path, None)
        ):
            told |= watched.watches
        return list(told)

    def missed_data(self, path: str, stat: Stat | None) -> WatchEvent | None:
        """What those who watch a node's data have missed, when it now has ``stat``."""
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

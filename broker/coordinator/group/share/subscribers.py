"""Counts how many members of a share group subscribe to each topic."""

from collections.abc import Collection, Iterable

__all__ = ["Subscribers"]


class Subscribers:
    """``topics``: those that at least one member names."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    @property
    def topics(self) -> Collection[str]:
        return self._counts.keys()

    def count(self, names: Iterable[str], change: int) -> None:
        """A member comes with these names (1), or goes (-1)."""
        for name in names:
            count = self._counts.get(name, 0) + change
            if count:
                self._counts[name] = count
            else:
                del self._counts[name]

    def topics_after(self, removed: Iterable[str], added: Iterable[str]) -> set[str]:
        """The topics when a member goes and one comes."""
        names = set(self._counts)
        names.difference_update(name for name in removed if self._counts.get(name) == 1)
        names.update(added)
        return names

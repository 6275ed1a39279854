"""The path between one broker and a tree in memory, which tests can cut. It outlives the broker's sessions."""

import threading
from collections.abc import Callable
from enum import Enum

from .memory_tree import MemoryTree

__all__ = ["LinkState", "TreeLink"]


class LinkState(Enum):
    WHOLE = "whole"
    SILENT = "silent"
    """Nothing passes, and nobody notices it at once, as between machines without a network."""
    BROKEN = "broken"
    """Nothing passes, and the broker notices it at once, as when ZooKeeper's process has ended."""


class TreeLink:
    """Its methods may be called from any thread."""

    def __init__(self, tree: MemoryTree) -> None:
        self.tree = tree
        self._lock = threading.Lock()
        self._is_cut = False
        self._is_broken = False
        self._listener: Callable[[LinkState], None] | None = None
        self.session_id = 0
        """The last session over this link; 0: there was none."""

    @property
    def state(self) -> LinkState:
        if self._is_broken:
            return LinkState.BROKEN
        return LinkState.SILENT if self._is_cut else LinkState.WHOLE

    def cut(self) -> None:
        self._change(is_cut=True)

    def heal(self) -> None:
        self._change(is_cut=False)

    def break_off(self) -> None:
        """Break the link until `restore`; `heal` does not end this."""
        self._change(is_broken=True)

    def restore(self) -> None:
        self._change(is_broken=False)

    def follow(self, listener: Callable[[LinkState], None]) -> None:
        """Call ``listener`` now and with each change, from any thread. It replaces the listener before."""
        with self._lock:
            self._listener = listener
            listener(self.state)

    def unfollow(self, listener: Callable[[LinkState], None]) -> None:
        with self._lock:
            if self._listener == listener:
                self._listener = None

    def _change(self, *, is_cut: bool | None = None, is_broken: bool | None = None) -> None:
        with self._lock:
            before = self.state
            self._is_cut = self._is_cut if is_cut is None else is_cut
            self._is_broken = self._is_broken if is_broken is None else is_broken
            if self._listener is not None and self.state is not before:
                self._listener(self.state)

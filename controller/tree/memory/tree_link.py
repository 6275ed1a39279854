"""The path between one broker and a tree in memory, which tests can cut. It outlives the broker's sessions."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
        self._is_held = False
        self._is_broken = False
        self._listener: Callable[[LinkState], None] | None = None

    @property
    def state(self) -> LinkState:
        if self._is_broken:
            return LinkState.BROKEN
        return LinkState.SILENT if self._is_cut or self._is_held else LinkState.WHOLE

    def cut(self) -> None:
        """Let nothing pass until `heal`."""
        with self._changing():
            self._is_cut = True

    def heal(self) -> None:
        with self._changing():
            self._is_cut = False

    def hold(self) -> None:
        """Let nothing pass until `release`, because the other end does nothing."""
        with self._changing():
            self._is_held = True

    def release(self) -> None:
        with self._changing():
            self._is_held = False

    def break_off(self) -> None:
        """Break the link until `restore`, because the other end is gone."""
        with self._changing():
            self._is_broken = True

    def restore(self) -> None:
        """The other end is there again, and not held."""
        with self._changing():
            self._is_broken = self._is_held = False

    def follow(self, listener: Callable[[LinkState], None]) -> None:
        """Call ``listener`` now and with each change, from any thread. It replaces the listener before."""
        with self._lock:
            self._listener = listener
            listener(self.state)

    def unfollow(self, listener: Callable[[LinkState], None]) -> None:
        with self._lock:
            if self._listener == listener:
                self._listener = None

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._lock:
            before = self.state
            yield
            if self._listener is not None and self.state is not before:
                self._listener(self.state)

"""A disk in memory that tracks which bytes and names are synced, and drops others in a simulated crash.

The result of a crash follows `support/logs/power_cut.py`: any part of the unsynced bytes may survive, the last write
of a file may be torn, and names survive in the order of their creation. Everything that survives is synced.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from random import Random

__all__ = ["Disk", "Loss", "Node"]

_SECTOR_BYTES = 512
_SYNC_S = (0.0002, 0.002)
_TOTAL_BYTES = 1 << 40

Change = tuple[int, bytes | None]
"""A change of a file: bytes written at a position, or a new size if there are no bytes."""


class Node:
    """A file or a directory, independent of its name. `names` is None for a file."""

    __slots__ = ("data", "durable", "durable_names", "modified_ms", "names", "pending")

    def __init__(self, *, is_directory: bool) -> None:
        self.names: dict[str, Node] | None = {} if is_directory else None
        self.durable_names: dict[str, Node] = {}
        self.data = bytearray()
        self.durable = bytearray()
        self.pending: list[Change] = []
        self.modified_ms = 0


@dataclass
class _Renaming:
    """An atomic change of names: each step sets `name` in `directory` to `node`, or removes it if `node` is None."""

    steps: tuple[tuple[Node, str, Node | None], ...]

    def apply(self) -> None:
        for directory, name, node in self.steps:
            if node is None:
                directory.durable_names.pop(name, None)
            else:
                directory.durable_names[name] = node


class Loss(Enum):
    """The amount of unsynced data that a crash takes."""

    NOTHING = "nothing"
    """Only the process died: everything written survives."""
    SOME = "some"
    ALL = "all"


@dataclass
class Disk:
    """The disk of one machine. Paths are absolute. `now_ms` is its clock, for file times.

    `is_full`, `failing` (writes and syncs below this path fail with EIO) and `slow_s` (duration of each write and
    sync) may be changed at any time. `spent_s` is the total duration of all operations. `counts` tells how often
    each fault was met: "full", "failed", "slow", "lost", "torn".
    """

    random: Random
    root: Node = field(default_factory=lambda: Node(is_directory=True))
    is_full: bool = False
    failing: str | None = None
    slow_s: float = 0.0
    spent_s: float = 0.0
    now_ms: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    locks: dict[str, None] = field(default_factory=dict)
    _renamings: list[_Renaming] = field(default_factory=list)

    # --- names

    def find(self, path: str) -> Node | None:
        """Raises NotADirectoryError."""
        node = self.root
        for name in path.split("/"):
            if name:
                if node.names is None:
                    raise _error(errno.ENOTDIR, path)
                found = node.names.get(name)
                if found is None:
                    return None
                node = found
        return node

    def get(self, path: str) -> Node:
        """Raises FileNotFoundError, NotADirectoryError."""
        node = self.find(path)
        if node is None:
            raise _error(errno.ENOENT, path)
        return node

    def get_file(self, path: str) -> Node:
        """Raises IsADirectoryError, in addition to the errors of `get`."""
        node = self.get(path)
        if node.names is not None:
            raise _error(errno.EISDIR, path)
        return node

    def place(self, path: str) -> tuple[Node, str]:
        """The parent directory of `path` and the name in it. Raises the errors of `get`."""
        head, _, name = path.rpartition("/")
        directory = self.get(head)
        if directory.names is None:
            raise _error(errno.ENOTDIR, path)
        return directory, name

    def names_of(self, node: Node, path: str) -> dict[str, Node]:
        if node.names is None:
            raise _error(errno.ENOTDIR, path)
        return node.names

    def rename(self, *steps: tuple[Node, str, Node | None]) -> None:
        """Add and remove names atomically."""
        for directory, name, node in steps:
            assert directory.names is not None
            if node is None:
                directory.names.pop(name, None)
            else:
                directory.names[name] = node
        self._renamings.append(_Renaming(steps))

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with its contents."""
        directory, name = self.place(path)
        self.rename((directory, name, None))
        self.sync_names(directory)

    def sync_names(self, directory: Node) -> None:
        left = []
        for renaming in self._renamings:
            if any(step[0] is directory for step in renaming.steps):
                renaming.apply()
            else:
                left.append(renaming)
        self._renamings = left

    # --- bytes

    def write(self, node: Node, position: int, data: bytes) -> None:
        _write(node.data, position, data)
        node.pending.append((position, data))
        node.modified_ms = self.now_ms

    def cut(self, node: Node, size_bytes: int) -> None:
        _cut(node.data, size_bytes)
        node.pending.append((size_bytes, None))
        node.modified_ms = self.now_ms

    def sync_bytes(self, node: Node) -> None:
        _play(node.durable, node.pending)
        node.pending.clear()

    # --- faults

    def before_write(self, path: str, grows_bytes: int) -> None:
        """Raises OSError; a write to a full disk stores nothing."""
        self.spent_s += self.slow_s
        self.counts["slow"] += self.slow_s > 0
        self.before(path)
        if self.is_full and grows_bytes > 0:
            self.counts["full"] += 1
            raise _error(errno.ENOSPC, path)

    def before_sync(self, path: str) -> None:
        self.spent_s += self.random.uniform(*_SYNC_S) + 4 * self.slow_s
        self.counts["slow"] += self.slow_s > 0
        self.before(path)

    def before(self, path: str) -> None:
        if self.failing is not None and path.startswith(self.failing):
            self.counts["failed"] += 1
            raise _error(errno.EIO, path)

    def usable_bytes(self) -> int:
        return 0 if self.is_full else _TOTAL_BYTES // 2

    # --- crashes

    def crash(self, loss: Loss) -> dict[str, int]:
        """Drop everything that exists only in memory.

        Returns the paths of files that lost bytes or their name, with the number of leading bytes that are
        unchanged.
        """
        before = dict(self._files(self.root, ""))
        if loss is not Loss.NOTHING:
            self._lose_names(loss)
        for renaming in self._renamings:
            renaming.apply()
        self._renamings.clear()
        self.locks.clear()
        lost: dict[int, int] = {}
        for node in before.values():
            if self._lose_bytes(node, loss):
                lost[id(node)] = _common_bytes(node.durable, node.data)
        self._restart(self.root)
        after = {id(node) for node in dict(self._files(self.root, "")).values()}
        lost |= {id(node): 0 for node in before.values() if id(node) not in after}
        kept = {path: lost[id(node)] for path, node in before.items() if id(node) in lost}
        self.counts["lost"] += len(kept)
        return kept

    def _lose_names(self, loss: Loss) -> None:
        kept = 0 if loss is Loss.ALL else self.random.randint(0, len(self._renamings))
        del self._renamings[kept:]

    def _lose_bytes(self, node: Node, loss: Loss) -> bool:
        """Returns whether anything was lost."""
        pending = node.pending
        if loss is Loss.ALL:
            kept: list[Change] = []
        elif loss is Loss.SOME:
            kept = self._some(pending)
        else:
            kept = pending
        is_lost = kept != pending
        _play(node.durable, kept)
        node.pending = []
        return is_lost and node.durable != node.data

    def _some(self, pending: list[Change]) -> list[Change]:
        if not pending:
            return pending
        choice = self.random.randrange(4)
        if choice == 0:
            return pending
        if choice == 1:  # a prefix of the changes, as a disk leaves that writes in order
            kept = pending[: self.random.randint(0, len(pending))]
        else:
            kept = [change for change in pending if self.random.random() < 0.7]
        if kept and self.random.random() < 0.5:
            position, data = kept[-1]
            if data is not None and len(data) > 1:
                self.counts["torn"] += 1
                kept = [*kept[:-1], (position, self._torn(data))]
        return kept

    def _torn(self, data: bytes) -> bytes:
        end = self.random.randrange(1, len(data))
        if len(data) > _SECTOR_BYTES and self.random.random() < 0.5:
            end -= end % _SECTOR_BYTES
        return data[:end] + bytes(len(data) - end) if self.random.random() < 0.5 else data[:end]

    def _restart(self, node: Node) -> None:
        """Keep only the synced bytes and names."""
        if node.names is None:
            node.data = bytearray(node.durable)
            return
        node.names = dict(node.durable_names)
        for child in node.names.values():
            self._restart(child)

    def _files(self, node: Node, path: str) -> list[tuple[str, Node]]:
        if node.names is None:
            return [(path, node)]
        return [pair for name, child in node.names.items() for pair in self._files(child, f"{path}/{name}")]


def _write(target: bytearray, position: int, data: bytes) -> None:
    missing = position - len(target)
    if missing > 0:
        target.extend(bytes(missing))
    target[position : position + len(data)] = data


def _cut(target: bytearray, size_bytes: int) -> None:
    if size_bytes < len(target):
        del target[size_bytes:]
    else:
        target.extend(bytes(size_bytes - len(target)))


def _common_bytes(one: bytearray, other: bytearray) -> int:
    """The number of equal leading bytes."""
    shorter = min(len(one), len(other))
    if one[:shorter] == other[:shorter]:
        return shorter
    return next(index for index in range(shorter) if one[index] != other[index])


def _play(target: bytearray, changes: list[Change]) -> None:
    for position, data in changes:
        if data is None:
            _cut(target, position)
        else:
            _write(target, position, data)


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)

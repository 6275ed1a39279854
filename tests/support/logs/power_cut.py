"""Models the states of a disk that a power cut may leave of a history of file operations.

The model is what ext4 and XFS promise. Bytes and sizes of a file are durable when the file was synced, names when their
directory was; what was not synced may be there or not, a write in part. A rename is there or not, never half.
Names are lost in order: both file systems keep a journal of them, in which nothing is ahead of what came before; what
lies in another directory below the root is another disk, with a journal of its own. `names_in_order=False` is a file
system that keeps no order: until a directory is synced, each change of a name in it is there or not by itself.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from .disk_history import ROOT, Create, Cut, Delete, DiskHistory, Operation, Rename, Sync, Write

PAGE_BYTES = 512
"""The unit in which a write may be torn: a sector, the strictest."""
MOST_PAGES_TORN = 4
"""The number of pages of a large write at whose ends it is torn."""

Tree = dict[str, bytes | None]
"""Paths below the root; None is a directory."""


class Remains(NamedTuple):
    """One state after a power cut; `what` tells which writes were lost."""

    what: str
    tree: Tree


def is_of_names(operation: Operation) -> bool:
    return isinstance(operation, Create | Delete | Rename)


class Disk:
    """The durable and the pending state at a point of a history."""

    def __init__(self, directories: set[int]) -> None:
        self._directories = directories
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {ROOT: {}}
        self.pending: list[Operation] = []

    def apply(self, operation: Operation) -> None:
        if not isinstance(operation, Sync):
            self.pending.append(operation)
            return
        synced = [other for other in self.pending if self._is_synced_with(operation.node, other)]
        self.pending = [other for other in self.pending if not self._is_synced_with(operation.node, other)]
        _play(synced, self._contents, self._names, self._directories)

    def _is_synced_with(self, node: int, operation: Operation) -> bool:
        if isinstance(operation, Write | Cut):
            return operation.node == node
        return not isinstance(operation, Sync) and operation.directory == node

    def after(self, kept: Sequence[Operation]) -> Tree:
        """All durable data, and of the pending data only `kept`."""
        contents = dict(self._contents)
        names = {directory: dict(entries) for directory, entries in self._names.items()}
        _play(kept, contents, names, self._directories)
        tree: Tree = {}
        _walk(ROOT, "", tree, contents, names, self._directories)
        return tree


def _play(
    operations: Sequence[Operation],
    contents: dict[int, bytes],
    names: dict[int, dict[str, int]],
    directories: set[int],
) -> None:
    for operation in operations:
        match operation:
            case Write(node, position, data):
                old = contents.get(node, b"")
                contents[node] = old[:position].ljust(position, b"\0") + data + old[position + len(data) :]
            case Cut(node, size_bytes):
                contents[node] = contents.get(node, b"")[:size_bytes].ljust(size_bytes, b"\0")
            case Create(directory, name, node):
                names.setdefault(directory, {})[name] = node
                if node in directories:
                    names.setdefault(node, {})
            case Delete(directory, name, node):
                if names.get(directory, {}).get(name) == node:
                    del names[directory][name]
            case Rename(directory, name, new_directory, new_name, node):
                if names.get(directory, {}).get(name) == node:
                    del names[directory][name]
                names.setdefault(new_directory, {})[new_name] = node
            case Sync():
                pass


def _walk(
    directory: int,
    prefix: str,
    tree: Tree,
    contents: dict[int, bytes],
    names: dict[int, dict[str, int]],
    directories: set[int],
) -> None:
    for name, node in names.get(directory, {}).items():
        if node in directories:
            tree[prefix + name] = None
            _walk(node, f"{prefix}{name}/", tree, contents, names, directories)
        else:
            tree[prefix + name] = contents.get(node, b"")


def torn(write: Write) -> Iterator[Write]:
    """The bytes a write may leave when power is cut during it."""
    size = len(write.data)
    step = PAGE_BYTES * -(-size // (PAGE_BYTES * MOST_PAGES_TORN))
    for end in sorted({1, size // 2, size - 1} | set(range(step, size, step))):
        if 0 < end < size:
            yield Write(write.node, write.position, write.data[:end])
            yield Write(write.node, write.position, write.data[:end] + bytes(size - end))
            yield Write(write.node, write.position, bytes(end) + write.data[end:])
    yield Write(write.node, write.position, bytes(size))


def _disks_of(operations: Sequence[Operation]) -> dict[int, int]:
    """The disk of each node: its ancestor directly below the root at creation."""
    disks = {ROOT: ROOT}
    for operation in operations:
        if isinstance(operation, Create):
            disks[operation.node] = operation.node if operation.directory == ROOT else disks[operation.directory]
    return disks


class PowerCut:
    """All the states of a history, point by point. `singles` says at which points each operation is lost alone.

    At each `step`th point there are `samples` of other combinations, and `unordered_samples` in which names keep no
    order. Of the parts that a torn write may leave, `torn_samples` are taken; None: all.
    """

    def __init__(
        self,
        history: DiskHistory,
        *,
        seed: int,
        samples: int,
        singles: Callable[[int, Operation], bool],
        names_in_order: bool = True,
        unordered_samples: int = 0,
        torn_samples: int | None = None,
        step: int = 1,
    ) -> None:
        self._operations = list(history.operations)
        self._directories = history.directories()
        self._disks = _disks_of(self._operations)
        self._samples = samples
        self._singles = singles
        self._names_in_order = names_in_order
        self._unordered_samples = unordered_samples
        self._torn_samples = torn_samples
        self._step = step
        self._random = random.Random(seed)

    def states(self) -> Iterator[tuple[int, Remains]]:
        """Yields (number of operations so far, the remaining state)."""
        disk = Disk(self._directories)
        for point, operation in enumerate(self._operations):
            if self._singles(point, operation):
                yield from ((point, remains) for remains in self._single_losses(disk))
            disk.apply(operation)
            if point % self._step == 0:
                yield from ((point + 1, remains) for remains in self._usual_states(disk, operation))
        yield from ((len(self._operations), remains) for remains in self._single_losses(disk))

    def _usual_states(self, disk: Disk, last: Operation) -> Iterator[Remains]:
        pending = disk.pending
        yield Remains("all of it", disk.after(pending))
        yield from self._losses_by_disk(disk)
        yield Remains("nothing unsynced", disk.after([]))
        yield Remains("no names", disk.after([other for other in pending if not is_of_names(other)]))
        yield Remains("no renames", disk.after(self._without_renames(pending)))
        yield Remains("names alone", disk.after([other for other in pending if is_of_names(other)]))
        if isinstance(last, Write):
            for part in self._torn(last):
                yield Remains("the last write torn", disk.after([*pending[:-1], part]))
        for number in range(self._samples):
            yield Remains(f"sample {number}", disk.after(self._some(pending, names_in_order=self._names_in_order)))
        for number in range(self._unordered_samples):
            yield Remains(f"unordered sample {number}", disk.after(self._some(pending, names_in_order=False)))

    def _torn(self, write: Write) -> list[Write]:
        parts = list(torn(write))
        return parts if self._torn_samples is None else self._random.sample(parts, min(self._torn_samples, len(parts)))

    def _losses_by_disk(self, disk: Disk) -> Iterator[Remains]:
        """One of several disks has written everything, the others none of their unsynced data."""
        by_disk = self._by_disk(disk.pending)
        if len(by_disk) > 1:
            for node, kept in by_disk.items():
                yield Remains(f"all on disk {node}, nothing unsynced elsewhere", disk.after(kept))

    def _by_disk(self, operations: Sequence[Operation]) -> dict[int, list[Operation]]:
        found: dict[int, list[Operation]] = {}
        for operation in operations:
            found.setdefault(self._disk(operation), []).append(operation)
        return found

    def _disk(self, operation: Operation) -> int:
        node = operation.directory if isinstance(operation, Create | Delete | Rename) else operation.node
        return self._disks[node]

    def _single_losses(self, disk: Disk) -> Iterator[Remains]:
        pending = disk.pending
        for number, lost in enumerate(pending):
            rest = pending[number + 1 :]
            if is_of_names(lost) and self._names_in_order:
                rest = [other for other in rest if not (is_of_names(other) and self._disk(other) == self._disk(lost))]
            yield Remains(f"all but {lost}", disk.after([*pending[:number], *rest]))
            if isinstance(lost, Write):
                zeros = Write(lost.node, lost.position, bytes(len(lost.data)))
                yield Remains(f"zeros for {lost}", disk.after([*pending[:number], zeros, *rest]))

    def _without_renames(self, pending: Sequence[Operation]) -> list[Operation]:
        if not self._names_in_order:
            return [other for other in pending if not isinstance(other, Rename)]
        kept: list[Operation] = []
        cut: set[int] = set()
        for other in pending:
            if isinstance(other, Rename):
                cut.add(self._disk(other))
            if not (is_of_names(other) and self._disk(other) in cut):
                kept.append(other)
        return kept

    def _some(self, pending: Sequence[Operation], *, names_in_order: bool) -> list[Operation]:
        chance = self._random.choice((0.2, 0.5, 0.8, 0.95))
        kept: list[Operation] = []
        lost_names: set[int] = set()
        for names in self._by_disk([other for other in pending if is_of_names(other)]).values():
            lost_names |= {id(other) for other in names[self._random.randint(0, len(names)) :]}
        for operation in pending:
            if is_of_names(operation) and names_in_order:
                if id(operation) not in lost_names:
                    kept.append(operation)
            elif self._random.random() < chance:
                is_torn = isinstance(operation, Write) and self._random.random() < 0.2
                kept.append(self._random.choice(list(torn(operation))) if is_torn else operation)  # type: ignore[arg-type]
        return kept


def lay_out(tree: Tree, root: str) -> None:
    """Create the files in `root`."""
    for path, content in tree.items():
        target = os.path.join(root, path)
        if content is None:
            os.mkdir(target)
        else:
            with open(target, "wb") as stream:
                stream.write(content)

"""Disks that fail or are full from the n-th operation on; a `DiskHistory` asks them before each operation."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .disk_history import Create, DiskHistory, Operation, Rename, Write


class FailingDisk:
    """Makes a disk fail from its n-th operation on, counted from when it is armed. `whose` is the disk, once it has
    failed.
    """

    def __init__(self, history: DiskHistory, number: int, *, for_good: bool) -> None:
        self._history = history
        self._number = number
        self._for_good = for_good
        self.whose: str | None = None
        self.asked_afterwards: list[Operation] = []

    def __call__(self, operation: Operation) -> int | None:
        self._number -= 1
        disk = self._history.disk_of(operation)
        if self._number == -1:
            self.whose = disk
            return errno.EIO
        if self.whose == disk:
            self.asked_afterwards.append(operation)
            return errno.EIO if self._for_good else None
        return None


def needs_space(operation: Operation) -> bool:
    """Whether an operation needs space. A longer name does, if a directory's block is full."""
    if isinstance(operation, Rename):
        return len(operation.new_name) > len(operation.name)
    return isinstance(operation, Write | Create)


def changes(operation: Operation) -> bool:
    """Whether an operation may need space on a file system that writes the new name before it removes the old one."""
    return isinstance(operation, Write | Create | Rename)


def is_any(operation: Operation) -> bool:
    return True


class FullDisk:
    """Fills all disks from the n-th operation on until it is lifted. Only operations selected by `counts` are
    counted and fail.
    """

    def __init__(self, number: int, counts: Callable[[Operation], bool] = needs_space) -> None:
        self._number = number
        self._counts = counts
        self.is_lifted = False
        self.hits = 0

    def __call__(self, operation: Operation) -> int | None:
        if not self._counts(operation):
            return None
        self._number -= 1
        if self._number < 0 and not self.is_lifted:
            self.hits += 1
            return errno.ENOSPC
        return None


class OneFullMoment:
    """Only the n-th operation fails for lack of space, whatever it is."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.hit: Operation | None = None

    def __call__(self, operation: Operation) -> int | None:
        self._number -= 1
        if self._number != -1:
            return None
        self.hit = operation
        return errno.ENOSPC


@contextmanager
def noting(note: str) -> Iterator[None]:
    """Adds the note to an exception of the block, for a test that repeats the block with many faults."""
    try:
        yield
    except Exception as failure:
        failure.add_note(note)
        raise

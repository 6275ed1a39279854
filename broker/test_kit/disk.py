"""A disk that a test makes full, slow or broken.

**How.** Log files are opened anew when the trouble begins or ends, so that a disk without trouble has plain files.
"""

import errno
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...base.buffer import Buffer
from ...storage.files.files import File, Files
from ..faults.words import WordError, unknown_word, whole_number

__all__ = ["Disk", "TroubledFiles"]

MAX_SLOW_MS = 60_000


class Disk:
    """The trouble of a broker's disks, or of one log directory. Every method may be called on any thread.

    One trouble replaces the other. Files that are open for a step stay as they are until the step ends. A ``directory``
    that is none of the broker's ``log.dirs`` raises ValueError.
    """

    def __init__(self) -> None:
        self._files: TroubledFiles | None = None
        self._lock = threading.Lock()
        self._trouble = _Trouble()
        self.changed: Callable[[], None] = _nothing
        """Told when a trouble begins or ends."""
        self.directories: Callable[[], Sequence[str]] = _not_known
        """Returns the log directories of the broker; none before its first start, when every directory is taken."""

    @property
    def has_trouble(self) -> bool:
        return self._trouble.fault is not None or self.is_slow

    @property
    def is_slow(self) -> bool:
        return self._trouble.slow_s > 0

    def full(self, directory: str | Path | None = None) -> None:
        """Have every write fail for lack of space, until `heal`. ``directory``: the only log directory in trouble."""
        self._set(_Trouble(errno.ENOSPC, directory=self._log_directory(directory)))

    def fail(self, directory: str | Path | None = None) -> None:
        """Have every read and write fail. The broker gives the log directory up, as Kafka does, and when it was the
        last one, it ends; `heal` and a start bring it back. Records that are sent from the page cache are still read.
        """
        self._set(_Trouble(errno.EIO, fails_reads=True, directory=self._log_directory(directory)))

    def slow(self, ms: int, directory: str | Path | None = None) -> None:
        """Have every read, write and sync take ``ms`` longer, until `heal`, which also ends the waits under way."""
        whole_number(ms, "ms", 0, MAX_SLOW_MS)
        self._set(_Trouble(slow_s=ms / 1000, directory=self._log_directory(directory)))

    def heal(self) -> None:
        """End the trouble."""
        self._set(_Trouble())

    def follow(self, files: "TroubledFiles") -> None:
        self._files = files

    def before_write(self, path: str) -> None:
        """Wait as long as a slow disk does. Raises OSError when writes fail."""
        self._trouble.wait(path)
        self._trouble.check(path)

    def before_read(self, path: str) -> None:
        """Wait as long as a slow disk does. Raises OSError when reads fail."""
        trouble = self._trouble
        trouble.wait(path)
        if trouble.fails_reads:
            trouble.check(path)

    def _log_directory(self, given: Any) -> str | None:
        """The name in ``log.dirs`` of a directory, which may also be another path to it. Raises ValueError."""
        if given is None:
            return None
        if not isinstance(given, str | Path):
            raise WordError("directory", "a path", given)
        name, known = os.fspath(given), self.directories()
        if not known:
            return name
        with suppress(ValueError, OSError):  # no path can have a zero byte
            for each in known:
                if os.path.realpath(each) == os.path.realpath(name):
                    return each
        raise ValueError(unknown_word("log directory", name, known))

    def _set(self, trouble: "_Trouble") -> None:
        with self._lock:
            before, self._trouble = self._trouble, trouble
            if self._files is not None:
                self._files.drop_descriptors()
        before.is_over.set()
        self.changed()


class _Trouble:
    """``fault``: the errno of writes, or None. ``directory``: the only one in trouble, or None."""

    def __init__(
        self, fault: int | None = None, *, fails_reads: bool = False, slow_s: float = 0.0, directory: str | None = None
    ) -> None:
        self.fault = fault
        self.fails_reads = fails_reads
        self.slow_s = slow_s
        self.is_over = threading.Event()
        self._directory = None if directory is None else os.path.abspath(directory)

    def wait(self, path: str) -> None:
        if self.slow_s and self._is_at(path):
            self.is_over.wait(self.slow_s)

    def check(self, path: str) -> None:
        if self.fault is not None and self._is_at(path):
            raise OSError(self.fault, os.strerror(self.fault), path)

    def _is_at(self, path: str) -> bool:
        return self._directory is None or os.path.abspath(path).startswith(self._directory + os.sep)


def _nothing() -> None:
    """Nobody needs to know."""


def _not_known() -> Sequence[str]:
    return ()


class TroubledFiles(Files):
    """The file system with the trouble of a `Disk`. Without ``is_durable`` nothing waits for the disk."""

    def __init__(self, max_open_files: int, disk: Disk, *, is_durable: bool = True) -> None:
        super().__init__(max_open_files)
        self._disk = disk
        self.is_durable = is_durable
        disk.follow(self)

    def open(self, path: str, *, create: bool = False) -> File:
        if not self._disk.has_trouble:
            file = super().open(path, create=create)
            return file if self.is_durable else self._known(UnsyncedFile(file.release()))
        if create and not self.exists(path):
            self._disk.before_write(path)
        fd = super().open(path, create=create).release()
        return self._known(TroubledFile(fd, self._disk, path, is_durable=self.is_durable))

    def _known(self, file: File) -> File:
        """The file, which `close_all` closes from now on."""
        with self._lock:
            self._open_files.add(file)
        return file

    def write_bytes(self, path: str, data: Buffer, *, sync: bool = True) -> None:
        self._disk.before_write(path)
        super().write_bytes(path, data, sync=sync and self.is_durable)

    def sync_directory(self, path: str) -> None:
        if self.is_durable:
            super().sync_directory(path)

    def create_empty(self, path: str) -> None:
        self._disk.before_write(path)
        super().create_empty(path)


class UnsyncedFile(File):
    """An open file whose data ends with this program, so that a sync need not wait for the disk."""

    __slots__ = ()

    def sync(self) -> None:
        """Do nothing: the page cache keeps the data for this program."""


class TroubledFile(File):
    """An open file on a disk with trouble."""

    __slots__ = ("_disk", "_is_durable", "_path")

    def __init__(self, fd: int, disk: Disk, path: str, *, is_durable: bool) -> None:
        super().__init__(fd)
        self._disk = disk
        self._path = path
        self._is_durable = is_durable

    def read_at(self, position: int, size_bytes: int) -> bytes:
        self._disk.before_read(self._path)
        return super().read_at(position, size_bytes)

    def write_at(self, position: int, data: Buffer) -> None:
        self._disk.before_write(self._path)
        super().write_at(position, data)

    def write_vector_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        self._disk.before_write(self._path)
        super().write_vector_at(position, buffers)

    def sync(self) -> None:
        self._disk.before_write(self._path)
        if self._is_durable:
            super().sync()

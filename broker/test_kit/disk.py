"""A disk that a test makes full, slow or broken.

**How.** Log files are opened anew when the trouble begins or ends, so that a disk without trouble has plain files.
"""

import errno
import os
import threading
import time
from collections.abc import Sequence

from ...base.buffer import Buffer
from ...storage.files.files import File, Files

__all__ = ["Disk", "TroubledFiles"]

MAX_SLOW_MS = 60_000


class Disk:
    """The trouble of a broker's disks. Every method may be called on any thread.

    Files that are open for a step stay as they are until the step ends.
    """

    def __init__(self) -> None:
        self._files: TroubledFiles | None = None
        self._lock = threading.Lock()
        self.fault: int | None = None
        """The errno of writes, or None."""
        self.fails_reads = False
        self.slow_s = 0.0

    @property
    def has_trouble(self) -> bool:
        return self.fault is not None or self.slow_s > 0

    def full(self) -> None:
        """Have every write fail for lack of space, until `heal`."""
        self._set(errno.ENOSPC, 0)

    def fail(self) -> None:
        """Have every read and write fail, until `heal`. The broker gives the log directory up. Records that are sent
        from the page cache are still read."""
        self._set(errno.EIO, 0, fails_reads=True)

    def slow(self, ms: int) -> None:
        """Have every read, write and sync take ``ms`` longer, until `heal`."""
        if isinstance(ms, bool) or not isinstance(ms, int) or not 0 <= ms <= MAX_SLOW_MS:
            raise ValueError(f"ms is a whole number from 0 to {MAX_SLOW_MS}, not {ms!r}")
        self._set(None, ms)

    def heal(self) -> None:
        """End the trouble."""
        self._set(None, 0)

    def follow(self, files: "TroubledFiles") -> None:
        self._files = files

    def before_write(self, path: str) -> None:
        self._wait()
        if self.fault is not None:
            raise OSError(self.fault, os.strerror(self.fault), path)

    def before_read(self, path: str) -> None:
        self._wait()
        if self.fails_reads and self.fault is not None:
            raise OSError(self.fault, os.strerror(self.fault), path)

    def _wait(self) -> None:
        if self.slow_s:
            time.sleep(self.slow_s)

    def _set(self, fault: int | None, slow_ms: int, *, fails_reads: bool = False) -> None:
        with self._lock:
            self.fault, self.fails_reads, self.slow_s = fault, fails_reads, slow_ms / 1000
            if self._files is not None:
                self._files.drop_descriptors()


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

"""A file system that fails on demand."""

import errno
import gc
import os
import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from pybroker.base.buffer import Buffer
from pybroker.storage.files.directory_listing import Entry
from pybroker.storage.files.files import File, Files


class FaultyFiles(Files):
    """Real files whose writes, syncs and truncations fail while `fault` is set.

    `fault` is an errno; `torn_bytes` of a failing write get to the file; only paths with one of `suffixes` fail.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fault: int | None = None
        self.torn_bytes = 0
        self.suffixes: tuple[str, ...] = ("",)
        self.operations: tuple[str, ...] = ("write", "sync", "truncate", "rename", "create")

    def fails(self, operation: str, path: str) -> bool:
        return self.fault is not None and operation in self.operations and path.endswith(self.suffixes)

    def check(self, operation: str, path: str) -> None:
        if self.fails(operation, path):
            assert self.fault is not None
            raise OSError(self.fault, errno.errorcode[self.fault], path)

    def open(self, path: str, *, create: bool = False) -> File:
        file = super().open(path, create=create)
        return FaultyFile(file.release(), self, path)

    def write_bytes(self, path: str, data: Buffer, *, sync: bool = True) -> None:
        self.check("write", path)
        super().write_bytes(path, data, sync=sync)

    def create_empty(self, path: str) -> None:
        self.check("create", path)
        super().create_empty(path)

    def rename(self, old_path: str, new_path: str) -> None:
        self.check("rename", old_path)
        super().rename(old_path, new_path)


class UnreadableFiles(Files):
    """Real files whose `number`-th read from now on fails with EIO, and all later reads on the same disk.

    `disk_of` returns the disk of a path. `reads` counts the reads.
    """

    def __init__(self, disk_of: Callable[[str], str]) -> None:
        super().__init__()
        self._disk_of = disk_of
        self.number: int | None = None
        self.reads = 0
        self.failed_disk: str | None = None

    def read(self, path: str) -> None:
        self.reads += 1
        disk = self._disk_of(path)
        if self.number is not None:
            if self.number == 0 and self.failed_disk is None:
                self.failed_disk = disk
            self.number -= 1
        if disk == self.failed_disk:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    def open(self, path: str, *, create: bool = False) -> File:
        return UnreadableFile(super().open(path, create=create).release(), self, path)

    def read_bytes(self, path: str) -> bytes:
        if self.exists(path):
            self.read(path)
        return super().read_bytes(path)

    def list_directory(self, path: str) -> list[Entry]:
        self.read(path)
        return super().list_directory(path)


class UnreadableFile(File):
    __slots__ = ("_files", "_path")

    def __init__(self, fd: int, files: UnreadableFiles, path: str) -> None:
        super().__init__(fd)
        self._files = files
        self._path = path

    def read_at(self, position: int, size_bytes: int) -> bytes:
        self._files.read(self._path)
        return super().read_at(position, size_bytes)

    def read_cached_at(self, position: int, size_bytes: int) -> bytes | bytearray:
        self._files.read(self._path)
        return super().read_cached_at(position, size_bytes)


class FaultyFile(File):
    __slots__ = ("_files", "_path")

    def __init__(self, fd: int, files: FaultyFiles, path: str) -> None:
        super().__init__(fd)
        self._files = files
        self._path = path

    def write_at(self, position: int, data: Buffer) -> None:
        if self._files.fails("write", self._path):
            super().write_at(position, memoryview(data)[: self._files.torn_bytes])
        self._files.check("write", self._path)
        super().write_at(position, data)

    def write_vector_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        if self._files.fails("write", self._path):
            super().write_at(position, memoryview(b"".join(buffers))[: self._files.torn_bytes])
        self._files.check("write", self._path)
        super().write_vector_at(position, buffers)

    def sync(self) -> None:
        self._files.check("sync", self._path)
        super().sync()

    def truncate(self, size_bytes: int) -> None:
        self._files.check("truncate", self._path)
        super().truncate(size_bytes)


@contextmanager
def no_more_descriptors() -> Iterator[None]:
    """Let this process open a file only after it has closed another."""
    gc.collect()  # files that earlier tests left open must not be closed meanwhile
    gc.disable()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = max(map(int, os.listdir("/dev/fd"))) + 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    taken: list[int] = []
    try:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        gc.enable()

"""Implements `storage.files` on a `Disk` in memory: the same calls and errors, plus the disk's faults.

One `SimulatedFiles` is the file system of one run of a broker. After a crash the next run gets a new one on the same
disk, and the old one refuses all calls.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence

from pybroker.base.buffer import Buffer
from pybroker.storage.files.directory_listing import Entry
from pybroker.storage.files.files import DirectoryLock, DirectoryLockedError, DiskSpace, File, Files
from pybroker.storage.files.path_kind import PathKind
from simulation.machines.disk import Disk, Node

__all__ = ["SimulatedFile", "SimulatedFiles"]

_OPEN_REFS = 1 << 20


class SimulatedFile(File):
    """An open file, which stays readable after its name is removed."""

    __slots__ = ("_disk", "_node", "_path", "_writable")

    def __init__(self, disk: Disk, node: Node, path: str, *, writable: bool) -> None:
        super().__init__(-1)
        self._disk = disk
        self._node: Node | None = node
        self._path = path
        self._writable = writable

    def _open_node(self, *, to_write: bool = False) -> Node:
        if self._node is None or (to_write and not self._writable):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self._path)
        return self._node

    def fileno(self) -> int:
        """A number for messages only; there is no descriptor."""
        return -1

    def size(self) -> int:
        return len(self._open_node().data)

    def read_at(self, position: int, size_bytes: int) -> bytes:
        return bytes(memoryview(self._open_node().data)[position : position + size_bytes])

    def read_cached_at(self, position: int, size_bytes: int) -> bytes:
        return self.read_at(position, size_bytes)

    def write_at(self, position: int, data: Buffer) -> None:
        node = self._open_node(to_write=True)
        self._disk.before_write(self._path, position + len(data) - len(node.data))
        self._disk.write(node, position, bytes(data))

    def write_vector_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        self.write_at(position, b"".join(buffers))

    def truncate(self, size_bytes: int) -> None:
        node = self._open_node(to_write=True)
        self._disk.before_write(self._path, 0)
        self._disk.cut(node, size_bytes)

    def sync(self) -> None:
        node = self._open_node()
        self._disk.before_sync(self._path)
        self._disk.sync_bytes(node)

    def close(self) -> None:
        self._node = None

    def release(self) -> int:
        raise NotImplementedError("there is no descriptor to give away")

    def __del__(self) -> None:
        """Does nothing, because no descriptor is open."""


class SimulatedFiles(Files):
    """The file system of one run of a broker."""

    def __init__(self, disk: Disk, clock_ms: Callable[[], int] = lambda: 0) -> None:
        super().__init__(_OPEN_REFS)
        self.disk = disk
        self.clock_ms = clock_ms
        self._ended_ms: int | None = None

    def end(self) -> None:
        """The machine crashed: all further calls fail."""
        self._ended_ms = self.clock_ms()

    def _disk(self) -> Disk:
        if self._ended_ms is not None:
            # The call in which it crashed goes on to its end, at the same time of the clock.
            assert self._ended_ms == self.clock_ms(), "a broker that crashed goes on with its files"
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self.disk

    # --- open files

    def open(self, path: str, *, create: bool = False) -> File:
        disk = self._disk()
        node = disk.find(path)
        if node is None and create:
            node = self._make_file(path)
        if node is None or node.names is not None:
            node = disk.get_file(path)
        return self._opened(node, path, writable=True)

    def open_to_read(self, path: str) -> File:
        return self._opened(self._disk().get_file(path), path, writable=False)

    def _opened(self, node: Node, path: str, *, writable: bool) -> File:
        file = SimulatedFile(self.disk, node, path, writable=writable)
        self._open_files.add(file)
        return file

    def _make_file(self, path: str) -> Node:
        disk = self._disk()
        directory, name = disk.place(path)
        disk.before_write(path, 1)
        node = Node(is_directory=False)
        node.modified_ms = disk.now_ms
        disk.rename((directory, name, node))
        return node

    def _emptied(self, path: str) -> Node:
        disk = self._disk()
        node = disk.find(path)
        if node is None:
            return self._make_file(path)
        node = disk.get_file(path)
        disk.before_write(path, 0)
        disk.cut(node, 0)
        return node

    def _descriptor(self, path: str, flags: int) -> int:
        raise NotImplementedError(f"there are no descriptors here: {path}")

    # --- whole files

    def read_bytes(self, path: str) -> bytes:
        return bytes(self._disk().get_file(path).data)

    def write_bytes(self, path: str, data: Buffer, *, sync: bool = True) -> None:
        disk = self._disk()
        node = self._emptied(path)
        disk.before_write(path, len(data))
        disk.write(node, 0, bytes(data))
        if sync:
            disk.before_sync(path)
            disk.sync_bytes(node)

    def create_empty(self, path: str) -> None:
        self._emptied(path)

    def preallocate(self, path: str, size_bytes: int) -> None:
        disk = self._disk()
        node = disk.get_file(path)
        if size_bytes > len(node.data):
            disk.before_write(path, size_bytes - len(node.data))
            disk.cut(node, size_bytes)

    def truncate(self, path: str, size_bytes: int) -> None:
        disk = self._disk()
        node = disk.get_file(path)
        disk.before_write(path, 0)
        disk.cut(node, size_bytes)

    # --- names

    def exists(self, path: str) -> bool:
        try:
            return self._disk().find(path) is not None
        except NotADirectoryError:
            return False

    def kind_of(self, path: str) -> PathKind:
        node = self._disk().find(path)
        if node is None:
            return PathKind.MISSING
        return PathKind.FILE if node.names is None else PathKind.DIRECTORY

    def modified_ms(self, path: str) -> int:
        return self._disk().get(path).modified_ms

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        self._disk().get(path).modified_ms = modified_ms

    def list_directory(self, path: str) -> list[Entry]:
        disk = self._disk()
        disk.before(path)
        names = disk.names_of(disk.get(path), path)
        return sorted(
            Entry(name, node.names is not None, 0 if node.names is not None else len(node.data))
            for name, node in names.items()
        )

    def make_directory(self, path: str) -> None:
        disk = self._disk()
        found = disk.find(path)
        if found is not None:
            disk.names_of(found, path)
            return
        parent = os.path.dirname(path)
        self.make_directory(parent)
        directory, name = disk.place(path)
        disk.before_write(path, 1)
        disk.rename((directory, name, Node(is_directory=True)))
        self.sync_directory(parent)

    def rename(self, old_path: str, new_path: str) -> None:
        disk = self._disk()
        node = disk.get(old_path)
        old, new = disk.place(old_path), disk.place(new_path)
        there = disk.find(new_path)
        if there is node:
            return
        if there is not None:
            if node.names is None and there.names is not None:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), new_path)
            if node.names is not None and there.names is None:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), new_path)
            if there.names:
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), new_path)
        disk.before_write(new_path, 0)
        disk.rename((*old, None), (*new, node))

    def delete(self, path: str) -> bool:
        disk = self._disk()
        if disk.find(path) is None:
            return False
        disk.get_file(path)
        disk.before_write(path, 0)
        disk.rename((*disk.place(path), None))
        return True

    def delete_tree(self, path: str) -> None:
        disk = self._disk()
        node = disk.find(path)
        if node is None:
            return
        for name, child in sorted(disk.names_of(node, path).items()):
            if child.names is None:
                self.delete(f"{path}/{name}")
            else:
                self.delete_tree(f"{path}/{name}")
        disk.before_write(path, 0)
        disk.rename((*disk.place(path), None))

    def sync_directory(self, path: str) -> None:
        disk = self._disk()
        node = disk.get(path)
        disk.before_sync(path)
        disk.sync_names(node)

    def disk_space(self, path: str) -> DiskSpace:
        disk = self._disk()
        disk.get(path)
        return DiskSpace(1 << 40, disk.usable_bytes())

    def lock_directory(self, path: str) -> DirectoryLock:
        disk = self._disk()
        lock_path = os.path.join(path, ".lock")
        if lock_path in disk.locks:
            raise DirectoryLockedError(f"log directory {path} is in use by another broker (it holds {lock_path})")
        file = self.open(lock_path, create=True)
        disk.locks[lock_path] = None
        return _Lock(lock_path, file, disk)


class _Lock(DirectoryLock):
    def __init__(self, path: str, file: File, disk: Disk) -> None:
        super().__init__(path, file, set())
        self._lock_path = path
        self._locks = disk.locks

    def release(self) -> None:
        self._locks.pop(self._lock_path, None)
        super().release()

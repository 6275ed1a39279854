"""Records each call of a run to the file system, with its bytes, and can make calls fail.

Files and directories are numbered nodes, so that a name may be given and taken while the node goes on: the root is 0.
The calls are noted where they leave Python, so that nothing `Files` does can pass by.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from pybroker.storage.files import files as files_module

ROOT = 0


@dataclass(frozen=True, slots=True)
class Write:
    node: int
    position: int
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Cut:
    """The file gets this size."""

    node: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Sync:
    """A file's bytes and size, or a directory's names."""

    node: int


@dataclass(frozen=True, slots=True)
class Create:
    """A name for a new file or directory."""

    directory: int
    name: str
    node: int


@dataclass(frozen=True, slots=True)
class Delete:
    directory: int
    name: str
    node: int


@dataclass(frozen=True, slots=True)
class Rename:
    directory: int
    name: str
    new_directory: int
    new_name: str
    node: int


Operation = Write | Cut | Sync | Create | Delete | Rename
Fault = Callable[[Operation], int | None]
"""Called before each operation; returns the errno with which it must fail, or None."""


class DiskHistory:
    """`operations` in order; `path_of` gives a node's current name, for messages."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self.operations: list[Operation] = []
        self.fault: Fault | None = None
        self._names: dict[int, dict[str, int]] = {ROOT: {}}
        self._nodes = 1
        self._open: dict[int, int] = {}  # descriptor → node
        self._real_paths: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self.operations)

    def path_of(self, node: int) -> str:
        for directory, names in self._names.items():
            for name, found in names.items():
                if found == node:
                    return name if directory == ROOT else f"{self.path_of(directory)}/{name}"
        return f"<{node}>"

    def disk_of(self, operation: Operation) -> str:
        """The first part of the path that an operation is about: the log directory."""
        node = operation.directory if isinstance(operation, Create | Delete | Rename) else operation.node
        if node == ROOT:
            return "" if isinstance(operation, Sync | Write | Cut) else operation.name
        return self.path_of(node).split("/")[0]

    def directories(self) -> set[int]:
        """The nodes that are or were directories."""
        return set(self._names)

    # --- names --------------------------------------------------------------------------------------------------

    def _place(self, path: str, dir_fd: int | None = None) -> tuple[int, str] | None:
        """(directory, name) of a path below the root; None for other paths."""
        if dir_fd is not None:
            directory = self._open.get(dir_fd)
            return None if directory is None else (directory, os.fspath(path))
        path = os.path.abspath(path)
        parent, _, name = path.rpartition(os.sep)
        real = self._real_paths.get(parent)
        if real is None:  # no link is made or changed meanwhile
            real = self._real_paths[parent] = os.path.realpath(parent) + os.sep
        if not real.startswith(self.root + os.sep):
            return None
        parents = real[len(self.root) + 1 : -1].split(os.sep) if real != self.root + os.sep else []
        directory = ROOT
        for part in parents:
            found = self._names[directory].get(part)
            if found is None:
                return None
            directory = found
        return directory, name

    def _node(self, place: tuple[int, str]) -> int | None:
        return self._names[place[0]].get(place[1])

    def _new_node(self) -> int:
        self._nodes += 1
        return self._nodes - 1

    # --- operations ---------------------------------------------------------------------------------------------

    def _about_to(self, operation: Operation) -> None:
        if self.fault is not None:
            failure = self.fault(operation)
            if failure is not None:
                raise OSError(failure, os.strerror(failure), repr(operation))

    def _open_call(self, call: Callable[..., int]) -> Callable[..., int]:
        def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            place = self._place(path, dir_fd) if isinstance(path, str) else None
            if place is None:
                descriptor = call(path, flags, mode, dir_fd=dir_fd)
                if not isinstance(path, str) or os.path.realpath(path) != self.root:
                    self._open.pop(descriptor, None)
                else:
                    self._open[descriptor] = ROOT
                return descriptor
            node = self._node(place)
            operation: Operation | None = None
            if node is None and flags & os.O_CREAT:
                operation = Create(*place, self._new_node())
            elif node is not None and flags & os.O_TRUNC:
                operation = Cut(node, 0)
            if operation is not None:
                self._about_to(operation)
            descriptor = call(path, flags, mode, dir_fd=dir_fd)
            if isinstance(operation, Create):
                node = operation.node
                self._names[place[0]][place[1]] = node
            if operation is not None:
                self.operations.append(operation)
            assert node is not None, f"{path} was made by a call that is not noted"
            self._open[descriptor] = node
            return descriptor

        return opened

    def _write_call(self, call: Callable[..., int], *, is_vector: bool) -> Callable[..., int]:
        def written(descriptor: int, data: Any, position: int) -> int:
            node = self._open.get(descriptor)
            if node is None:
                return call(descriptor, data, position)
            whole = b"".join(data) if is_vector else bytes(data)
            try:
                self._about_to(Write(node, position, whole))
            except OSError:
                half = whole[: len(whole) // 2]  # a part of it is written
                os.lseek(descriptor, position, os.SEEK_SET)
                os.write(descriptor, half)
                self.operations.append(Write(node, position, half))
                raise
            count = call(descriptor, data, position)
            self.operations.append(Write(node, position, whole[:count]))
            return count

        return written

    def _sync_call(self, call: Callable[[int], None]) -> Callable[[int], None]:
        def synced(descriptor: int) -> None:
            node = self._open.get(descriptor)
            if node is None:
                return call(descriptor)
            self._about_to(Sync(node))
            self.operations.append(Sync(node))  # not passed on, because the test's machine keeps its power
            return None

        return synced

    def _truncate_call(self, call: Callable[[Any, int], None]) -> Callable[[Any, int], None]:
        def truncated(target: Any, size_bytes: int) -> None:
            place = None if isinstance(target, int) else self._place(target)
            node = self._open.get(target) if isinstance(target, int) else place and self._node(place)
            if node is None:
                return call(target, size_bytes)
            self._about_to(Cut(node, size_bytes))
            call(target, size_bytes)
            self.operations.append(Cut(node, size_bytes))
            return None

        return truncated

    def _delete_call(self, call: Callable[..., None]) -> Callable[..., None]:
        def deleted(path: Any, *, dir_fd: int | None = None) -> None:
            place = self._place(path, dir_fd)
            node = None if place is None else self._node(place)
            if place is None or node is None:
                return call(path, dir_fd=dir_fd)
            self._about_to(Delete(*place, node))
            call(path, dir_fd=dir_fd)
            del self._names[place[0]][place[1]]
            self.operations.append(Delete(*place, node))
            return None

        return deleted

    def _mkdir_call(self, call: Callable[..., None]) -> Callable[..., None]:
        def made(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
            place = self._place(path, dir_fd)
            if place is None:
                return call(path, mode, dir_fd=dir_fd)
            operation = Create(*place, self._new_node())
            self._about_to(operation)
            call(path, mode, dir_fd=dir_fd)
            self._names[operation.node] = {}
            self._names[place[0]][place[1]] = operation.node
            self.operations.append(operation)
            return None

        return made

    def _rename_call(self, call: Callable[..., None]) -> Callable[..., None]:
        def renamed(old: Any, new: Any) -> None:
            place, new_place = self._place(old), self._place(new)
            node = None if place is None else self._node(place)
            if place is None or new_place is None or node is None:
                return call(old, new)
            operation = Rename(*place, *new_place, node)
            self._about_to(operation)
            call(old, new)
            del self._names[place[0]][place[1]]
            self._names[new_place[0]][new_place[1]] = node
            self.operations.append(operation)
            return None

        return renamed


@contextmanager
def recorded_history(root: str) -> Iterator[DiskHistory]:
    """Record operations below `root`, an empty directory; `fault` can make them fail. Nothing is really synced."""
    history = DiskHistory(root)
    vector = getattr(files_module, "_write_vector")  # noqa: B009  (not a public name)
    synchronize = getattr(files_module, "_synchronize_data")  # noqa: B009
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", history._open_call(os.open))
        patch.setattr(os, "pwrite", history._write_call(os.pwrite, is_vector=False))
        if vector is not None:
            patch.setattr(files_module, "_write_vector", history._write_call(vector, is_vector=True))
        patch.setattr(files_module, "_synchronize_data", history._sync_call(synchronize))
        patch.setattr(os, "fsync", history._sync_call(os.fsync))
        patch.setattr(os, "ftruncate", history._truncate_call(os.ftruncate))
        patch.setattr(os, "truncate", history._truncate_call(os.truncate))
        patch.setattr(os, "unlink", history._delete_call(os.unlink))
        patch.setattr(os, "rmdir", history._delete_call(os.rmdir))
        patch.setattr(os, "mkdir", history._mkdir_call(os.mkdir))
        patch.setattr(os, "replace", history._rename_call(os.replace))
        patch.setattr(os, "rename", history._rename_call(os.rename))
        yield history


@contextmanager
def nothing_synced() -> Iterator[None]:
    """Skip syncs, which cost the most time, for files that are deleted right after."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files_module, "_synchronize_data", lambda descriptor: None)
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield

"""The only module (with `open_path`) that opens, writes, syncs, renames or deletes files.

Code that stores something is given a `Files`. Tests and simulations pass one that fails, tears writes or forgets
unsynced data. All methods are synchronous and raise OSError.

A `FileRef` names a log file and opens it on first use; the limit on open files may take its descriptor away again. Code
that uses the descriptor keeps the `File`, which closes itself when its last reference goes. So a region being sent
stays readable when its segment is rolled, renamed or deleted.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import resource
import shutil
import threading
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from ...base.buffer import Buffer
from .directory_listing import Entry, list_entries
from .open_path import open_path
from .page_cache import read_if_cached
from .path_kind import PathKind, kind_of

logger = logging.getLogger(__name__)


_MAX_VECTORS = 1024  # IOV_MAX on Linux and macOS
_SPARE_DESCRIPTORS = 256
_NO_LIMIT = 1 << 20
_FEW_FILES = 4096
_told_limits: set[int] = set()
_synchronize_data = getattr(os, "fdatasync", os.fsync)
_write_vector = getattr(os, "pwritev", None)


class DiskSpace(NamedTuple):
    """Size and free space of a file system."""

    total_bytes: int
    usable_bytes: int


class NotCachedError(Exception):
    """The bytes are not in the page cache, and the caller may not wait for the disk."""


class File:
    """An open descriptor. It closes itself when the last reference goes."""

    __slots__ = ("__weakref__", "_fd")

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Up to `size_bytes` at `position`; less only at the end of the file."""
        data = os.pread(self._fd, size_bytes, position)
        if len(data) == size_bytes or not data:
            return data
        parts = [data]
        missing = size_bytes - len(data)
        while missing:
            data = os.pread(self._fd, missing, position + size_bytes - missing)
            if not data:
                break
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)

    def read_cached_at(self, position: int, size_bytes: int) -> bytes | bytearray:
        """`read_at` without waiting for the disk. Raises NotCachedError."""
        data = read_if_cached(self._fd, position, size_bytes)
        if data is None:
            raise NotCachedError(f"{size_bytes} bytes at position {position} are not cached")
        return data

    def write_at(self, position: int, data: Buffer) -> None:
        """Write all of `data`; after an OSError it is unknown how much of it was written."""
        written = os.pwrite(self._fd, data, position)
        while written < len(data):
            position += written
            data = memoryview(data)[written:]
            written = os.pwrite(self._fd, data, position)

    def write_vector_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        """Write the buffers one after the other, in one system call where there is pwritev."""
        for start in range(0, len(buffers), _MAX_VECTORS):
            chunk = buffers[start : start + _MAX_VECTORS]
            written = 0 if _write_vector is None else _write_vector(self._fd, chunk, position)
            for buffer in chunk:
                size = len(buffer)
                if written < size:
                    self.write_at(position + written, memoryview(buffer)[written:])
                    written = size
                written -= size
                position += size

    def truncate(self, size_bytes: int) -> None:
        os.ftruncate(self._fd, size_bytes)

    def sync(self) -> None:
        _synchronize_data(self._fd)

    def close(self) -> None:
        """Close now, even if others refer to it; closing twice is harmless."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def release(self) -> int:
        """Hand the descriptor to the caller, which must close it."""
        fd, self._fd = self._fd, -1
        return fd

    def __del__(self) -> None:
        with contextlib.suppress(OSError):
            self.close()


class FileRegion:
    """A range of a file that is read only when it is sent; it keeps the descriptor open."""

    __slots__ = ("file", "position", "size_bytes")

    def __init__(self, file: File, position: int, size_bytes: int) -> None:
        self.file = file
        self.position = position
        self.size_bytes = size_bytes

    def fileno(self) -> int:
        return self.file.fileno()

    def read(self) -> bytes:
        """The bytes; fewer than `size_bytes` if the file was truncated meanwhile."""
        return self.file.read_at(self.position, self.size_bytes)

    def __len__(self) -> int:
        return self.size_bytes

    def __repr__(self) -> str:
        return f"FileRegion(fd={self.file.fileno()}, position={self.position}, size_bytes={self.size_bytes})"


class FileRef:
    """A file by name, opened when needed. `path` may be changed after a rename; an open descriptor stays valid."""

    __slots__ = ("_file", "_files", "path")

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self._file: File | None = None
        self.path = path

    def file(self) -> File:
        """The open file. The caller keeps it while using it, because the limit on open files may drop it here."""
        file = self._file
        if file is None:
            file = self._file = self._files.open(self.path)
            self._files.remember(self)
        return file

    def drop(self) -> None:
        """Forget the descriptor, which closes once it is unused. The next `file()` opens the file again."""
        self._file = None


class DirectoryLock:
    """The `.lock` of a log directory, while this process owns it."""

    def __init__(self, path: str, file: File, registry: set[str]) -> None:
        self._path = path
        self._file = file
        self._registry = registry

    def release(self) -> None:
        self._registry.discard(self._path)
        self._file.close()


class DirectoryLockedError(Exception):
    """Another process, or another broker in this one, uses the log directory."""


# POSIX record locks do not exclude the same process, and closing any descriptor of the file frees them. So one set for
# the whole process lists the locked paths.
_locked_paths: set[str] = set()
_locking = threading.Lock()


class Files:
    """The file system. `max_open_files` bounds the descriptors of FileRefs; None: the share of `allowed_log_files`."""

    is_durable = True  # whether the data must survive this process

    def __init__(self, max_open_files: int | None = None) -> None:
        self.max_open_files = raise_descriptor_limit() if max_open_files is None else max_open_files
        self._open_refs: OrderedDict[int, FileRef] = OrderedDict()
        self._open_files: weakref.WeakSet[File] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._shortages = 0

    # --- open files ---------------------------------------------------------------------------------------------

    def open(self, path: str, *, create: bool = False) -> File:
        flags = os.O_RDWR | (os.O_CREAT if create else 0)
        file = File(self._descriptor(path, flags))
        with self._lock:
            self._open_files.add(file)
        return file

    def open_to_read(self, path: str) -> File:
        """Open a file for reading only; write permission is not needed."""
        file = File(self._descriptor(path, os.O_RDONLY))
        with self._lock:
            self._open_files.add(file)
        return file

    def _descriptor(self, path: str, flags: int) -> int:
        """Open a file. When no descriptor is left, close those of all FileRefs first."""
        try:
            return open_path(path, flags)
        except OSError as error:
            if not is_out_of_descriptors(error):
                raise
            self._drop_all_refs(error)
        return open_path(path, flags)

    def _drop_all_refs(self, error: OSError) -> None:
        with self._lock:
            count = len(self._open_refs)
            self._shortages += 1
            is_repeated = self._shortages & (self._shortages - 1)  # false for the 1st, 2nd, 4th, 8th … time
        if not is_repeated:
            logger.warning("%s (ulimit -n): closing %d log files to go on", error.strerror, count)
        self.drop_descriptors()

    def drop_descriptors(self) -> None:
        """Drop the descriptors of all FileRefs; their next use opens the files anew."""
        with self._lock:
            refs = list(self._open_refs.values())
            self._open_refs.clear()
        for ref in refs:
            ref.drop()

    def close_all(self) -> None:
        """Close every file opened here, even those still referred to: for a broker that ends before its process.

        Nothing may be reading or writing any more.
        """
        with self._lock:
            for file in self._open_files:
                file.close()

    def ref(self, path: str) -> FileRef:
        return FileRef(self, path)

    def remember(self, ref: FileRef) -> None:
        """Count an opened ref. Beyond `max_open_files`, drop the descriptor that was opened longest ago."""
        with self._lock:
            self._open_refs[id(ref)] = ref
            while len(self._open_refs) > self.max_open_files:
                _, oldest = self._open_refs.popitem(last=False)
                oldest.drop()

    def forget(self, ref: FileRef) -> None:
        """Drop a ref for good: its segment is deleted or closed."""
        with self._lock:
            self._open_refs.pop(id(ref), None)
        ref.drop()

    # --- whole files --------------------------------------------------------------------------------------------

    def read_bytes(self, path: str) -> bytes:
        with open(path, "rb", opener=self._descriptor) as stream:
            return stream.read()

    def write_bytes(self, path: str, data: Buffer, *, sync: bool = True) -> None:
        """Overwrite a file in place. The directory is not synced; `write_atomically` is for data that must survive."""
        fd = self._descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        file = File(fd)
        try:
            file.write_at(0, data)
            if sync:
                os.fsync(fd)
        finally:
            file.close()

    def write_atomically(self, path: str, data: Buffer) -> None:
        """Replace a file: write a copy, fsync, rename, fsync the directory. A crash leaves the old or the new one."""
        temporary = path + ".tmp"
        self.write_bytes(temporary, data)
        self.rename(temporary, path)
        self.sync_directory(os.path.dirname(path))

    def create_empty(self, path: str) -> None:
        """Create `path` empty, or empty it."""
        os.close(self._descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))

    def preallocate(self, path: str, size_bytes: int) -> None:
        """Extend a file with zeros to `size_bytes`. As in Kafka, disk blocks are taken only when data is written:
        otherwise a request of 80 bytes could take gigabytes."""
        file = self.open(path)
        try:
            if file.size() < size_bytes:
                file.truncate(size_bytes)
        finally:
            file.close()

    def truncate(self, path: str, size_bytes: int) -> None:
        os.truncate(path, size_bytes)

    def sync_path(self, path: str) -> None:
        """fsync a file by name; a deleted file needs no sync."""
        try:
            file = self.open(path)
        except FileNotFoundError:
            return
        try:
            file.sync()
        finally:
            file.close()

    # --- names --------------------------------------------------------------------------------------------------

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def kind_of(self, path: str) -> PathKind:
        return kind_of(path)

    def modified_ms(self, path: str) -> int:
        return int(os.stat(path).st_mtime * 1000)

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))

    def list_directory(self, path: str) -> list[Entry]:
        """The entries of a directory, sorted by name, without links that have no target."""
        return list_entries(path)

    def list_log_directory(self, path: str) -> list[Entry]:
        """`list_directory`, with the partitions whose link leads to a place that this user may not use."""
        try:
            return self.list_directory(path)
        except PermissionError:
            return list_entries(path, forbidden_is_directory=True)

    def may_use(self, path: str) -> bool:
        """Whether this user may read and write a file, or a directory with the names in it; True if it is missing."""
        if not os.path.lexists(path):
            return True
        wanted = os.R_OK | os.W_OK | (os.X_OK if os.path.isdir(path) else 0)
        return os.access(path, wanted)

    def make_directory(self, path: str) -> None:
        """Make a directory and its parents durably, if missing."""
        if os.path.isdir(path):
            return
        parent = os.path.dirname(os.path.abspath(path))
        self.make_directory(parent)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o755)
        self.sync_directory(parent)

    def rename(self, old_path: str, new_path: str) -> None:
        os.replace(old_path, new_path)

    def set_aside(self, path: str, deleted_path: str) -> bool:
        """Rename a file that will be deleted later. False: the disk is too full for that, so it is deleted now.

        Raises FileNotFoundError.
        """
        try:
            self.rename(path, deleted_path)
        except OSError as error:
            if not is_out_of_space(error):
                raise
            self.delete(path)
            return False
        return True

    def set_aside_directory(self, path: str, deleted_path: str) -> bool:
        """Durably rename a directory that will be deleted. False: the disk is too full for a rename."""
        try:
            self.rename(path, deleted_path)
        except OSError as error:
            if not is_out_of_space(error):
                raise
            return False
        self.sync_directory(os.path.dirname(deleted_path))
        return True

    def delete(self, path: str) -> bool:
        """Delete a file; False if it is missing."""
        try:
            os.unlink(path)
        except FileNotFoundError:
            return False
        return True

    def delete_tree(self, path: str) -> None:
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.filename and not os.path.isabs(error.filename):  # some versions of Python leave the directory out
                error.filename = os.path.join(path, error.filename)
            raise

    def sync_directory(self, path: str) -> None:
        fd = self._descriptor(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        except OSError as error:
            if error.errno != errno.EINVAL:  # a file system that cannot sync directories
                raise
        finally:
            os.close(fd)

    def disk_space(self, path: str) -> DiskSpace:
        """The size and free bytes of the file system of `path`; space that only root may use does not count."""
        found = os.statvfs(path)
        return DiskSpace(found.f_frsize * found.f_blocks, found.f_frsize * found.f_bavail)

    def lock_directory(self, path: str) -> DirectoryLock:
        """Take `<path>/.lock` as Kafka does (a POSIX record lock); raises DirectoryLockedError."""
        lock_path = os.path.join(os.path.realpath(path), ".lock")
        message = f"log directory {path} is in use by another broker (it holds {lock_path})"
        with _locking:
            if lock_path in _locked_paths:
                raise DirectoryLockedError(message)
            file = self.open(lock_path, create=True)
            try:
                fcntl.lockf(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                file.close()
                if error.errno in (errno.EACCES, errno.EAGAIN):
                    raise DirectoryLockedError(message) from error
                raise
            _locked_paths.add(lock_path)
        return DirectoryLock(lock_path, file, _locked_paths)


def allowed_log_files() -> int:
    """How many open files may be log files, within the current limit on open files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _share_of(soft)


def _share_of(limit: int) -> int:
    """The rest is for connections and other files."""
    if limit == resource.RLIM_INFINITY:
        limit = _NO_LIMIT
    return max(limit - max(_SPARE_DESCRIPTORS, limit // 4), 16)


def raise_descriptor_limit() -> int:
    """Raise the soft limit on open files to the hard one; return how many of them may be log files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _NO_LIMIT if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (OSError, ValueError):  # macOS refuses values over its own maximum
            logger.debug("could not raise the limit on open files from %d to %d", soft, wanted)
    if soft != resource.RLIM_INFINITY and soft < _FEW_FILES and soft not in _told_limits:
        _told_limits.add(soft)  # each `Files` of the process asks again
        logger.warning("only %d files may be open (ulimit -n): log files will be closed and reopened as needed", soft)
    return _share_of(soft)


def is_out_of_space(error: OSError) -> bool:
    """Whether a write failed only because the disk is full: it may succeed later, and the file's state is known."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def is_out_of_descriptors(error: OSError) -> bool:
    """Whether a file could not be opened because no descriptor is left; nothing was read or written then."""
    return error.errno in (errno.EMFILE, errno.ENFILE)


def is_transient(error: OSError) -> bool:
    """Whether space or descriptors ran out: the disk is sound, and the same step may work later."""
    return is_out_of_space(error) or is_out_of_descriptors(error)

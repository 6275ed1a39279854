"""The log directories of this broker: size of the logs, and space of the disks."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ...base.unusable_path import why_unusable
from ...storage.store.log_directory import LogDirectory
from ...views.brokers import Directory
from ...views.cluster import Disk
from .known_state import KnownState
from .slices import in_slices

__all__ = ["directories", "disk_of"]


class _Space(NamedTuple):
    free_bytes: int
    total_bytes: int


async def directories(state: KnownState) -> tuple[Directory, ...]:
    """Return all log directories, in the order of ``log.dirs``."""
    logs, all_directories = state.parts.logs, state.parts.logs.directories.all
    spaces: list[_Space | None] = await state.parts.run_in_pool(partial(_spaces, state, tuple(all_directories)))
    found = []
    for directory, space in zip(all_directories, spaces, strict=False):
        size_bytes = 0
        async for log in in_slices(logs.logs_in(directory)):
            size_bytes += log.size_bytes
        found.append(_view(directory, size_bytes, space))
    return tuple(found)


def _view(directory: LogDirectory, size_bytes: int, space: _Space | None) -> Directory:
    failure = directory.failure
    error = None if failure is None else why_unusable(failure, directory.path)
    if not directory.is_online and error is None:
        error = "it is offline"
    return Directory(
        path=directory.path,
        is_online=directory.is_online,
        error=error,
        partitions=directory.partition_count,
        size_bytes=size_bytes,
        free_bytes=None if space is None else space.free_bytes,
        total_bytes=None if space is None else space.total_bytes,
    )


def _spaces(state: KnownState, all_directories: Sequence[LogDirectory]) -> list[_Space | None]:
    """Ask the file systems, in a worker. None for a directory that cannot be asked."""
    found: list[_Space | None] = []
    for directory in all_directories:
        try:
            space = state.parts.logs.files.disk_space(directory.path) if directory.is_online else None
        except OSError:
            space = None
        found.append(None if space is None else _Space(space.usable_bytes, space.total_bytes))
    return found


def disk_of(found: Sequence[Directory], growth_bytes_per_s: float | None) -> Disk:
    """Return the sum over the directories. The directory that is full first decides when the disk is full.

    ``growth_bytes_per_s``: of all logs together, which are assumed to grow equally in all directories.
    """
    known = [each for each in found if each.free_bytes is not None]
    free = [each.free_bytes for each in known if each.free_bytes is not None]
    full_in_s = None
    if free and growth_bytes_per_s:
        full_in_s = round(min(free) / (growth_bytes_per_s / len(free)))
    return Disk(
        size_bytes=sum(each.size_bytes for each in found),
        free_bytes=sum(free) if free else None,
        total_bytes=sum(each.total_bytes or 0 for each in known) if free else None,
        full_in_s=full_in_s,
    )

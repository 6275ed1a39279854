"""Finds, after a crash, the offset up to which each log still has all its records."""

from collections.abc import Mapping

from pybroker.protocol.records.batch import iter_batches
from simulation.checkers.history import Place
from simulation.machines.disk import Disk

__all__ = ["kept_ends"]

_DELETED = ".deleted"
"""Suffix of segments that are closed and will be removed a while later."""


def kept_ends(disk: Disk, lost: Mapping[str, int]) -> dict[Place, int]:
    """The offset before which each log that lost records is complete.

    ``lost``: the result of `Disk.crash`: file paths and the number of bytes they kept. Recovery may truncate the log
    to this offset, but not further.
    """
    ends: dict[Place, int] = {}
    for path_before, kept_bytes in lost.items():
        path = path_before.removesuffix(_DELETED)
        if path != path_before and disk.find(path) is None:
            continue  # still deleted; otherwise the crash has undone the deletion
        place = _place_of(path)
        if place is not None:
            end = _end_of_batches(disk, path, kept_bytes)
            ends[place] = min(end, ends.get(place, end))
    return ends


def _end_of_batches(disk: Disk, path: str, kept_bytes: int) -> int:
    """The offset after the last complete batch; if there is none, the base offset from the file's name."""
    end = int(path.rpartition("/")[2].removesuffix(".log"))
    node = disk.find(path)
    if node is not None:
        for batch in iter_batches(bytes(node.data[:kept_bytes])):
            end = batch.next_offset
    return end


def _place_of(path: str) -> Place | None:
    """The partition to which a segment file belongs."""
    parts = path.split("/")
    if not path.endswith(".log") or len(parts) < 2:
        return None
    topic, _, number = parts[-2].rpartition("-")
    return (topic, int(number)) if number.isdigit() else None

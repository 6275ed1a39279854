"""Finds, after a crash, the offset up to which each log still has all its records."""

from collections.abc import Mapping

from pybroker.protocol.records.batch import iter_batches
from simulation.checkers.history import Place
from simulation.machines.disk import Disk

__all__ = ["kept_ends"]

_DELETED = ".deleted"
"""Ends the names of segments that nobody sees any more, and that are removed a while later."""


def kept_ends(disk: Disk, lost: Mapping[str, int]) -> dict[Place, int]:
    """By partition, of those that lost records. ``lost``: what `Disk.crash` says, files and how many bytes they kept.

    Whoever recovers such a log may cut it there, and not before.
    """
    ends: dict[Place, int] = {}
    for path_before, kept_bytes in lost.items():
        path = path_before.removesuffix(_DELETED)
        if path != path_before and disk.find(path) is None:
            continue  # it stays deleted; else the crash took its deletion back, too
        place = _place_of(path)
        if place is not None:
            end = _end_of_batches(disk, path, kept_bytes)
            ends[place] = min(end, ends.get(place, end))
    return ends


def _end_of_batches(disk: Disk, path: str, kept_bytes: int) -> int:
    """The offset behind the last batch that is whole; if none is, that by which the file is named."""
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

"""The leader epochs of a log and their start offsets (KIP-101). Pure: the log writes `leader-epoch-checkpoint`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

UNDEFINED_EPOCH = -1
UNDEFINED_EPOCH_OFFSET = -1


class EpochEntry(NamedTuple):
    epoch: int
    start_offset: int


class LeaderEpochs:
    """Entries with growing epochs and growing start offsets.

    `entries` is replaced, never modified, so any thread may read it. Methods that change it return whether they did, so
    that the caller writes the file.
    """

    __slots__ = ("entries", "latest_epoch")

    def __init__(self, entries: Iterable[EpochEntry] = ()) -> None:
        self.entries: tuple[EpochEntry, ...] = ()
        self.latest_epoch = UNDEFINED_EPOCH
        for entry in entries:
            self.assign(*entry)

    def replace(self, entries: tuple[EpochEntry, ...]) -> bool:
        """Replace all entries."""
        self.entries = entries
        self.latest_epoch = entries[-1].epoch if entries else UNDEFINED_EPOCH
        return True

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Note that `epoch` begins at `start_offset`; remove entries that contradict it. Raises ValueError below 0."""
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"leader epoch {epoch} cannot begin at offset {start_offset}")
        entries = self.entries
        if entries and epoch == entries[-1].epoch and start_offset >= entries[-1].start_offset:
            return False
        kept = len(entries)
        while kept and (entries[kept - 1].epoch >= epoch or entries[kept - 1].start_offset >= start_offset):
            kept -= 1
        return self.replace((*entries[:kept], EpochEntry(epoch, start_offset)))

    def truncate_from_end(self, end_offset: int) -> bool:
        """Remove the epochs that begin at or above `end_offset`."""
        kept = tuple(entry for entry in self.entries if entry.start_offset < end_offset)
        return len(kept) < len(self.entries) and self.replace(kept)

    def truncate_from_start(self, start_offset: int) -> bool:
        """Move the log start to `start_offset`: of the epochs up to there only the last one stays, beginning there."""
        below = bisect_right(self.entries, start_offset, key=_start_offset)
        if below == 0 or (below == 1 and self.entries[0].start_offset == start_offset):
            return False
        first = EpochEntry(self.entries[below - 1].epoch, start_offset)
        return self.replace((first, *self.entries[below:]))

    def clear(self) -> bool:
        return bool(self.entries) and self.replace(())

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEntry:
        """Return the largest known epoch at or below `epoch` and its end offset; (-1, -1) when not known.

        For an epoch older than all known ones the result is that epoch and the start of the first known one.
        """
        entries = self.entries
        if epoch == UNDEFINED_EPOCH or not entries or epoch > entries[-1].epoch:
            return EpochEntry(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)
        if epoch == entries[-1].epoch:
            return EpochEntry(epoch, log_end_offset)
        higher = bisect_right(entries, epoch, key=_epoch)
        floor_epoch = entries[higher - 1].epoch if higher else epoch
        return EpochEntry(floor_epoch, entries[higher].start_offset)

    def epoch_for_offset(self, offset: int) -> int | None:
        """Return the epoch in which `offset` was written, or None when it lies before all known epochs."""
        slot = bisect_right(self.entries, offset, key=_start_offset) - 1
        return self.entries[slot].epoch if slot >= 0 else None

    def __repr__(self) -> str:
        return f"LeaderEpochs({list(self.entries)})"


def _epoch(entry: EpochEntry) -> int:
    return entry.epoch


def _start_offset(entry: EpochEntry) -> int:
    return entry.start_offset

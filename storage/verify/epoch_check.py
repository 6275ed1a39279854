"""The check of leader epochs: do the batches and `leader-epoch-checkpoint` agree on the epoch of each offset?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..leader_epochs import EpochEntry, LeaderEpochs
from .fault import Findings


@dataclass(slots=True)
class _Run:
    """Consecutive batches of one epoch."""

    epoch: int
    first_offset: int
    last_offset: int


class EpochCheck:
    """Takes a log's batches in order, then the checkpoint, which a running broker may have extended meanwhile."""

    def __init__(self, found: Findings) -> None:
        self._found = found
        self._runs: list[_Run] = []

    def add_batch(self, path: str, position: int, epoch: int, first_offset: int, last_offset: int) -> None:
        """Take the next batch of magic 2."""
        if epoch < 0:
            return
        if self._runs and epoch == self._runs[-1].epoch:
            self._runs[-1].last_offset = last_offset
            return
        if self._runs and epoch < self._runs[-1].epoch:
            what = f"leader epoch {epoch} at offset {first_offset} follows {self._runs[-1].epoch}"
            self._found.add(path, what, position)
        self._runs.append(_Run(epoch, first_offset, last_offset))

    def compare(self, path: str, entries: Sequence[EpochEntry] | None, log_start: int) -> None:
        """Compare the batches with the checkpoint at `path`; `entries` is None when there is none."""
        if entries is None:
            if any(run.last_offset >= log_start for run in self._runs):
                self._found.add(path, "is missing, although the batches have leader epochs")
            return
        for before, entry in zip((EpochEntry(-1, -1), *entries), entries, strict=False):
            if entry.epoch <= before.epoch or entry.start_offset <= before.start_offset:
                self._found.add(path, f"{_text(entry)}, but is listed after {_text(before)}")
                return
        epochs = LeaderEpochs(entries)
        for run in self._runs:
            if run.last_offset < log_start:
                continue
            for offset in (max(run.first_offset, log_start), run.last_offset):
                known = epochs.epoch_for_offset(offset)
                if known != run.epoch:
                    says = "none" if known is None else f"leader epoch {known}"
                    self._found.add(path, f"has {says} for offset {offset}, its batch has {run.epoch}")
                    break


def _text(entry: EpochEntry) -> str:
    return f"leader epoch {entry.epoch} begins at offset {entry.start_offset}"

"""Whether a log's batches and its `leader-epoch-checkpoint` agree on which leader epoch wrote which offset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..leader_epochs import EpochEntry, LeaderEpochs
from .fault import Findings


@dataclass(slots=True)
class _Run:
    """Batches of one epoch in a row."""

    epoch: int
    first_offset: int
    last_offset: int


class EpochCheck:
    """Fed with a log's batches in order, then with the checkpoint (which a running broker may extend meanwhile)."""

    def __init__(self, found: Findings) -> None:
        self._found = found
        self._runs: list[_Run] = []

    def see(self, path: str, position: int, epoch: int, first_offset: int, last_offset: int) -> None:
        """The next batch of magic 2."""
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
        """With the checkpoint at `path`, None when there is none."""
        if entries is None:
            if any(run.last_offset >= log_start for run in self._runs):
                self._found.add(path, "is missing, and the batches have leader epochs")
            return
        for before, entry in zip((EpochEntry(-1, -1), *entries), entries, strict=False):
            if entry.epoch <= before.epoch or entry.start_offset <= before.start_offset:
                self._found.add(path, f"{_text(entry)} stands behind {_text(before)}")
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

"""Reads the producer snapshots of a log that a running broker may be writing to (snapshots are written in place)."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..files.files import Files
from .producer_snapshots import CorruptSnapshotError, decode_snapshot
from .producer_state import ProducerEntry

_LONGEST_WRITE_S = 0.1
"""Longest time between the creation of a snapshot and its last byte, on a busy machine."""


def read_snapshot(files: Files, path: str, sleep: Callable[[float], None] = time.sleep) -> list[ProducerEntry]:
    """Read a snapshot. An unreadable one is read again until it no longer changes.

    Raises CorruptSnapshotError, and FileNotFoundError when the broker has deleted the file.
    """
    data = files.read_bytes(path)
    while True:
        try:
            return decode_snapshot(data)
        except CorruptSnapshotError:
            sleep(_LONGEST_WRITE_S)
            before, data = data, files.read_bytes(path)
            if data == before:
                raise

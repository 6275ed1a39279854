"""Producer snapshots of a log that a running broker, ours or Kafka's, may be writing to: it writes them in place."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..files.files import Files
from .producer_snapshots import CorruptSnapshotError, decode_snapshot
from .producer_state import ProducerEntry

_LONGEST_WRITE_S = 0.1
"""Between the creation of a file and its last byte, on a busy machine."""


def read_snapshot(files: Files, path: str, sleep: Callable[[float], None] = time.sleep) -> list[ProducerEntry]:
    """What cannot be read is read again until it has stayed as it is. Raises CorruptSnapshotError; FileNotFoundError
    when the broker has deleted it."""
    data = files.read_bytes(path)
    while True:
        try:
            return decode_snapshot(data)
        except CorruptSnapshotError:
            sleep(_LONGEST_WRITE_S)
            before, data = data, files.read_bytes(path)
            if data == before:
                raise

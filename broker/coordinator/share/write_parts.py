"""Divides a large write of a share partition's state, so that no part takes the event loop for long."""

from collections.abc import Iterator

from .ports import StateWrite
from .state import NO_OFFSET

__all__ = ["MAX_BATCHES", "parts_of"]

MAX_BATCHES = 200
"""Batches of a part."""


def parts_of(write: StateWrite) -> Iterator[StateWrite]:
    """The parts, to be written in this order. The last one moves the start offset, when all batches are stored."""
    batches = write.batches
    last = max(len(batches) - 1, 0) // MAX_BATCHES * MAX_BATCHES
    for first in range(0, last, MAX_BATCHES):
        yield write._replace(start_offset=NO_OFFSET, batches=batches[first : first + MAX_BATCHES])
    yield write._replace(batches=batches[last:])

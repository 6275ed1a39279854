"""The choice of appends that run on the event loop instead of a worker thread.

Why: two thread switches cost more than most appends. The checksum and the write of 256 KiB into the page cache take
0.1 ms, while an append through the pool makes threads wait for the interpreter lock about a dozen times.
Limits: long work goes to the pool: records that must be walked or unpacked, a sync, a new segment (one request may need
one in each of a thousand partitions), or a disk that is slow at the moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ...base.buffer import Buffer
from ...protocol.errors import KafkaError
from ...protocol.records.batch import CODEC_MASK, LENGTH_POSITION, LOG_OVERHEAD, MAGIC_POSITION, unpack_length
from ..log_config import LogConfig
from ..producers.producer_state import AppendOrigin
from .append_validation import is_stored_unchanged
from .log_append import FollowerAppend, LeaderAppend

SMALL_APPEND_BYTES = 16 * 1024
"""Largest uncompressed append whose records may be walked on the event loop."""

LARGE_APPEND_BYTES = 512 * 1024
"""Largest append that may be stored unchanged on the event loop. A longer write would delay all other connections."""

FEW_BATCHES = 100
"""Most batches of a follower's append on the event loop. Each takes about 5 microseconds besides the write."""

_SLOW_SECONDS = 0.001
_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 30.0
_NEVER = (1 << 63) - 1
_MIN_BATCH_BYTES = 12
_CODEC_POSITION = 22  # of magic 2


def is_quick_append(append: LeaderAppend | FollowerAppend, config: LogConfig) -> bool:
    """Whether the append may run on the event loop, as far as its header tells."""
    if config.flush_messages != _NEVER:
        return False
    records = append.records
    size = len(records)
    if isinstance(append, FollowerAppend):
        return size <= SMALL_APPEND_BYTES or (size <= LARGE_APPEND_BYTES and _has_few_batches(records))
    return _is_quick_to_walk(records) or (size <= LARGE_APPEND_BYTES and _is_stored_unchanged(append, config))


def is_long(append: LeaderAppend | FollowerAppend, config: LogConfig) -> bool:
    """Whether the append may occupy a worker for long, because its records are unpacked, converted or recompressed.

    False for a follower's append, and for the broker's own writes, because whole consumer groups wait for those.
    """
    return (
        append.origin is AppendOrigin.CLIENT
        and isinstance(append, LeaderAppend)
        and not _is_quick_to_walk(append.records)
        and not _is_stored_unchanged(append, config)
    )


def _is_quick_to_walk(records: Buffer) -> bool:
    size = len(records)
    return size <= SMALL_APPEND_BYTES and (
        size <= _CODEC_POSITION or (records[MAGIC_POSITION] == 2 and not records[_CODEC_POSITION] & CODEC_MASK)
    )


def _has_few_batches(records: Buffer) -> bool:
    """Whether a follower's append holds few batches.

    A batch that is cut off or has an invalid length ends the count.
    """
    size = len(records)
    position = 0
    for _ in range(FEW_BATCHES):
        if size - position < _MIN_BATCH_BYTES:
            return True
        (length,) = unpack_length(records, position + LENGTH_POSITION)
        if length < 0:
            return True
        position += LOG_OVERHEAD + length
    return size - position < _MIN_BATCH_BYTES


def _is_stored_unchanged(append: LeaderAppend, config: LogConfig) -> bool:
    try:
        return is_stored_unchanged(append.records, config, append.now_ms)
    except KafkaError:  # the append itself reports the error
        return False


class InlineBudget:
    """Decides whether appends to a log directory may run on the event loop now.

    They may not for a while after two appends in a row took over 1 ms. One slow append says little, because on a busy
    machine the loop's thread sometimes loses its processor. Each further slow append doubles the pause. `now` is a
    monotonic clock in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.now = now
        self.paused_until = float("-inf")
        """No append runs on the loop before this time."""
        self._pause = _FIRST_PAUSE_SECONDS
        self._last_was_slow = False

    def spent(self, started: float, ended: float) -> None:
        """Record how long an append on the loop took."""
        is_slow = ended - started > _SLOW_SECONDS
        was_slow, self._last_was_slow = self._last_was_slow, is_slow
        if is_slow and was_slow:
            self.paused_until = ended + self._pause
            self._pause = min(self._pause * 2, _LONGEST_PAUSE_SECONDS)
        elif not is_slow and ended - self.paused_until > self._pause:
            self._pause = _FIRST_PAUSE_SECONDS

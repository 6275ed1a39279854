"""Which appends run on the event loop, and for how long.

Two hops between threads cost more than most appends do: the checksum and the write of 256 KiB into the page cache take
0.1 ms, and a batch that goes through the pool makes threads wait for the interpreter lock about a dozen times. What may
take long goes to the pool: records that must be walked or unpacked, a sync, a new segment (a request may begin one in
each of a thousand partitions), a disk that is slow just now.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from struct import Struct

from ...protocol.errors import KafkaError
from ...protocol.records.batch import MAGIC_POSITION
from ..files.files import Buffer
from ..log_config import LogConfig
from ..producers.producer_state import AppendOrigin
from .append_validation import is_stored_as_it_came
from .log_append import FollowerAppend, LeaderAppend

SMALL_APPEND_BYTES = 16 * 1024
"""So much may be walked record by record, when it is not compressed."""

LARGE_APPEND_BYTES = 512 * 1024
"""So much may be stored as it came. Longer writes would be felt by all other connections."""

FEW_BATCHES = 100
"""Of them a header, a checksum and a place in the log's tables take some 5 microseconds each."""

_SLOW_SECONDS = 0.001
_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 30.0
_NEVER = (1 << 63) - 1
_LENGTH = Struct(">i")
_LENGTH_POSITION = 8
_LEAST_BATCH_BYTES = 12
_CODEC_POSITION = 22  # of magic 2
_CODEC_MASK = 0x07


def is_little_work(append: LeaderAppend | FollowerAppend, config: LogConfig) -> bool:
    """Whether the loop may do it, as far as can be told without trying."""
    if config.flush_messages != _NEVER:
        return False
    records = append.records
    size = len(records)
    if isinstance(append, FollowerAppend):
        return size <= SMALL_APPEND_BYTES or (size <= LARGE_APPEND_BYTES and _has_few_batches(records))
    return _is_walked_soon(records) or (size <= LARGE_APPEND_BYTES and _is_stored_as_it_came(append, config))


def is_bulk(append: LeaderAppend | FollowerAppend, config: LogConfig) -> bool:
    """Whether it may keep a worker for long: records are unpacked, converted or packed anew. Those of a follower never
    are, nor what the broker itself writes, for which whole groups would wait."""
    return (
        append.origin is AppendOrigin.CLIENT
        and isinstance(append, LeaderAppend)
        and not _is_walked_soon(append.records)
        and not _is_stored_as_it_came(append, config)
    )


def _is_walked_soon(records: Buffer) -> bool:
    size = len(records)
    return size <= SMALL_APPEND_BYTES and (
        size <= _CODEC_POSITION or (records[MAGIC_POSITION] == 2 and not records[_CODEC_POSITION] & _CODEC_MASK)
    )


def _has_few_batches(records: Buffer) -> bool:
    """Whether a follower, which looks at each batch's header and checksum, has few to look at. A batch that is cut off,
    or says nonsense of its length, is the last one."""
    size = len(records)
    position = 0
    for _ in range(FEW_BATCHES):
        if size - position < _LEAST_BATCH_BYTES:
            return True
        (length,) = _LENGTH.unpack_from(records, position + _LENGTH_POSITION)
        if length < 0:
            return True
        position += _LENGTH_POSITION + _LENGTH.size + length
    return size - position < _LEAST_BATCH_BYTES


def _is_stored_as_it_came(append: LeaderAppend, config: LogConfig) -> bool:
    try:
        return is_stored_as_it_came(append.records, config, append.now_ms)
    except KafkaError:  # whoever appends it is told
        return False


class InlineBudget:
    """Whether appends to a log directory may run on the loop: not for a while after two in a row took over 1 ms.

    One alone says little: on a busy machine the loop's thread loses its processor now and then, and an append through
    the pool costs more than twice as much. A disk that stalls stalls the next one too. Each further slow one doubles
    the pause. `now` is a monotonic clock in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.now = now
        self.paused_until = float("-inf")
        """Before that, none may."""
        self._pause = _FIRST_PAUSE_SECONDS
        self._last_was_slow = False

    def spent(self, started: float, ended: float) -> None:
        """Note how long an append on the loop took."""
        is_slow = ended - started > _SLOW_SECONDS
        was_slow, self._last_was_slow = self._last_was_slow, is_slow
        if is_slow and was_slow:
            self.paused_until = ended + self._pause
            self._pause = min(self._pause * 2, _LONGEST_PAUSE_SECONDS)
        elif not is_slow and ended - self.paused_until > self._pause:
            self._pause = _FIRST_PAUSE_SECONDS

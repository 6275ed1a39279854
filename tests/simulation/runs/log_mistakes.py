"""Deliberate mistakes in logs as switches: in producer state, deletion of old records and recovery."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from functools import partial
from typing import Any
from unittest.mock import patch

from pybroker.protocol.errors import ErrorCode
from pybroker.storage.log import append_write, log, log_truncation
from pybroker.storage.log import retention_rules as retention
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_append import LogAppendInfo, appended_before
from pybroker.storage.log.log_files import LogFiles
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.log.retention_rules import SegmentFacts
from pybroker.storage.producers.prepared_append import PreparedAppend
from pybroker.storage.producers.producer_recovery import rebuild_producer_state
from pybroker.storage.producers.producer_state import BatchMetadata, DataBatch, EndMarker, ProducerState
from pybroker.storage.producers.refused_batches import RefusedBatches
from pybroker.storage.recovery import log_loader, log_recovery
from pybroker.storage.segment.segment import Segment
from simulation.checkers.history import Guarantee, Sent
from simulation.clients.client_link import UnansweredError
from simulation.clients.producer import Lane

__all__ = ["LOG_MISTAKES", "lost_answers", "lost_requests"]


@contextmanager
def _forgotten_sequences() -> Iterator[None]:
    """Accept a producer's retry as a new batch."""
    with (
        patch.object(ProducerState, "find_duplicate", lambda self, batch: None),
        patch.object(ProducerState, "_check_sequence", lambda self, entry, batch: None),
    ):
        yield


@contextmanager
def _unchecked_sequences() -> Iterator[None]:
    """Accept a batch although the one before it is missing."""
    with (
        lost_requests(),
        patch.object(ProducerState, "_check_sequence", lambda self, entry, batch: None),
        patch.object(RefusedBatches, "check", lambda self, *batch: None),
    ):
        yield


def _last_batch_only(state: ProducerState, batch: DataBatch) -> BatchMetadata | None:
    """Recognise only a producer's last batch as a duplicate."""
    entry = state.producers.get(batch.producer_id)
    return _find_duplicate(state, batch) if entry is None else _known_of(entry.batches[-1:], batch)


_find_duplicate = ProducerState.find_duplicate


def _known_of(known: list[BatchMetadata], batch: DataBatch) -> BatchMetadata | None:
    return next((each for each in known if each.last_sequence == batch.last_sequence), None)


def _forget_after_a_cut(state: ProducerState, *arguments: Any) -> None:
    """Forget the producers after a truncation, except those with an open transaction."""
    rebuild_producer_state(state, *arguments)
    state.producers = {
        producer_id: entry for producer_id, entry in state.producers.items() if entry.current_txn_first_offset >= 0
    }


@contextmanager
def _forgotten_after_a_cut() -> Iterator[None]:
    with lost_answers(), patch.object(log_truncation, "rebuild_producer_state", _forget_after_a_cut):
        yield


def lost_answers() -> Any:
    """Not a mistake: drop the first responses to every other idempotent batch, so that it is retried at a later
    leader.
    """
    return patch.object(Lane, "_try", _try_unheard)


_try = Lane._try
_UNHEARD_ATTEMPTS = 2
_UNHEARD_S = 1.0


async def _try_unheard(lane: Lane, sent: Sent, leader: int) -> ErrorCode:
    code = await _try(lane, sent, leader)
    if sent.guarantee is Guarantee.ONCE and sent.number % 2 == 0 and sent.attempts <= _UNHEARD_ATTEMPTS:
        await asyncio.sleep(_UNHEARD_S)
        raise UnansweredError("the response is lost")
    return code


def lost_requests() -> Any:
    """Not a mistake: the first request with every fourth idempotent batch does not reach the leader."""
    return patch.object(Lane, "_try", _try_unsent)


async def _try_unsent(lane: Lane, sent: Sent, leader: int) -> ErrorCode:
    if sent.guarantee is Guarantee.ONCE and sent.number % 4 == 0 and sent.attempts <= 1:
        raise UnansweredError("the request is lost")
    return await _try(lane, sent, leader)


@contextmanager
def _nothing_recalled() -> Iterator[None]:
    """Forget batches of a producer that the snapshot does not hold, as Kafka does."""
    with (
        patch.object(log, "recall_last_batches", lambda state, segments: None),
        patch.object(log_recovery, "recall_last_batches", lambda state, segments: None),
    ):
        yield


def _answered_one_further(known: BatchMetadata, size_bytes: int, log_start_offset: int) -> LogAppendInfo:
    """Answer a duplicate with another offset than that of its first copy."""
    further = known._replace(last_offset=known.last_offset + 1)
    return appended_before(further, size_bytes, log_start_offset)


def _index_committed(
    files: LogFiles, state: ProducerState, active: Segment, appends: Sequence[PreparedAppend]
) -> int | None:
    """List every finished transaction as aborted, even if it was committed."""
    return _index_aborted(files, state, active, [_all_aborted(append) for append in appends])


_index_aborted = append_write._index_aborted


def _all_aborted(append: PreparedAppend) -> PreparedAppend:
    other = copy(append)
    other.producers = [
        each._replace(is_abort=True) if isinstance(each, EndMarker) else each for each in other.producers
    ]
    return other


def _load_what_is_flushed(loader: log_loader._Loader) -> Log:
    """Truncate a log to its recovery point at start."""
    loaded = _load(loader)
    truncate_to(loaded, loaded.recovery_point, 0)
    return loaded


_load = log_loader._Loader.load


def _load_one_batch_less(loader: log_loader._Loader) -> Log:
    """Truncate the last batch in a recovery although it is valid."""
    loaded = _load(loader)
    if loader.start.needs_recovery:
        truncate_to(loaded, max(loaded.log_end_offset - 1, loaded.view.log_start_offset), 0)
    return loaded


def _load_one_record_later(loader: log_loader._Loader) -> Log:
    """Start a log after its first record."""
    loaded = _load(loader)
    loaded.increment_log_start_offset(min(loaded.view.log_start_offset + 1, loaded.log_end_offset))
    return loaded


def _all_but_the_last(segments: Sequence[SegmentFacts], high_watermark: int, *limits: int) -> int:
    """Delete all segments except the last, whatever size or age the topic's settings keep."""
    return sum(not segment.is_last and segment.end_offset <= high_watermark for segment in segments)


LOG_MISTAKES: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "a log forgets the sequences of producers": _forgotten_sequences,
    "a log remembers only the last batch of each producer": partial(
        patch.object, ProducerState, "find_duplicate", _last_batch_only
    ),
    "a truncated log forgets its producers": _forgotten_after_a_cut,
    "a log forgets producer batches missing from the snapshot": _nothing_recalled,
    "a leader does not check sequences": _unchecked_sequences,
    "a log forgets that it refused a batch": partial(patch.object, RefusedBatches, "check", lambda self, *batch: None),
    "a duplicate is answered with another offset": partial(patch.object, log, "appended_before", _answered_one_further),
    "committed transactions are listed as aborted": partial(
        patch.object, append_write, "_index_aborted", _index_committed
    ),
    "aborted transactions are not listed": partial(
        patch.object, append_write, "_index_aborted", lambda files, state, active, appends: None
    ),
    "a start drops records after the recovery point": partial(
        patch.object, log_loader._Loader, "load", _load_what_is_flushed
    ),
    "a recovery truncates more than a crash took": partial(
        patch.object, log_loader._Loader, "load", _load_one_batch_less
    ),
    "a restarted log starts at a later offset": partial(
        patch.object, log_loader._Loader, "load", _load_one_record_later
    ),
    "retention by size deletes records that must be kept": partial(
        patch.object, retention, "beyond_size", _all_but_the_last
    ),
    "retention by time deletes records that must be kept": partial(
        patch.object, retention, "beyond_time", _all_but_the_last
    ),
}
"""A context manager for each mistake, by its description."""

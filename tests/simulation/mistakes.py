"""The classic mistakes of replication, as switches: a simulation whose checkers do not see them proves nothing."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

from pybroker.controller import partition_state_machine
from pybroker.controller.context import ControllerContext
from pybroker.controller.leader_election import elect_when_offline
from pybroker.replication import fetch_reads
from pybroker.replication.fetch import FetchParams, FetchResult, PartitionFetch
from pybroker.replication.hosted_partition import HostedPartition
from pybroker.replication.isolation import Isolation
from pybroker.replication.partition import Leader, Partition
from pybroker.replication.partition_state import PartitionState
from pybroker.replication.reader import read_partition
from pybroker.storage import retention
from pybroker.storage.log import Log
from pybroker.storage.log_append import FollowerAppend, LeaderAppend
from pybroker.storage.producer_state import BatchMetadata, DataBatch, ProducerState
from pybroker.storage.retention import SegmentFacts
from pybroker.storage.strand import AppendCallback, Strand
from simulation.simulated_pool import SimulatedPool

__all__ = ["MISTAKES", "slow_queues"]


def _cut_to_the_high_watermark(partition: Partition, state: PartitionState) -> bool:
    """Before KIP-101: a follower forgets what it does not know to be committed, before it asks the leader."""
    changed = _become_follower(partition, state)
    log = partition.log
    if isinstance(log, Log) and log.log_end_offset > partition.high_watermark:
        log.truncate_to(partition.high_watermark, 0)
    return changed


_become_follower = Partition.become_follower


def _lowest_of_committed(partition: Partition, leader: Leader, leader_end_offset: int, now_ms: int) -> int:
    """Not waiting for those that are about to join the ISR, or may have."""
    ends = [leader.replicas[member].log_end_offset for member in leader.isr.members if member in leader.replicas]
    return min([leader_end_offset, *ends])


@contextmanager
def _patched(owner: Any, name: str, replacement: Any) -> Iterator[None]:
    with patch.object(owner, name, replacement):
        yield


class _AnyEpoch(int):
    """The same as any other, and not later than any."""

    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        return True

    def __gt__(self, other: object) -> bool:
        return False

    def __lt__(self, other: object) -> bool:
        return False


@contextmanager
def _forgotten_broker_epochs() -> Iterator[None]:
    """A controller that takes a broker for the one it knew, however often it was restarted."""
    with (
        patch.object(ControllerContext, "broker_epoch", lambda self, broker_id: _AnyEpoch(-1)),
        patch.object(ControllerContext, "is_of_broker_epoch", lambda self, broker_id, broker_epoch: True),
    ):
        yield


@contextmanager
def _unfenced_appends() -> Iterator[None]:
    """Appends of leaders wait for long, and nobody looks under which leader epoch they were accepted."""
    with slow_queues(), patch.object(Log, "check_fence", lambda self, leader_epoch: None):
        yield


def slow_queues() -> Any:
    """No mistake by itself: leaders' appends take so long that followers of a new leader have fetched meanwhile."""
    return patch.object(Strand, "append", _append_later)


_append = Strand.append
_LONG_S = 1.0


def _append_later(strand: Strand, append: LeaderAppend | FollowerAppend, callback: AppendCallback) -> None:
    if isinstance(append, FollowerAppend):
        _append(strand, append, callback)
    else:
        asyncio.get_running_loop().call_later(_LONG_S, _append_unless_killed, strand, append, callback)


def _append_unless_killed(strand: Strand, append: LeaderAppend, callback: AppendCallback) -> None:
    pool = strand._pool
    assert isinstance(pool, SimulatedPool)
    if not pool.is_killed:  # or the broker has crashed meanwhile
        _append(strand, append, callback)


def _elect_anybody(*arguments: Any, **named: Any) -> Any:
    return elect_when_offline(*arguments, **{**named, "unclean_allowed": True})


def _read_to_the_end(
    hosted: HostedPartition, fetch: PartitionFetch, params: FetchParams, max_bytes: int, **named: bool
) -> FetchResult:
    """Whoever reads is shown the whole log, as followers are."""
    return read_partition(hosted, fetch, replace(params, isolation=Isolation.LOG_END), max_bytes, **named)


@contextmanager
def _forgotten_sequences() -> Iterator[None]:
    """A log that takes what a producer sends again for something new."""
    with (
        patch.object(ProducerState, "find_duplicate", lambda self, batch: None),
        patch.object(ProducerState, "_check_sequence", lambda self, entry, batch: None),
    ):
        yield


def _last_batch_only(state: ProducerState, batch: DataBatch) -> BatchMetadata | None:
    """As if a producer had one batch at a time on its way."""
    entry = state.producers.get(batch.producer_id)
    return _find_duplicate(state, batch) if entry is None else _known_of(entry.batches[-1:], batch)


_find_duplicate = ProducerState.find_duplicate


def _known_of(known: list[BatchMetadata], batch: DataBatch) -> BatchMetadata | None:
    return next((each for each in known if each.last_sequence == batch.last_sequence), None)


def _all_but_the_last(segments: Sequence[SegmentFacts], high_watermark: int, *limits: int) -> int:
    """Whatever size or age the topic wants to have kept."""
    return sum(not segment.is_last and segment.end_offset <= high_watermark for segment in segments)


MISTAKES: dict[str, Callable[[], Any]] = {
    "a follower truncates to its high watermark": partial(
        _patched, Partition, "become_follower", _cut_to_the_high_watermark
    ),
    "the high watermark does not wait for the maximal ISR": partial(
        _patched, Partition, "_lowest_end_offset", _lowest_of_committed
    ),
    "the high watermark moves below min.insync.replicas": partial(
        _patched, Partition, "effective_minimum_isr", lambda self: 1
    ),
    "leaders are elected outside of the ISR": partial(
        _patched, partition_state_machine, "elect_when_offline", _elect_anybody
    ),
    "the controller forgets broker epochs": _forgotten_broker_epochs,
    "an append that was queued as leader runs as follower": _unfenced_appends,
    "consumers see what is not committed": partial(_patched, fetch_reads, "read_partition", _read_to_the_end),
    "who reads committed records sees open transactions": partial(
        _patched, Log, "last_stable_offset", lambda log, high_watermark: high_watermark
    ),
    "a log forgets the sequences of producers": _forgotten_sequences,
    "a log remembers the last batch of each producer only": partial(
        _patched, ProducerState, "find_duplicate", _last_batch_only
    ),
    "retention deletes what is to be kept": partial(_patched, retention, "beyond_size", _all_but_the_last),
}
"""By what is wrong: a context in which it is."""

"""Classic mistakes of replication as switches, which prove that the checkers of a simulation notice them."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.append_bridge import AppendBridge
from pybroker.broker.coordinator.internal_log import AppendDone, InternalAppend
from pybroker.controller import partition_state_machine
from pybroker.controller.context import ControllerContext
from pybroker.controller.leader_election import elect_when_offline
from pybroker.controller.tree.leader_and_isr import LeaderAndIsr
from pybroker.controller.tree.metadata_store import Check, Operation
from pybroker.protocol.errors import ErrorCode
from pybroker.replication import record_deletion
from pybroker.replication.leader import fetch_reads
from pybroker.replication.partition import reader
from pybroker.replication.partition.append_request import AppendRequest
from pybroker.replication.partition.append_result import AppendResult
from pybroker.replication.partition.fetch import FetchParams, FetchResult, PartitionFetch
from pybroker.replication.partition.hosted_partition import HostedPartition
from pybroker.replication.partition.isolation import Isolation
from pybroker.replication.partition.isr import PendingExpand
from pybroker.replication.partition.partition import Leader, Partition
from pybroker.replication.partition.partition_state import PartitionState
from pybroker.replication.partition.reader import read_partition
from pybroker.replication.partition_set import PartitionSet
from pybroker.replication.state_changes import StateChanges
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_append import FollowerAppend, LeaderAppend
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.log.strand import AppendCallback, Strand
from pybroker.storage.producers.producer_state import AppendOrigin
from simulation.machines.model_store import ModelStore
from simulation.machines.simulated_pool import SimulatedPool
from simulation.runs.log_mistakes import LOG_MISTAKES

__all__ = ["MISTAKES", "slow_queues"]


def _cut_to_the_high_watermark(partition: Partition, state: PartitionState) -> bool:
    """Truncate a new follower to its high watermark before it asks the leader, as before KIP-101."""
    changed = _become_follower(partition, state)
    log = partition.log
    if isinstance(log, Log) and log.log_end_offset > partition.high_watermark:
        truncate_to(log, partition.high_watermark, 0)
    return changed


_become_follower = Partition.become_follower


def _lowest_of_committed(partition: Partition, leader: Leader, leader_end_offset: int, now_ms: int) -> int:
    """Advance the high watermark without waiting for replicas that may join the ISR."""
    ends = [leader.replicas[member].log_end_offset for member in leader.isr.members if member in leader.replicas]
    return min([leader_end_offset, *ends])


@contextmanager
def _nobody_is_about_to_join() -> Iterator[None]:
    """Leave replicas that are about to join out of the maximal ISR, in the leader's state as well."""
    with (
        patch.object(PendingExpand, "maximal", property(lambda self: self.members)),
        patch.object(PendingExpand, "proposed", property(lambda self: self.members | {self.joining})),
        patch.object(Partition, "_lowest_end_offset", _lowest_of_committed),
    ):
        yield


@contextmanager
def _patched(owner: Any, name: str, replacement: Any) -> Iterator[None]:
    with patch.object(owner, name, replacement):
        yield


class _AnyEpoch(int):
    """An epoch that equals every other and is not later than any."""

    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        return True

    def __gt__(self, other: object) -> bool:
        return False

    def __lt__(self, other: object) -> bool:
        return False


@contextmanager
def _forgotten_broker_epochs() -> Iterator[None]:
    """Treat a restarted broker as the one known before."""
    with (
        patch.object(ControllerContext, "broker_epoch", lambda self, broker_id: _AnyEpoch(-1)),
        patch.object(ControllerContext, "is_of_broker_epoch", lambda self, broker_id, broker_epoch: True),
    ):
        yield


@contextmanager
def _unfenced_appends() -> Iterator[None]:
    """Delay leaders' appends, and do not check the leader epoch under which they were accepted."""
    with slow_queues(), patch.object(Log, "check_fence", lambda self, leader_epoch: None):
        yield


def slow_queues() -> Any:
    """Not a mistake: delay leaders' appends until followers have fetched from a new leader."""
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
    if not pool.is_killed:  # false if the broker has crashed meanwhile
        _append(strand, append, callback)


def _elect_anybody(*arguments: Any, **named: Any) -> Any:
    return elect_when_offline(*arguments, **{**named, "unclean_allowed": True})


def _read_to_the_end(
    hosted: HostedPartition, fetch: PartitionFetch, params: FetchParams, max_bytes: int, **named: bool
) -> FetchResult:
    """Show consumers the whole log, as followers see it."""
    return read_partition(hosted, fetch, replace(params, isolation=Isolation.LOG_END), max_bytes, **named)


def _under_the_same_epoch(state: LeaderAndIsr, leader: int, isr: tuple[int, ...]) -> LeaderAndIsr:
    return replace(state, leader=leader, isr=isr)


def _write_by_whomever(store: ModelStore, operations: Sequence[Operation]) -> Any:
    """Write without comparing the controller epoch."""
    return _multi(store, [replace(each, version=-1) if isinstance(each, Check) else each for each in operations])


_multi = ModelStore.multi


Done = Callable[[AppendResult], None]
Change = Callable[[HostedPartition, int, Done, bool], tuple[int, Done] | None]
"""``(hosted, required_acks, done, is_clients)`` returns the acks to wait for and the callback; None drops the
append.
"""


def _appending(change: Change) -> Callable[..., None]:
    """`PartitionSet.append` with this change for hosted partitions."""

    def append(partitions: PartitionSet, request: AppendRequest, done: Done) -> None:
        topic_partition = request.topic_partition
        hosted = partitions.get(topic_partition)
        if hosted is not None:
            is_clients = not topic_partition.topic.startswith("__") and request.origin is AppendOrigin.CLIENT
            changed = change(hosted, request.required_acks, done, is_clients)
            if changed is None:
                return
            required_acks, done = changed
            request = request._replace(required_acks=required_acks)
        _append_to_set(partitions, request, done)

    return append


_append_to_set = PartitionSet.append


def _unseen(hosted: HostedPartition, required_acks: int, done: Done, is_clients: bool) -> tuple[int, Done]:
    """Acknowledge a produce with acks=1 before the append."""
    if required_acks == 1 and hosted.partition.is_leader:
        end = hosted.log.log_end_offset
        done(AppendResult(base_offset=end, last_offset=end))
        return required_acks, _nobody
    return required_acks, done


def _under_first_epoch(
    hosted: HostedPartition, required_acks: int, done: Done, is_clients: bool
) -> tuple[int, Done] | None:
    """Refuse all appends of clients after the first election."""
    if is_clients and hosted.partition.leader_epoch > 0:
        done(AppendResult(error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
        return None
    return required_acks, done


def _refused_afterwards(hosted: HostedPartition, required_acks: int, done: Done, is_clients: bool) -> tuple[int, Done]:
    """Write the records, then refuse them because of missing replicas."""
    if required_acks == -1 and _has_too_few(hosted.partition):
        refused = AppendResult(error=ErrorCode.NOT_ENOUGH_REPLICAS)
        return 1, lambda result: done(refused)
    return required_acks, done


def _has_too_few(partition: Partition) -> bool:
    leader = partition.leader
    return leader is not None and bool(leader.replicas) and len(leader.isr.members) < partition.effective_minimum_isr()


def _nobody(result: AppendResult) -> None:
    """Ignores the result."""


def _append_alone(bridge: AppendBridge, append: InternalAppend, done: AppendDone) -> None:
    _append_by_bridge(bridge, append._replace(awaits_replicas=False), done)


_append_by_bridge = AppendBridge.append


async def _keep_log(changes: StateChanges, topic_partition: TopicPartition) -> None:
    """Keep the log of a deleted topic."""


def _all_committed(hosted: HostedPartition, offset: int) -> int:
    return hosted.partition.high_watermark


MISTAKES: dict[str, Callable[[], Any]] = {
    "a follower truncates to its high watermark": partial(
        _patched, Partition, "become_follower", _cut_to_the_high_watermark
    ),
    "the high watermark does not wait for the maximal ISR": partial(
        _patched, Partition, "_lowest_end_offset", _lowest_of_committed
    ),
    "the maximal ISR leaves out joining replicas": _nobody_is_about_to_join,
    "the high watermark moves below min.insync.replicas": partial(
        _patched, Partition, "effective_minimum_isr", lambda self: 1
    ),
    "leaders are elected outside of the ISR": partial(
        _patched, partition_state_machine, "elect_when_offline", _elect_anybody
    ),
    "the controller forgets broker epochs": _forgotten_broker_epochs,
    "an append that was queued as leader runs as follower": _unfenced_appends,
    "consumers read uncommitted records": partial(_patched, fetch_reads, "read_partition", _read_to_the_end),
    "read_committed consumers read open transactions": partial(
        _patched, Log, "last_stable_offset", lambda log, high_watermark: high_watermark
    ),
    "a leader does not tell followers where their logs diverge": partial(
        _patched, reader, "diverging_epoch", lambda hosted, fetch: None
    ),
    "a new leader keeps the epoch of its predecessor": partial(
        _patched, LeaderAndIsr, "with_leader_and_isr", _under_the_same_epoch
    ),
    "a follower that has caught up stays outside of the ISR": partial(
        _patched, Partition, "maybe_expand_isr", lambda self, replica: None
    ),
    "a record is acknowledged before it is written": partial(_patched, PartitionSet, "append", _appending(_unseen)),
    "a controller writes without checking the controller epoch": partial(
        _patched, ModelStore, "multi", _write_by_whomever
    ),
    "an offset commit does not wait for replicas": partial(_patched, AppendBridge, "append", _append_alone),
    "logs of deleted topics are kept": partial(_patched, StateChanges, "_delete_log", _keep_log),
    "more records are deleted than a client asked for": partial(_patched, record_deletion, "_target", _all_committed),
    "leaders refuse all records after an election": partial(
        _patched, PartitionSet, "append", _appending(_under_first_epoch)
    ),
    "refused records are written": partial(_patched, PartitionSet, "append", _appending(_refused_afterwards)),
    **LOG_MISTAKES,
}
"""A context manager for each mistake, by its description."""

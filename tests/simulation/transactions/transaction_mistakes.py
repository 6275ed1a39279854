"""Classic mistakes of transaction coordinators as switches, which prove that the checkers of a simulation notice them.

Left out: offsets that are applied before their marker is committed, under a decision that is committed, are the same
offsets in the end.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from pybroker.broker import coordinators
from pybroker.broker.coordinator import internal_topic
from pybroker.broker.coordinator.append_result import AppendResult, append_result
from pybroker.broker.coordinator.marker_writer import MarkerWriter
from pybroker.broker.coordinator.transaction import (
    adding,
    changes,
    coordinator,
    ending,
    init_rules,
    marker_queue,
    producer_requests,
    replay,
    time_outs,
    transaction,
    transaction_log,
)
from pybroker.broker.coordinator.transaction.changes import Changes
from pybroker.broker.coordinator.transaction.end_markers import EndMarker, end_marker
from pybroker.broker.coordinator.transaction.marker_delivery import MarkerDelivery
from pybroker.broker.coordinator.transaction.outcomes import Outcome
from pybroker.broker.coordinator.transaction.picture import NO_PARTITIONS, TransactionPicture
from pybroker.broker.coordinator.transaction.records import decode_value
from pybroker.broker.coordinator.transaction.states import ENDING_STATES, IDLE_STATES, TransactionState
from pybroker.broker.coordinator.transaction.transaction import Transaction
from pybroker.broker.coordinators import Coordinators
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.sentinels import NO_LEADER
from pybroker.replication.partition_set import PartitionSet
from pybroker.storage.producers.producer_state import ProducerState

__all__ = ["MISTAKES"]


@contextmanager
def _patched(*patches: tuple[Any, str, Any]) -> Iterator[None]:
    if not patches:
        yield
        return
    (owner, name, replacement), *others = patches
    with patch.object(owner, name, replacement), _patched(*others):
        yield


# -- the order of steps


def _end_at_once(self: Changes, entity: Transaction, picture: TransactionPicture, done: Any) -> None:
    """Deliver the markers of a decision whose record is only being written."""
    _apply(self, entity, picture, done)
    if picture.state in ENDING_STATES and entity.pending is picture:
        partition = self._registry.partition_for(entity.transactional_id)
        marker = EndMarker(
            entity.transactional_id,
            partition,
            self._registry.ownership.epoch_of(partition),
            picture.producer.producer_id,
            picture.producer.epoch,
            picture.state is TransactionState.PREPARE_COMMIT,
        )
        self.delivery.want(marker, picture.partitions)


_apply = Changes.apply


def _complete_at_once(endings: Any) -> list[EndMarker]:
    """Every ending counts as complete, whatever partitions are left."""
    return [each.marker for each in dict.fromkeys(endings) if not each.is_over]


def _answer_at_once(self: Changes, entity: Transaction, picture: TransactionPicture, done: Any) -> None:
    """Answer before the record is written."""
    _apply(self, entity, picture, lambda code: None)
    done(ErrorCode.NONE)


async def _is_committed(partitions: PartitionSet, topic_partition: Any) -> None:
    """Do not wait until the records that were read are committed."""


# -- the outcome of an append


def _dropped(outcome: Any) -> AppendResult:
    """An append without a result counts as not written."""
    result = append_result(outcome)
    return AppendResult.NOT_WRITTEN if result is AppendResult.IN_DOUBT else result


def _with_timeout(*arguments: Any) -> Any:
    return _state_settings(*arguments)._replace(timeout_ms=300)


_state_settings = internal_topic.transaction_state_settings


# -- epochs


def _without_coordinator_epoch(*arguments: Any) -> EndMarker:
    return _end_marker(*arguments)._replace(coordinator_epoch=0)


_end_marker = end_marker


def _any_epoch(entity: Transaction | None, producer: Any) -> ErrorCode:
    """Compare the producer id alone."""
    if entity is None or entity.current.producer.producer_id != producer.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    return ErrorCode.NONE


def _without_abort(entity: Transaction, request: Any, now_ms: int, fresh_producer_id: int | None) -> Outcome:
    """A new producer starts while the transaction of the one before it is open."""
    if entity.state is TransactionState.ONGOING and not entity.is_pending:
        return init_rules._initialize(entity.current, request, now_ms, fresh_producer_id)
    return _initialize(entity, request, now_ms, fresh_producer_id)


_initialize = init_rules.initialize


def _without_bump(entity: Transaction, now_ms: int, fresh_producer_id: int | None) -> Any:
    """The producer whose transaction has timed out keeps its epoch."""
    return entity.current._replace(state=TransactionState.PREPARE_ABORT, last_update_ms=now_ms)


def _same_epoch(current: Any, producer: Any) -> tuple[int, int] | None:
    """A producer that starts gets the epoch of the one before it."""
    epochs = _next_epochs(current, producer)
    is_first = current.epoch < 0
    return epochs if epochs is None or is_first or producer.is_given else (current.epoch, epochs[1])


_next_epochs = init_rules._next_epochs


def _unchecked(before: TransactionPicture, after: TransactionPicture) -> None:
    """Every change counts as legal."""


def _has_epoch(current: Any, producer: Any) -> bool:
    """Every epoch of the producer id counts as the current one."""
    return True


def _has_open_transaction(self: ProducerState, producer_id: int, producer_epoch: int) -> bool:
    """An open transaction of any epoch counts as the batch's own."""
    entry = self.producers.get(producer_id)
    return entry is not None and entry.current_txn_first_offset >= 0


# -- partitions


def _without_partitions(value: Any) -> TransactionPicture:
    picture = decode_value(value)
    return picture._replace(partitions=NO_PARTITIONS) if picture.state in ENDING_STATES else picture


def _led_or_deleted(self: Coordinators, topic_partition: Any) -> int | None:
    """A partition that has no leader now counts as deleted."""
    leader_id = _leader_of(self, topic_partition)
    return None if leader_id == NO_LEADER else leader_id


_leader_of = Coordinators._leader_of


def _verified(entity: Any, producer: Any, partitions: Any) -> Mapping[Any, ErrorCode]:
    """Every partition counts as part of the transaction."""
    return dict.fromkeys(partitions, ErrorCode.NONE)


def _keep_markers(self: MarkerDelivery, state_partition: int) -> None:
    """Go on with the markers of a partition that another broker coordinates."""


# -- offsets


def _settle_late(self: MarkerWriter, marker: Any, topic_partition: Any, done: Any, result: Any) -> None:
    """Acknowledge a marker before the offsets of its transaction take effect."""
    if result.error is not ErrorCode.NONE or topic_partition.topic != "__consumer_offsets":
        _settle(self, marker, topic_partition, done, result)
        return
    done(result.error)
    asyncio.get_running_loop().call_later(0.3, _settle, self, marker, topic_partition, lambda code: None, result)


_settle = MarkerWriter._settle


MISTAKES: dict[str, Callable[[], Any]] = {
    "markers are written before the decision is committed": partial(_patched, (Changes, "apply", _end_at_once)),
    "a transaction is complete before all markers are written": partial(
        _patched, (marker_queue, "_complete", _complete_at_once)
    ),
    "requests are answered before the record is committed": partial(_patched, (Changes, "apply", _answer_at_once)),
    "a load acts on records above the high watermark": partial(
        _patched, (PartitionSet, "all_committed", _is_committed)
    ),
    "an append without a result counts as not written": partial(
        _patched,
        (coordinators, "transaction_state_settings", _with_timeout),
        (transaction_log, "append_result", _dropped),
    ),
    "markers have no coordinator epoch": partial(_patched, (changes, "end_marker", _without_coordinator_epoch)),
    "EndTxn does not compare epochs": partial(_patched, (ending, "check_producer", _any_epoch)),
    "EndTxn of version 2 does not compare epochs": partial(_patched, (ending, "has_epoch", _has_epoch)),
    "a batch of a new epoch is taken into the open transaction of the old one": partial(
        _patched, (ProducerState, "has_open_transaction", _has_open_transaction)
    ),
    "AddPartitionsToTxn does not compare epochs": partial(_patched, (adding, "check_producer", _any_epoch)),
    "a new producer does not abort the transaction of the one before it": partial(
        _patched, (producer_requests, "initialize", _without_abort), (transaction, "check_transition", _unchecked)
    ),
    "a new producer gets no new epoch": partial(_patched, (init_rules, "_next_epochs", _same_epoch)),
    "a timeout does not raise the epoch": partial(_patched, (coordinator, "fence", _without_bump)),
    "ids with an open transaction expire": partial(
        _patched,
        (time_outs, "IDLE_STATES", IDLE_STATES | {TransactionState.ONGOING}),
        (transaction, "check_transition", _unchecked),
    ),
    "a load forgets the partitions of ending transactions": partial(
        _patched, (replay, "decode_value", _without_partitions)
    ),
    "a partition without a leader counts as deleted": partial(_patched, (Coordinators, "_leader_of", _led_or_deleted)),
    "every partition counts as verified": partial(_patched, (producer_requests, "verify_partitions", _verified)),
    "markers are kept when a partition is unloaded": partial(_patched, (MarkerDelivery, "drop", _keep_markers)),
    "a marker is acknowledged before its offsets take effect": partial(
        _patched, (MarkerWriter, "_settle", _settle_late)
    ),
}
"""A context manager for each mistake, by its description."""

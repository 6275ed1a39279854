"""Batches that begin a transaction wait until the coordinator confirms that the partition is part of it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.replication.partition.append_request import AppendRequest
from pybroker.replication.partition.append_result import AppendResult
from pybroker.replication.transaction_checks import ProducerBatch, TransactionChecks, TransactionPart
from pybroker.storage.producers.producer_state import AppendOrigin
from support.in_process.replicas import BROKER, NOW_MS, TP, Replicas, batch_of, values_in
from support.in_process.transaction_coordinator import TransactionCoordinator
from support.logs.storage_pools import ManualPool
from support.time.loop_errors import loop_errors, on_purpose

ABORTABLE_VERSION, ADDING_VERSION = 11, 12
DAY_MS = 86_400_000


class Leader:
    """A broker that leads `orders-0`, and the coordinator that it asks."""

    def __init__(self, directory: Path) -> None:
        self.replicas = Replicas(directory)
        self.coordinator = TransactionCoordinator()
        self.checks = TransactionChecks(self.replicas.partitions, self.coordinator.ask, lambda: NOW_MS, is_enabled=True)

    def send(
        self,
        value: bytes,
        sequence: int = 0,
        *,
        epoch: int = 0,
        producer_id: int = 7,
        version: int = ABORTABLE_VERSION,
        is_transactional: bool = True,
    ) -> list[AppendResult]:
        """The list has the result once there is one."""
        results: list[AppendResult] = []
        batch = batch_of(
            value,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        records = memoryview(bytearray(batch))
        self.checks.append("t", version, AppendRequest(TP, records, 1, 1000, NOW_MS), results.append)
        return results

    def end(self, *, is_commit: bool = True, epoch: int = 0) -> None:
        """The coordinator's marker."""
        assert self.mark(AppendOrigin.COORDINATOR, epoch, is_commit=is_commit) is ErrorCode.NONE

    def mark(self, origin: AppendOrigin, epoch: int, *, is_commit: bool = True) -> ErrorCode:
        marker = build_marker_batch(
            EndTransactionMarker(is_commit, 0), producer_id=7, producer_epoch=epoch, timestamp_ms=NOW_MS
        )
        results: list[AppendResult] = []
        self.replicas.partitions.append(
            AppendRequest(TP, bytearray(marker), 1, 1000, NOW_MS, origin=origin), results.append
        )
        (result,) = results
        return result.error

    @property
    def values(self) -> list[bytes | None]:
        """The records of the log without transaction markers."""
        log = self.replicas.hosted().log
        region = log.read(0, 1 << 20, log.log_end_offset, True).region
        return [value for value in values_in(region) if value is not None and not value.startswith(b"\0")]


def codes(results: list[AppendResult]) -> list[ErrorCode]:
    return [result.error for result in results]


@pytest.fixture
async def leader(tmp_path: Path) -> AsyncIterator[Leader]:
    leader = Leader(tmp_path)
    await leader.replicas.order()
    yield leader
    leader.replicas.close()


async def test_the_first_batch_of_a_transaction_waits_for_the_coordinator(leader: Leader) -> None:
    results = leader.send(b"a")
    assert leader.coordinator.asked == [TransactionPart("t", 7, 0, TP)]
    assert (results, leader.values) == ([], [])
    leader.coordinator.answer()
    assert (codes(results), leader.values) == ([ErrorCode.NONE], [b"a"])


async def test_later_batches_of_a_transaction_are_not_verified_again(leader: Leader) -> None:
    leader.coordinator.answer_at_once()
    leader.send(b"a")
    assert codes(leader.send(b"b", 1)) == [ErrorCode.NONE]
    assert len(leader.coordinator.asked) == 1


async def test_next_transaction_is_verified_again(leader: Leader) -> None:
    leader.coordinator.answer_at_once()
    leader.send(b"a")
    leader.end()
    assert codes(leader.send(b"b", 1)) == [ErrorCode.NONE]
    assert len(leader.coordinator.asked) == 2


async def test_batches_during_verification_wait_for_the_same_answer_in_order(leader: Leader) -> None:
    results = [leader.send(b"%d" % number, number) for number in range(3)]
    assert len(leader.coordinator.asked) == 1
    leader.coordinator.answer()
    assert [codes(each) for each in results] == [[ErrorCode.NONE]] * 3
    assert leader.values == [b"0", b"1", b"2"]


async def test_failing_completion_does_not_block_the_next_ones(leader: Leader) -> None:
    errors = loop_errors()
    leader.checks.check(TP, "t", ProducerBatch(7, 0, 0), on_purpose)
    results = leader.send(b"a")
    leader.coordinator.answer()
    assert (codes(results), errors) == ([ErrorCode.NONE], ["on purpose"])


@pytest.mark.parametrize("is_enabled", [True, False])
async def test_batches_keep_their_order_between_verification_and_append(leader: Leader, is_enabled: bool) -> None:
    strand = leader.replicas.hosted().strand
    strand._pool = pool = ManualPool()
    first = leader.send(b"0")
    strand.submit(lambda log: None)  # the strand is busy
    leader.coordinator.answer()
    second = leader.send(b"1", 1)
    pool.run()  # the transaction is open
    leader.checks.is_enabled = is_enabled
    third = leader.send(b"2", 2)
    leader.coordinator.answer()
    pool.run()
    assert [codes(each) for each in (first, second, third)] == [[ErrorCode.NONE]] * 3
    assert leader.values == [b"0", b"1", b"2"]


async def test_verification_answered_after_that_of_the_next_transaction_appends_nothing(leader: Leader) -> None:
    late = leader.send(b"late", 5)
    leader.end(is_commit=False)
    begun = leader.send(b"begun")
    leader.coordinator.answer_last()
    leader.coordinator.answer()
    assert (codes(begun), codes(late)) == ([ErrorCode.NONE], [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER])
    assert leader.values == [b"begun"]


@pytest.mark.parametrize(
    ("said", "version", "code"),
    [
        (ErrorCode.TRANSACTION_ABORTABLE, ABORTABLE_VERSION, ErrorCode.TRANSACTION_ABORTABLE),
        (ErrorCode.TRANSACTION_ABORTABLE, ABORTABLE_VERSION - 1, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.INVALID_TXN_STATE, ABORTABLE_VERSION, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.INVALID_PRODUCER_EPOCH, ABORTABLE_VERSION, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, 3, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 3, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ABORTABLE_VERSION, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, ABORTABLE_VERSION, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.NETWORK_EXCEPTION, ABORTABLE_VERSION, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.NOT_COORDINATOR, ABORTABLE_VERSION, ErrorCode.NOT_ENOUGH_REPLICAS),
    ],
)
async def test_coordinators_error_is_translated_for_the_producers_version(
    leader: Leader, said: ErrorCode, version: int, code: ErrorCode
) -> None:
    leader.coordinator.answer_at_once(said)
    assert codes(leader.send(b"a", version=version)) == [code]
    assert leader.values == []


async def test_batch_after_the_marker_of_its_transaction_is_refused(leader: Leader) -> None:
    """Otherwise the batch would leave a transaction open that no coordinator ends."""
    leader.coordinator.answer_at_once()
    leader.send(b"a")
    leader.end(is_commit=False)
    leader.coordinator.answer_at_once(ErrorCode.TRANSACTION_ABORTABLE)
    assert codes(leader.send(b"late", 1, version=9)) == [ErrorCode.INVALID_TXN_STATE]
    assert leader.values == [b"a"]
    assert leader.replicas.hosted().log.producer_state.unstable.first_undecided == -1


async def test_verification_overtaken_by_a_marker_is_invalid(leader: Leader) -> None:
    late = leader.send(b"late", 5)
    leader.end(is_commit=False)
    next_one = leader.send(b"next")
    leader.coordinator.answer()
    assert codes(late) == [ErrorCode.INVALID_TXN_STATE]
    leader.coordinator.answer()
    assert codes(next_one) == [ErrorCode.NONE]
    assert leader.values == [b"next"]


async def test_later_batch_does_not_overtake_a_batch_to_be_retried(leader: Leader) -> None:
    first = leader.send(b"0", 0)
    leader.coordinator.answer(ErrorCode.NETWORK_EXCEPTION)
    leader.coordinator.answer_at_once()
    assert codes(leader.send(b"1", 1)) == [ErrorCode.NOT_ENOUGH_REPLICAS]
    assert codes(first + leader.send(b"0", 0) + leader.send(b"1", 1)) == [
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NONE,
        ErrorCode.NONE,
    ]
    assert leader.values == [b"0", b"1"]


async def test_repeated_batch_of_an_ended_transaction_is_a_duplicate(
    leader: Leader,
) -> None:
    leader.coordinator.answer_at_once()
    (first,) = leader.send(b"a")
    leader.end()
    (again,) = leader.send(b"a")
    assert (again.error, again.base_offset) == (ErrorCode.NONE, first.base_offset)


async def test_newer_producer_epoch_may_start_at_any_sequence(leader: Leader) -> None:
    leader.send(b"old", 5)
    newer = leader.send(b"new", 6, epoch=1)
    assert [each.producer_epoch for each in leader.coordinator.asked] == [0, 1]
    leader.coordinator.answer(ErrorCode.INVALID_PRODUCER_EPOCH)
    leader.coordinator.answer()
    assert codes(newer) == [ErrorCode.NONE]


async def test_records_outside_of_transactions_are_not_verified(leader: Leader) -> None:
    assert codes(leader.send(b"a", is_transactional=False)) == [ErrorCode.NONE]
    assert leader.coordinator.asked == []


async def test_disabled_verification_asks_no_coordinator(leader: Leader) -> None:
    leader.checks.is_enabled = False
    assert codes(leader.send(b"a")) == [ErrorCode.NONE]
    assert leader.coordinator.asked == []


async def test_partition_led_by_another_broker_is_not_verified(leader: Leader) -> None:
    await leader.replicas.order(leader=2, leader_epoch=1, replicas=(BROKER, 2), isr=(2,))
    assert codes(leader.send(b"a")) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert leader.coordinator.asked == []


async def test_leadership_that_ends_during_verification_gives_not_leader(leader: Leader) -> None:
    results = leader.send(b"a")
    await leader.replicas.order(leader=2, leader_epoch=1, replicas=(BROKER, 2), isr=(2,))
    leader.coordinator.answer()
    assert codes(results) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


async def test_batch_during_the_start_of_a_leadership_is_verified_afterwards(leader: Leader) -> None:
    with leader.replicas.hosted().hold_appends():
        results = leader.send(b"a")
        assert leader.coordinator.asked == []
    assert len(leader.coordinator.asked) == 1
    leader.coordinator.answer(ErrorCode.TRANSACTION_ABORTABLE)
    assert codes(results) == [ErrorCode.TRANSACTION_ABORTABLE]


async def test_failed_verifications_are_forgotten_when_producers_expire(leader: Leader) -> None:
    leader.coordinator.answer_at_once(ErrorCode.TRANSACTION_ABORTABLE)
    leader.send(b"a")
    log = leader.replicas.hosted().log
    log.remove_expired_producers(NOW_MS + DAY_MS - 1)
    assert len(log.producer_state.guards) == 1
    log.remove_expired_producers(NOW_MS + DAY_MS)
    assert len(log.producer_state.guards) == 0


async def test_producers_waiting_for_verification_are_bounded_by_remembered_producers(leader: Leader) -> None:
    log = leader.replicas.hosted().log
    log.producer_state.max_producers = 5
    results = [leader.send(b"a", producer_id=producer_id) for producer_id in range(6)]
    assert len(log.producer_state.guards) == 5
    for _ in results:
        leader.coordinator.answer(ErrorCode.NONE)
    assert [codes(result) for result in results] == [[ErrorCode.INVALID_TXN_STATE]] + [[ErrorCode.NONE]] * 5


# -- producers of transaction version 2


@pytest.mark.parametrize("is_enabled", [True, False])
async def test_partition_of_a_produce_12_is_added_even_without_verification(leader: Leader, is_enabled: bool) -> None:
    leader.checks.is_enabled = is_enabled
    results = leader.send(b"a", version=ADDING_VERSION)
    assert leader.coordinator.asked == [TransactionPart("t", 7, 0, TP, adds=True)]
    assert leader.values == []
    leader.coordinator.answer()
    assert codes(results) == [ErrorCode.NONE]
    assert codes(leader.send(b"b", 1, version=ADDING_VERSION)) == [ErrorCode.NONE]
    assert len(leader.coordinator.asked) == 1


@pytest.mark.parametrize(
    ("version", "code"),
    [(ABORTABLE_VERSION, ErrorCode.NOT_ENOUGH_REPLICAS), (ADDING_VERSION, ErrorCode.CONCURRENT_TRANSACTIONS)],
)
async def test_concurrent_transactions_is_told_to_producers_that_know_it(
    leader: Leader, version: int, code: ErrorCode
) -> None:
    leader.coordinator.answer_at_once(ErrorCode.CONCURRENT_TRANSACTIONS)
    assert codes(leader.send(b"a", version=version)) == [code]


async def test_late_batch_of_an_ended_transaction_gets_the_epochs_error(leader: Leader) -> None:
    leader.coordinator.answer_at_once()
    leader.send(b"a", version=ADDING_VERSION)
    assert leader.mark(AppendOrigin.BUMPING_COORDINATOR, 1) is ErrorCode.NONE
    assert codes(leader.send(b"b", 1, version=ADDING_VERSION)) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert leader.values == [b"a"]


async def test_every_transaction_of_version_2_is_added_again(leader: Leader) -> None:
    leader.coordinator.answer_at_once()
    leader.send(b"a", version=ADDING_VERSION)
    leader.mark(AppendOrigin.BUMPING_COORDINATOR, 1)
    assert codes(leader.send(b"b", epoch=1, version=ADDING_VERSION)) == [ErrorCode.NONE]
    assert [part.producer_epoch for part in leader.coordinator.asked] == [0, 1]


async def test_batch_of_a_new_epoch_is_verified_while_a_transaction_of_the_old_epoch_is_open(leader: Leader) -> None:
    leader.coordinator.answer_at_once()
    leader.send(b"a", version=ADDING_VERSION)
    leader.send(b"b", epoch=1, version=ADDING_VERSION)
    assert [part.producer_epoch for part in leader.coordinator.asked] == [0, 1]


async def test_first_batch_of_an_unknown_producer_of_version_2_has_sequence_0(leader: Leader) -> None:
    leader.coordinator.answer_at_once()
    assert codes(leader.send(b"a", 3, version=ADDING_VERSION)) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    assert codes(leader.send(b"a", 3, producer_id=8)) == [ErrorCode.NONE]


async def test_late_marker_cannot_end_the_next_transaction_of_version_2(leader: Leader) -> None:
    """A marker that waited on a broken connection (KAFKA-17754). Version 0 cannot tell it from the right one."""
    leader.coordinator.answer_at_once()
    leader.send(b"a", version=ADDING_VERSION)
    leader.mark(AppendOrigin.BUMPING_COORDINATOR, 1)
    leader.send(b"b", epoch=1, version=ADDING_VERSION)
    assert leader.mark(AppendOrigin.BUMPING_COORDINATOR, 1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert leader.replicas.hosted().log.producer_state.has_open_transaction(7, 1)
    assert leader.mark(AppendOrigin.COORDINATOR, 1) is ErrorCode.NONE


async def test_marker_of_version_2_may_be_repeated_while_no_transaction_is_open(leader: Leader) -> None:
    leader.coordinator.answer_at_once()
    leader.send(b"a", version=ADDING_VERSION)
    for _ in range(2):
        assert leader.mark(AppendOrigin.BUMPING_COORDINATOR, 1) is ErrorCode.NONE


async def test_next_transaction_of_version_2_may_begin_before_the_marker_of_the_last_one(leader: Leader) -> None:
    """The coordinator adds the partition when the marker is there; the question was asked before."""
    first = leader.send(b"a", version=ADDING_VERSION)
    leader.coordinator.answer()
    second = leader.send(b"b", epoch=1, version=ADDING_VERSION)
    assert leader.mark(AppendOrigin.BUMPING_COORDINATOR, 1) is ErrorCode.NONE
    leader.coordinator.answer()
    assert codes(first + second) == [ErrorCode.NONE] * 2


async def test_verification_of_version_2_overtaken_by_its_own_marker_is_fenced(leader: Leader) -> None:
    late = leader.send(b"a", version=ADDING_VERSION)
    assert leader.mark(AppendOrigin.BUMPING_COORDINATOR, 1) is ErrorCode.NONE
    leader.coordinator.answer()
    assert codes(late) == [ErrorCode.INVALID_PRODUCER_EPOCH]

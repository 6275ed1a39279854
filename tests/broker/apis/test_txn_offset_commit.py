"""TxnOffsetCommit in a cluster: offsets of a transaction that another broker coordinates."""

from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.transactions.txn_offset_commit import TxnOffsetCommit
from pybroker.broker.coordinator.group.coordinator import GroupCoordinator
from pybroker.broker.coordinator.transaction_end import TransactionEnd
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from pybroker.replication.transaction_checks import TransactionChecks, TransactionPart
from support.in_process.group_handlers import call, owning_coordinator, versions
from support.in_process.replicas import NOW_MS, Replicas
from support.in_process.transaction_coordinator import TransactionCoordinator

T0 = TopicPartition("t", 0)


def topic_exists(topic: str, partition: int) -> bool:
    return (topic, partition) == T0


def commits(*partitions: int, **fields: object) -> TxnOffsetCommitRequest:
    asked = [TxnOffsetCommitRequestPartition(partition_index=number, committed_offset=5) for number in partitions]
    return TxnOffsetCommitRequest(
        transactional_id="x",
        group_id="g",
        producer_id=7,
        topics=[TxnOffsetCommitRequestTopic(name="t", partitions=asked)],
        **fields,  # type: ignore[arg-type]
    )


class NoPartitions:
    """A broker that leads no partition: the append itself refuses records."""

    def get(self, _partition: TopicPartition) -> None:
        return None


def unasked_checks() -> TransactionChecks:
    return TransactionChecks(NoPartitions(), TransactionCoordinator().ask, lambda: NOW_MS, is_enabled=True)  # type: ignore[arg-type]


async def ask(
    coordinator: GroupCoordinator,
    version: int,
    request: TxnOffsetCommitRequest,
    checks: TransactionChecks | None = None,
) -> dict[int, ErrorCode]:
    response = await call(TxnOffsetCommit(coordinator, topic_exists, checks or unasked_checks()), version, request)
    return {each.partition_index: ErrorCode(each.error_code) for each in response.topics[0].partitions}


def committed(coordinator: GroupCoordinator) -> tuple[ErrorCode, int]:
    result = coordinator.commits.fetch("g", [T0], require_stable=True)[1][T0]
    return result.error, result.offset


@pytest.mark.parametrize("version", versions(ApiKey.TXN_OFFSET_COMMIT))
@pytest.mark.parametrize("is_commit", [True, False])
async def test_transactional_offsets_take_effect_when_the_transaction_commits(version: int, is_commit: bool) -> None:
    coordinator, *_ = await owning_coordinator()
    assert await ask(coordinator, version, commits(0, 1)) == {
        0: ErrorCode.NONE,
        1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert committed(coordinator) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
    coordinator.commits.complete_transaction(coordinator.partition_for("g"), TransactionEnd(7, is_commit, 1))
    assert committed(coordinator) == (ErrorCode.NONE, 5 if is_commit else -1)


async def test_a_transactional_commit_of_an_unknown_member_is_refused() -> None:
    coordinator, *_ = await owning_coordinator()
    assert await ask(coordinator, 3, commits(0, member_id="m", generation_id=3)) == {0: ErrorCode.UNKNOWN_MEMBER_ID}


@pytest.mark.parametrize(
    ("version", "code"),
    [(1, ErrorCode.COORDINATOR_NOT_AVAILABLE), (2, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)],
)
async def test_old_clients_get_coordinator_not_available_from_a_loading_coordinator(
    version: int, code: ErrorCode
) -> None:
    coordinator, *_ = await owning_coordinator()
    coordinator.partitions.unload(coordinator.partition_for("g"), 1)
    coordinator.partitions.load(coordinator.partition_for("g"), 2)
    assert await ask(coordinator, version, commits(0)) == {0: code}


@pytest.mark.parametrize(
    ("version", "said", "code"),
    [
        (3, ErrorCode.NONE, ErrorCode.NONE),
        (5, ErrorCode.NONE, ErrorCode.NONE),
        (5, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS),
        (4, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
        (3, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE),
        (1, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE),
        (1, ErrorCode.NETWORK_EXCEPTION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (3, ErrorCode.NETWORK_EXCEPTION, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (3, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS),
        (3, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (3, ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR),
        (3, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
async def test_the_transaction_coordinator_is_asked_before_offsets_are_committed(
    tmp_path: Path, version: int, said: ErrorCode, code: ErrorCode
) -> None:
    groups, *_ = await owning_coordinator()
    offsets = TopicPartition("__consumer_offsets", groups.partition_for("g"))
    replicas, asked = Replicas(tmp_path), TransactionCoordinator()
    await replicas.order(offsets, topic_id=None)
    asked.answer_at_once(said)
    checks = TransactionChecks(replicas.partitions, asked.ask, lambda: NOW_MS, is_enabled=True)
    assert await ask(groups, version, commits(0), checks) == {0: code}
    assert asked.asked == [TransactionPart("x", 7, 0, offsets, adds=version >= 5)]
    is_pending = committed(groups)[0] is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert is_pending == (said is ErrorCode.NONE)
    replicas.close()


async def test_transactional_commits_for_unknown_partitions_are_refused_without_a_coordinator() -> None:
    coordinator, *_ = await owning_coordinator()
    coordinator.partitions.unload(coordinator.partition_for("g"), 1)
    assert await ask(coordinator, 3, commits(4)) == {4: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}

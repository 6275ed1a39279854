"""WriteTxnMarkers: a transaction coordinator ends transactions in partitions that this broker leads."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.transactions.write_txn_markers import WriteTxnMarkers
from pybroker.broker.coordinator.marker_writer import MarkerWriter
from pybroker.broker.coordinator.transaction_end import TransactionEnd
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.control import EndTransactionMarker, read_marker
from pybroker.protocol.records.record import read_records
from pybroker.replication.partition.isolation import Isolation
from support.in_process.replicas import TOPIC, TP, Replicas, batch_of, consumer, fetch_from, follower, request_context

OFFSETS = TopicPartition("__consumer_offsets", 0)
LONG_MS = 3_600_000


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Replicas]:
    replicas = Replicas(tmp_path)
    await replicas.order()
    yield replicas
    replicas.close()


def write_transaction(replicas: Replicas, producer_id: int, epoch: int = 0, sequence: int = 0) -> None:
    records = batch_of(
        b"of %d" % producer_id,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=True,
    )
    assert replicas.append(records)[0].error is ErrorCode.NONE


def marker(
    producer_id: int, *indexes: int, is_commit: bool = True, topic: str = TOPIC, epoch: int = 0, coordinator: int = 3
) -> WritableTxnMarker:
    return WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=is_commit,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=list(indexes))],
        coordinator_epoch=coordinator,
    )


class Offsets:
    """The group coordinator's offsets: records the transactions that end."""

    def __init__(self) -> None:
        self.ended: list[tuple[int, TransactionEnd]] = []

    def complete_transaction(self, partition: int, end: TransactionEnd) -> None:
        self.ended.append((partition, end))


async def write(
    replicas: Replicas, *markers: WritableTxnMarker, offsets: Offsets | None = None
) -> dict[tuple[int, str, int], ErrorCode]:
    handler = WriteTxnMarkers(MarkerWriter(replicas.partitions, offsets or Offsets(), LONG_MS))
    response = await handler(request_context(1), WriteTxnMarkersRequest(markers=list(markers)))
    return codes_in(response)


def codes_in(response: WriteTxnMarkersResponse) -> dict[tuple[int, str, int], ErrorCode]:
    return {
        (result.producer_id, topic.name, partition.partition_index): ErrorCode(partition.error_code)
        for result in response.markers
        for topic in result.topics
        for partition in topic.partitions
    }


async def read_committed(replicas: Replicas) -> list[bytes | None]:
    results, later = replicas.fetch(fetch_from(0), params=consumer(isolation=Isolation.COMMITTED, max_wait_ms=0))
    while results is None:  # a worker reads the transaction index first
        await asyncio.sleep(0)
        results = later[0] if later else None
    result = results[0][1]
    aborted = {each.producer_id for each in result.aborted_transactions or ()}
    data = b"" if result.records is None else result.records.read()
    return [
        record.value
        for batch in iter_batches(data)
        if not batch.is_control and batch.producer_id not in aborted
        for record in read_records(batch)
    ]


async def test_a_marker_ends_the_transaction_in_its_partition(replicas: Replicas) -> None:
    write_transaction(replicas, 7)
    write_transaction(replicas, 8)
    assert await read_committed(replicas) == []
    assert await write(replicas, marker(7, 0), marker(8, 0, is_commit=False)) == {
        (7, TOPIC, 0): ErrorCode.NONE,
        (8, TOPIC, 0): ErrorCode.NONE,
    }
    assert await read_committed(replicas) == [b"of 7"]
    log = replicas.hosted().log
    region = log.read(2, 1 << 20, log.log_end_offset, True).region
    assert region is not None
    ends = [(batch.producer_id, read_marker(batch)) for batch in iter_batches(region.read())]
    assert ends == [(7, EndTransactionMarker(True, 3)), (8, EndTransactionMarker(False, 3))]


async def test_write_txn_markers_reports_a_result_for_each_partition(replicas: Replicas) -> None:
    await replicas.order(OFFSETS, topic_id=None)
    followed = TopicPartition(TOPIC, 1)
    await replicas.order(followed, leader=2, replicas=(1, 2), isr=(1, 2))
    write_transaction(replicas, 7)
    both = WritableTxnMarker(
        producer_id=7,
        transaction_result=True,
        topics=[
            WritableTxnMarkerTopic(name=TOPIC, partition_indexes=[0, 1, 2]),
            WritableTxnMarkerTopic(name=OFFSETS.topic, partition_indexes=[0]),
        ],
    )
    assert await write(replicas, both) == {
        (7, TOPIC, 0): ErrorCode.NONE,
        (7, TOPIC, 1): ErrorCode.NOT_LEADER_OR_FOLLOWER,
        (7, TOPIC, 2): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (7, OFFSETS.topic, 0): ErrorCode.NONE,
    }


async def test_transactional_offsets_are_completed_by_a_marker_in_their_own_partition(replicas: Replicas) -> None:
    await replicas.order(OFFSETS, topic_id=None)
    offsets = Offsets()
    elsewhere = marker(7, 1, topic=OFFSETS.topic)
    aborted = marker(8, 0, topic=OFFSETS.topic, is_commit=False)
    await write(replicas, marker(7, 0), marker(7, 0, topic=OFFSETS.topic), elsewhere, aborted, offsets=offsets)
    assert offsets.ended == [(0, TransactionEnd(7, True, 0)), (0, TransactionEnd(8, False, 1))]


async def test_markers_of_an_older_coordinator_epoch_are_fenced(replicas: Replicas) -> None:
    write_transaction(replicas, 7)
    await write(replicas, marker(7, 0, coordinator=3))
    write_transaction(replicas, 7, sequence=1)
    assert await write(replicas, marker(7, 0, coordinator=2)) == {
        (7, TOPIC, 0): ErrorCode.TRANSACTION_COORDINATOR_FENCED
    }


async def test_write_txn_markers_is_answered_when_the_markers_are_committed(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path)
    await replicas.order(isr=(1, 2), replicas=(1, 2))
    write_transaction(replicas, 7)
    writing = asyncio.create_task(write(replicas, marker(7, 0)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert replicas.hosted().log.log_end_offset == 2
    assert not writing.done()
    replicas.fetch(fetch_from(2), params=follower(2, max_wait_ms=0))
    assert await writing == {(7, TOPIC, 0): ErrorCode.NONE}
    assert replicas.partitions.is_leader(TP)
    replicas.close()


async def test_replicated_transactions_are_forgotten_without_read_committed_consumers(
    replicas: Replicas,
) -> None:
    """Otherwise a partition without read_committed consumers would remember all transactions."""
    for number in range(20):
        write_transaction(replicas, 7, sequence=number)
        await write(replicas, marker(7, 0))
    assert len(replicas.hosted().log.producer_state.unstable.completed) <= 1

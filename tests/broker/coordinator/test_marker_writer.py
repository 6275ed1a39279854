"""The writer of end markers writes each with its own offset, and refuses markers that no producer can have."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.marker_writer import MarkerWriter, ProducerMarker
from pybroker.broker.coordinator.transaction_end import TransactionEnd
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.control import EndTransactionMarker, read_marker
from support.in_process.replicas import NOW_MS, TP, Replicas, batch_of


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Replicas]:
    replicas = Replicas(tmp_path)
    await replicas.order()
    yield replicas
    replicas.close()


class NoOffsets:
    """The group coordinator's offsets, of which no transaction has any."""

    def complete_transaction(self, partition: int, end: TransactionEnd) -> None:
        raise AssertionError(end)


async def test_each_partition_gets_the_marker_of_its_transaction_at_its_own_offset(replicas: Replicas) -> None:
    second = TopicPartition(TP.topic, 1)
    await replicas.order(second)
    replicas.append(batch_of(b"a"), second)
    writer = MarkerWriter(replicas.partitions, NoOffsets(), 1_000)
    codes: list[ErrorCode] = []
    commit, abort = ProducerMarker(7, 1, 3, is_commit=True), ProducerMarker(8, 2, 3, is_commit=False)
    for marker, topic_partition in [(commit, TP), (commit, second), (abort, second)]:
        writer.write(marker, topic_partition, NOW_MS, codes.append)
    assert codes == [ErrorCode.NONE] * 3
    expected = (7, 1, NOW_MS, EndTransactionMarker(is_commit=True, coordinator_epoch=3))
    assert markers_in(replicas, TP) == [(0, *expected)]
    assert markers_in(replicas, second) == [
        (1, *expected),
        (2, 8, 2, NOW_MS, EndTransactionMarker(is_commit=False, coordinator_epoch=3)),
    ]


def markers_in(replicas: Replicas, topic_partition: TopicPartition) -> list[tuple[object, ...]]:
    log = replicas.hosted(topic_partition).log
    region = log.read(0, 1 << 20, log.log_end_offset, True).region
    assert region is not None
    return [
        (batch.base_offset, batch.producer_id, batch.producer_epoch, batch.max_timestamp, read_marker(batch))
        for batch in iter_batches(log.read_region(region))
        if batch.is_control
    ]


@pytest.mark.parametrize("marker", [ProducerMarker(7, -1, 0, True), ProducerMarker(-1, 0, 0, False)])
async def test_a_marker_without_a_producer_or_an_epoch_is_refused(replicas: Replicas, marker: ProducerMarker) -> None:
    codes: list[ErrorCode] = []
    MarkerWriter(replicas.partitions, NoOffsets(), 1_000).write(marker, TP, 1, codes.append)
    assert codes == [ErrorCode.INVALID_REQUEST]
    assert replicas.partitions.require(TP).log.log_end_offset == 0

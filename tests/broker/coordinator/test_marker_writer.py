"""The writer of end markers refuses markers that no producer can have."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.broker.coordinator.marker_writer import MarkerWriter, ProducerMarker
from pybroker.broker.coordinator.transaction_end import TransactionEnd
from pybroker.protocol.errors import ErrorCode
from support.in_process.replicas import TP, Replicas


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


@pytest.mark.parametrize("marker", [ProducerMarker(7, -1, 0, True), ProducerMarker(-1, 0, 0, False)])
async def test_a_marker_without_a_producer_or_an_epoch_is_refused(replicas: Replicas, marker: ProducerMarker) -> None:
    codes: list[ErrorCode] = []
    MarkerWriter(replicas.partitions, NoOffsets(), 1_000).write(marker, TP, 1, codes.append)
    assert codes == [ErrorCode.INVALID_REQUEST]
    assert replicas.partitions.require(TP).log.log_end_offset == 0

"""OffsetForLeaderEpoch: the end offset of an epoch in the leader's log."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.broker.apis.records.offset_for_leader_epoch import OffsetForLeaderEpoch
from pybroker.protocol.codec import decode, encode
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from support.in_process.replicas import TOPIC, TP, Replicas, request_context

LATEST_VERSION = 4


class Asker:
    def __init__(self, replicas: Replicas) -> None:
        self.replicas = replicas
        self.handler = OffsetForLeaderEpoch(replicas.partitions)

    def ask(
        self, leader_epoch: int, version: int = LATEST_VERSION, *, current: int = -1, partition: int = 0
    ) -> EpochEndOffset:
        asked = OffsetForLeaderPartition(
            partition=partition, leader_epoch=leader_epoch, current_leader_epoch=current if version >= 2 else -1
        )
        request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=TOPIC, partitions=[asked])])
        frame = encode(request, version)
        answer = self.handler(request_context(version), decode(OffsetForLeaderEpochRequest, frame, version))
        (topic,) = decode(OffsetForLeaderEpochResponse, encode(answer, version), version).topics
        (found,) = topic.partitions
        return found


@pytest.fixture
async def asker(tmp_path: Path) -> AsyncIterator[Asker]:
    """Epoch 2 is offsets 0 to 2, epoch 5 is 3 to 5, epoch 6 has none yet."""
    replicas = Replicas(tmp_path)
    for epoch, count in ((2, 3), (5, 3), (6, 0)):
        await replicas.order(leader_epoch=epoch)
        for _ in range(count):
            replicas.append()
    yield Asker(replicas)
    replicas.close()


@pytest.mark.parametrize("version", range(LATEST_VERSION + 1))
@pytest.mark.parametrize(
    ("leader_epoch", "expected"),
    [(2, (2, 3)), (3, (2, 3)), (4, (2, 3)), (5, (5, 6)), (6, (6, 6)), (7, (-1, -1)), (0, (0, 0)), (-1, (-1, -1))],
)
async def test_an_epoch_ends_where_the_next_epoch_begins(
    asker: Asker, version: int, leader_epoch: int, expected: tuple[int, int]
) -> None:
    answer = asker.ask(leader_epoch, version)
    assert answer.error_code == ErrorCode.NONE
    epoch = expected[0] if version >= 1 else -1
    assert (answer.leader_epoch, answer.end_offset) == (epoch, expected[1])


async def test_offset_for_leader_epoch_reports_an_error_for_each_partition(asker: Asker) -> None:
    assert asker.ask(2, current=5).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert asker.ask(2, current=6).error_code == ErrorCode.NONE
    assert asker.ask(2, current=7).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert asker.ask(2, partition=9).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    await asker.replicas.order(leader=2, leader_epoch=7, isr=(1, 2), replicas=(1, 2))
    assert asker.ask(2).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    asker.replicas.changes.directory_failed("somewhere", [TP])
    assert asker.ask(2).error_code == ErrorCode.KAFKA_STORAGE_ERROR

"""Which records a Fetch may read: high watermark, leader epochs, offsets; and the new leader in the response."""

import asyncio

import pytest
from pybroker.protocol.errors import ErrorCode, UnknownServerError
from pybroker.replication.state_changes import ReplicaStop
from support.in_process.fetching_consumer import Consumer, next_turn
from support.in_process.replicas import TP, values_in


@pytest.mark.parametrize("level", [-1, 2])
async def test_an_unknown_isolation_level_is_refused(consumer: Consumer, level: int) -> None:
    with pytest.raises(UnknownServerError):
        consumer.partition(0, isolation_level=level)


async def test_consumers_read_up_to_the_high_watermark_and_followers_up_to_the_log_end(consumer: Consumer) -> None:
    await consumer.replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    consumer.produce(b"a")
    assert values_in(consumer.partition(0).records) == []
    assert consumer.partition(1).error_code == ErrorCode.NONE  # beyond the HW, but in the log
    assert values_in(consumer.partition(0, replica_id=2).records) == [b"a"]
    data = consumer.partition(1, replica_id=2)  # a fetch from 1 says that the follower has offset 0
    assert data.high_watermark == 0  # as it was before
    assert values_in(consumer.partition(0).records) == [b"a"]


async def test_a_follower_waits_for_the_log_and_a_consumer_for_the_high_watermark(consumer: Consumer) -> None:
    await consumer.replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    of_follower = consumer.send(0, replica_id=2, max_wait_ms=60_000)
    of_consumer = consumer.send(0, max_wait_ms=60_000)
    assert isinstance(of_follower, asyncio.Future)
    assert isinstance(of_consumer, asyncio.Future)
    consumer.produce(b"a")
    await next_turn()
    assert of_follower.done()
    assert not of_consumer.done()
    consumer.send(1, replica_id=2, max_wait_ms=60_000)
    await next_turn()
    assert of_consumer.done()


@pytest.mark.parametrize("version", [14, 15])
async def test_follower_id_is_read_from_the_field_of_its_version(consumer: Consumer, version: int) -> None:
    await consumer.replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    consumer.produce(b"a")
    assert consumer.partition(0, version=version, replica_id=2, leader_epoch=1).error_code == ErrorCode.NONE
    stranger = consumer.partition(0, version=version, replica_id=3, leader_epoch=1)
    assert stranger.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


@pytest.mark.parametrize(("version", "expected"), [(10, ErrorCode.NOT_LEADER_OR_FOLLOWER), (11, ErrorCode.NONE)])
async def test_from_v11_on_consumers_may_read_from_followers(
    consumer: Consumer, version: int, expected: ErrorCode
) -> None:
    consumer.produce(b"a")
    await consumer.replicas.order(leader=2, leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    assert consumer.partition(0, version=version).error_code == expected


@pytest.mark.parametrize(
    ("leader_epoch", "expected"),
    [
        (4, ErrorCode.FENCED_LEADER_EPOCH),
        (5, ErrorCode.NONE),
        (6, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (-1, ErrorCode.NONE),
        (-2, ErrorCode.NONE),  # a negative epoch means that the client knows none
    ],
)
async def test_fetch_with_another_leader_epoch_is_fenced(
    consumer: Consumer, leader_epoch: int, expected: ErrorCode
) -> None:
    await consumer.replicas.order(leader_epoch=5)
    assert consumer.partition(0, version=9, leader_epoch=leader_epoch).error_code == expected


async def test_follower_with_a_diverging_log_gets_the_diverging_epoch(consumer: Consumer) -> None:
    for epoch in (2, 4):
        await consumer.replicas.order(leader_epoch=epoch)
        for _ in range(3):
            consumer.produce(b"a")
    # Epoch 2 is 0 to 2, epoch 4 is 3 to 5.
    agreeing = consumer.partition(3, last_fetched_epoch=2)
    assert agreeing.diverging_epoch.epoch == -1
    assert len(values_in(agreeing.records)) == 3
    for last_fetched_epoch, offset, expected in ((2, 5, (2, 3)), (3, 5, (2, 3)), (4, 6, (-1, -1))):
        data = consumer.partition(offset, last_fetched_epoch=last_fetched_epoch)
        assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == expected
        assert not data.records
    assert consumer.partition(5, last_fetched_epoch=9).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


async def test_an_offset_outside_the_log_is_out_of_range(consumer: Consumer) -> None:
    consumer.produce(b"a", b"b", b"c")
    log = consumer.replicas.hosted().log
    log.increment_log_start_offset(2)
    codes = [consumer.partition(offset).error_code for offset in (0, 1, 2, 3, 4)]
    out = ErrorCode.OFFSET_OUT_OF_RANGE
    assert codes == [out, out, ErrorCode.NONE, ErrorCode.NONE, out]


async def test_read_committed_gets_a_list_of_aborted_transactions_and_others_none(consumer: Consumer) -> None:
    consumer.produce(b"a")
    assert consumer.partition(0, isolation_level=1).aborted_transactions == []
    assert consumer.partition(0, isolation_level=0).aborted_transactions is None


@pytest.mark.parametrize("version", [15, 16])
async def test_fetch_response_names_the_new_leader_from_v16_on(consumer: Consumer, version: int) -> None:
    await consumer.replicas.order(leader=2, leader_epoch=3, isr=(1, 2), replicas=(1, 2))
    consumer.hints.leaders[TP] = (2, 3)
    response = consumer.answer(0, version=version, leader_epoch=2)
    data = response.responses[0].partitions[0]
    assert data.error_code == ErrorCode.FENCED_LEADER_EPOCH
    leader = (data.current_leader.leader_id, data.current_leader.leader_epoch)
    nodes = [(node.node_id, node.host, node.port) for node in response.node_endpoints]
    assert (leader, nodes) == (((-1, -1), []) if version < 16 else ((2, 3), [(2, "two.example", 9093)]))


async def test_response_names_the_leader_of_a_newer_leader_and_isr(consumer: Consumer) -> None:
    """UpdateMetadata may arrive later than LeaderAndIsr."""
    consumer.hints.leaders[TP] = (1, 0)
    await consumer.replicas.order(leader=2, leader_epoch=3, isr=(1, 2), replicas=(1, 2))
    data = consumer.answer(0, version=16, leader_epoch=2).responses[0].partitions[0]
    assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (2, 3)


async def test_response_names_the_leader_in_the_metadata_when_this_broker_has_no_role(consumer: Consumer) -> None:
    consumer.hints.leaders[TP] = (2, 3)
    consumer.replicas.known.add(TP)
    await consumer.replicas.changes.stop_replicas([ReplicaStop(TP, 3, delete=False)], 1)
    data = consumer.answer(0, version=16).responses[0].partitions[0]
    assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (2, 3)

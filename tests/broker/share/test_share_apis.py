"""ShareFetch and ShareAcknowledge: sessions, locks, waiting, and what is stored."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.share.ports import SharePartitionKey, StateRead
from pybroker.broker.coordinator.share.state_batch import StateBatch
from pybroker.protocol.errors import (
    ErrorCode,
    InvalidRequestError,
    InvalidShareSessionEpochError,
    ShareSessionLimitReachedError,
    ShareSessionNotFoundError,
)
from pybroker.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from pybroker.replication.leader.fetch_session import MOST_ERRORS
from pybroker.replication.partition.isolation import Isolation
from support.in_process.replicas import TOPIC, TOPIC_ID, Replicas, batch_of
from support.share_groups.members import LOCK_MS, ShareMember, ShareWorld, acquired_offsets, received

ACCEPT, RELEASE, REJECT, RENEW = [1], [2], [3], [4]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ShareWorld]:
    replicas = Replicas(tmp_path)
    await replicas.order()
    yield ShareWorld(replicas)
    replicas.close()


async def test_member_gets_records_with_their_locks_and_others_get_the_next_ones(world: ShareWorld) -> None:
    world.produce(b"a", b"b")
    response = await ShareMember(world).fetch(0)
    (data,) = response.responses[0].partitions
    (acquired,) = data.acquired_records
    assert (acquired.first_offset, acquired.last_offset, acquired.delivery_count) == (0, 1, 1)
    assert response.acquisition_lock_timeout_ms == LOCK_MS
    assert await ShareMember(world, "b").offsets(0) == []
    world.produce(b"c")
    assert await ShareMember(world, "c").offsets(0) == [2]


async def test_records_of_a_response_are_only_the_batches_of_acquired_records(world: ShareWorld) -> None:
    for value in (b"a", b"b", b"c"):
        world.produce(value)
    response = await ShareMember(world).fetch(0, max_records=1)
    other = await ShareMember(world, "b").fetch(0, max_records=1)
    sizes = [records_bytes(each) for each in (response, other)]
    assert sizes == [len(batch_of(b"a")), len(batch_of(b"b"))]


@pytest.mark.parametrize("version", [1, 2])
async def test_acknowledgement_on_a_fetch_is_stored_before_the_response(world: ShareWorld, version: int) -> None:
    world.produce(b"a", b"b")
    member = ShareMember(world)
    assert await member.offsets(0, version=version) == [0, 1]
    world.state.is_held = True
    waiting = member.send(said=[(0, 1, ACCEPT)], version=version)
    assert isinstance(waiting, asyncio.Future)
    assert world.state.writes[-1].batches == (StateBatch(0, 1, 2, 1),)
    await asyncio.sleep(0)
    assert not waiting.done()
    world.state.release()
    response = await received(waiting, version)
    assert response.responses[0].partitions[0].acknowledge_error_code == 0
    assert world.state.writes[-1].start_offset == 0
    world.produce(b"c")
    await member.offsets(0)
    await member.acknowledge((2, 2, ACCEPT))
    assert world.state.writes[-1].start_offset == 2


async def test_acknowledgement_that_cannot_be_stored_leaves_the_records_with_the_member(world: ShareWorld) -> None:
    world.produce(b"a")
    member = ShareMember(world)
    await member.offsets(0)
    world.state.code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    response = await member.acknowledge((0, 0, ACCEPT))
    assert response.responses[0].partitions[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.state.code = ErrorCode.NONE
    response = await member.acknowledge((0, 0, ACCEPT))
    assert response.responses[0].partitions[0].error_code == 0


async def test_acknowledgement_of_records_of_others_is_refused(world: ShareWorld) -> None:
    world.produce(b"a")
    await ShareMember(world).offsets(0)
    other = ShareMember(world, "b")
    await other.fetch(0)
    response = await other.fetch(said=[(0, 0, ACCEPT)])
    assert response.responses[0].partitions[0].acknowledge_error_code == ErrorCode.INVALID_RECORD_STATE
    answer = await other.acknowledge((0, 5, ACCEPT))
    assert answer.responses[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
    assert world.state.writes == []


async def test_first_response_of_a_session_names_partitions_without_records_too(world: ShareWorld) -> None:
    member = ShareMember(world)
    opened, next_one = await member.fetch(0), await member.fetch()
    (data,) = opened.responses[0].partitions
    assert (data.partition_index, data.error_code, data.acquired_records) == (0, ErrorCode.NONE, [])
    assert next_one.responses == []


async def test_fetch_with_an_unknown_acquire_mode_is_refused_and_does_not_count(world: ShareWorld) -> None:
    world.produce(b"a")
    member = ShareMember(world)
    with pytest.raises(InvalidRequestError):
        member.send(0, epoch=0, acquire_mode=2)
    assert await member.offsets(0) == [0]


async def test_released_record_wakes_a_fetch_that_waits(world: ShareWorld) -> None:
    world.produce(b"a")
    member, other = ShareMember(world), ShareMember(world, "b")
    await member.offsets(0)
    waiting = other.send(0, max_wait_ms=60_000)
    await member.acknowledge((0, 0, RELEASE))
    response = await received(waiting, 2)
    assert response.responses[0].partitions[0].acquired_records[0].delivery_count == 2


async def test_new_record_wakes_one_of_the_fetches_that_wait(world: ShareWorld) -> None:
    members = [ShareMember(world, name) for name in "abc"]
    waiting = [asyncio.ensure_future(member.fetch(0, max_wait_ms=60_000)) for member in members]
    await asyncio.sleep(0)
    world.produce(b"a")
    done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert [acquired_offsets(each.result()) for each in done] == [[0]]
    assert len(pending) == len(world.parked) == 2
    for member in members:
        member.disconnect()
    await asyncio.gather(*pending, return_exceptions=True)
    assert len(world.parked) == len(world.shares) == 0


async def test_fetch_waits_no_longer_than_its_maximum(world: ShareWorld) -> None:
    assert await ShareMember(world).offsets(0, max_wait_ms=5) == []


async def test_records_come_again_when_the_lock_ends_and_not_when_it_was_renewed(world: ShareWorld) -> None:
    world.produce(b"a")
    world.produce(b"b")
    member, other = ShareMember(world), ShareMember(world, "b")
    assert await member.offsets(0) == [0, 1]
    world.time.advance(LOCK_MS - 1)
    assert await other.offsets(0) == []
    await member.acknowledge((1, 1, RENEW), is_renew_ack=True)
    world.time.advance(1)
    assert world.state.writes[-1].batches == (StateBatch(0, 0, 0, 1),)
    assert await other.offsets(0) == [0]


async def test_request_that_renews_locks_fetches_nothing(world: ShareWorld) -> None:
    world.produce(b"a")
    member = ShareMember(world)
    await member.offsets(0)
    world.produce(b"b")
    assert await member.offsets(said=[(0, 0, RENEW)], is_renew_ack=True) == []
    with pytest.raises(InvalidRequestError):
        member.world.fetch_handler(member.context, _renewal_that_fetches())


def records_bytes(response: ShareFetchResponse) -> int:
    records = response.responses[0].partitions[0].records
    assert isinstance(records, memoryview)
    return len(records)


def _renewal_that_fetches() -> ShareFetchRequest:
    return ShareFetchRequest(group_id="g", member_id="a", share_session_epoch=2, is_renew_ack=True, max_records=1)


async def test_lost_connection_and_closed_session_release_the_records(world: ShareWorld) -> None:
    world.produce(b"a")
    member, other = ShareMember(world), ShareMember(world, "b")
    await other.fetch(0)
    assert await ShareMember(world, "c").offsets(0) == []
    lost = ShareMember(world, "d")
    world.produce(b"b")
    await lost.offsets(0)
    lost.disconnect()
    assert await member.offsets(0) == [1]
    await member.acknowledge(epoch=-1)
    assert await ShareMember(world, "e").offsets(0) == [1]


async def test_session_that_is_opened_anew_keeps_the_records_of_its_member(world: ShareWorld) -> None:
    world.produce(b"a")
    member = ShareMember(world)
    assert await member.offsets(0) == [0]
    assert await member.offsets(0, epoch=0) == []
    await member.acknowledge((0, 0, ACCEPT), epoch=1)
    assert world.state.writes[-1].batches == (StateBatch(0, 0, 2, 1),)


async def test_session_that_cannot_be_opened_anew_releases_the_records_of_its_member(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path)
    await replicas.order()
    await replicas.order(TopicPartition(TOPIC, 1))
    world = ShareWorld(replicas, max_partitions=1)
    world.produce(b"a")
    member = ShareMember(world)
    await member.offsets(0)
    with pytest.raises(ShareSessionLimitReachedError):
        await member.fetch(0, 1, epoch=0)
    assert world.state.writes[-1].batches == (StateBatch(0, 0, 0, 1),)
    assert len(world.shares) == len(world.shares.sessions) == 0
    replicas.close()


async def test_final_fetch_acknowledges_and_closes_the_session(world: ShareWorld) -> None:
    world.produce(b"a")
    member = ShareMember(world)
    await member.offsets(0)
    await member.fetch(said=[(0, 0, ACCEPT)], epoch=-1)
    assert world.state.writes[-1].batches == (StateBatch(0, 0, 2, 1),)
    with pytest.raises(ShareSessionNotFoundError):
        member.send(0, epoch=1)


async def test_session_counts_its_requests(world: ShareWorld) -> None:
    member = ShareMember(world)
    with pytest.raises(ShareSessionNotFoundError):
        member.send(0, epoch=5)
    with pytest.raises(InvalidRequestError):
        member.send(0, said=[(0, 0, ACCEPT)], epoch=0)
    await member.fetch(0)
    with pytest.raises(InvalidShareSessionEpochError):
        member.send(0, epoch=2)
    with pytest.raises(InvalidShareSessionEpochError):
        await member.acknowledge(epoch=0)


async def test_session_beyond_the_limit_is_refused_after_the_maximum_wait(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path)
    await replicas.order()
    world = ShareWorld(replicas, max_sessions=1)
    await ShareMember(world).fetch(0)
    with pytest.raises(ShareSessionLimitReachedError):
        await ShareMember(world, "b").fetch(0, max_wait_ms=1)
    replicas.close()


async def test_forgotten_partition_is_not_fetched(world: ShareWorld) -> None:
    await world.replicas.order(TopicPartition(TOPIC, 1))
    member = ShareMember(world)
    await member.fetch(0, 1)
    await member.fetch(forgotten=[0])
    world.produce(b"a")
    world.produce(b"b", topic_partition=TopicPartition(TOPIC, 1))
    response = await member.fetch()
    assert [data.partition_index for data in response.responses[0].partitions] == [1]


async def test_group_continues_with_the_stored_state(world: ShareWorld) -> None:
    world.produce(b"a", b"b", b"c", b"d")
    key = SharePartitionKey("g", TOPIC_ID, 0)
    world.state.states[key] = StateRead(3, 1, (StateBatch(2, 2, 2, 1), StateBatch(3, 3, 0, 2)))
    member = ShareMember(world)
    assert await member.offsets(0) == [1, 3]
    await member.acknowledge((1, 1, ACCEPT))
    assert world.state.writes[-1].state_epoch == 3
    assert world.state.writes[-1].leader_epoch == 0


async def test_state_that_cannot_be_read_is_an_error_and_is_read_again_by_the_next_fetch(world: ShareWorld) -> None:
    world.produce(b"a")
    world.state.code = ErrorCode.FENCED_STATE_EPOCH
    member = ShareMember(world)
    response = await member.fetch(0)
    assert response.responses[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    world.state.code = ErrorCode.NONE
    assert await member.offsets() == [0]


async def test_fetch_waits_for_the_state(world: ShareWorld) -> None:
    world.produce(b"a")
    world.state.is_held = True
    waiting = ShareMember(world).send(0, max_wait_ms=60_000)
    world.state.release()
    assert acquired_offsets(await received(waiting, 2)) == [0]


async def test_change_of_the_leader_ends_waiting_and_drops_the_locks(world: ShareWorld) -> None:
    world.replicas.changes.on_leadership(world.shares.leadership_changed)
    world.produce(b"a")
    holder, waiter = ShareMember(world), ShareMember(world, "b")
    await holder.offsets(0)
    waiting = waiter.send(0, max_wait_ms=60_000)
    await world.replicas.order(leader=2, leader_epoch=1, isr=(1, 2), replicas=(1, 2), is_new=False)
    world.hints.leaders[TOPIC, 0] = (2, 1)
    response = await received(waiting, 2)
    (data,) = response.responses[0].partitions
    assert data.error_code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
    assert (data.current_leader.leader_id, response.node_endpoints[0].host) == (2, "two.example")
    answer = await holder.acknowledge((0, 0, ACCEPT))
    assert answer.responses[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (answer.responses[0].partitions[0].current_leader.leader_id, answer.node_endpoints[0].port) == (2, 9093)
    assert len(world.shares) == 0


async def test_unknown_topic_and_partition_are_errors_of_the_partition(world: ShareWorld) -> None:
    member = ShareMember(world)
    response = await member.fetch(0, 9)
    codes = {data.partition_index: data.error_code for data in response.responses[0].partitions}
    assert codes == {0: ErrorCode.NONE, 9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    world.hints.names.clear()
    response = await member.fetch()
    assert [data.error_code for data in response.responses[0].partitions] == [ErrorCode.UNKNOWN_TOPIC_ID] * 2


async def test_session_ends_when_too_many_of_its_partitions_have_an_error(world: ShareWorld) -> None:
    world.produce(b"a")
    member = ShareMember(world)
    assert await member.offsets(*range(MOST_ERRORS + 1)) == [0]
    await member.acknowledge((0, 0, RELEASE))
    (topic,) = (await member.fetch(MOST_ERRORS + 1)).responses
    codes = [data.error_code for data in topic.partitions]
    assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * (MOST_ERRORS + 1)
    with pytest.raises(ShareSessionNotFoundError):
        member.send()
    assert await ShareMember(world, "b").offsets(0) == [0]


async def test_records_below_the_log_start_are_passed_over(world: ShareWorld) -> None:
    for value in (b"a", b"b", b"c"):
        world.produce(value)
    world.state.states[SharePartitionKey("g", TOPIC_ID, 0)] = StateRead(1, 0, ())
    hosted = world.replicas.hosted()
    await hosted.run(lambda log: log.increment_log_start_offset(2))
    assert await ShareMember(world).offsets(0, max_wait_ms=60_000) == [2]


async def test_group_that_reads_committed_records_does_not_get_those_of_open_transactions(world: ShareWorld) -> None:
    world.settings = world.settings._replace(isolation=Isolation.COMMITTED)
    world.produce(b"a")
    world.replicas.append(batch_of(b"b", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
    assert await ShareMember(world).offsets(0) == [0]


@pytest.mark.parametrize("member_id", ["", "x" * 37])
async def test_impossible_member_id_is_refused(world: ShareWorld, member_id: str) -> None:
    with pytest.raises(InvalidRequestError):
        ShareMember(world, member_id).send(0)

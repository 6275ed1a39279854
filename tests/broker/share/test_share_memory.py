"""The memory of the share partitions that a broker leads is bounded, and nothing that a member holds is lost for it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.broker.coordinator.share.ports import SharePartitionKey, StateRead
from pybroker.broker.coordinator.share.state_batch import StateBatch
from pybroker.protocol.errors import ErrorCode
from support.in_process.replicas import TOPIC_ID, TP, Replicas
from support.share_groups.members import ShareMember, ShareWorld, acquired_offsets

_PARTITION_BYTES = 3_100
_RECORD_BYTES = 270


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ShareWorld]:
    replicas = Replicas(tmp_path)
    await replicas.order()
    yield ShareWorld(replicas)
    replicas.close()


async def test_full_memory_lets_members_acknowledge_but_not_acquire(world: ShareWorld) -> None:
    for value in (b"a", b"b", b"c", b"d"):
        world.produce(value)
    holder, other = ShareMember(world), ShareMember(world, "b")
    assert await holder.offsets(0, max_records=3) == [0, 1, 2]
    world.memory.max_bytes = world.memory.used_bytes - 1
    assert await other.offsets(0) == []
    response = await holder.acknowledge((0, 2, [1, 2, 1]))
    assert response.responses[0].partitions[0].error_code == ErrorCode.NONE
    world.memory.max_bytes = 1 << 28
    assert await other.offsets(0) == [1, 3]


async def test_full_memory_lets_members_acquire_released_records_but_no_new_ones(world: ShareWorld) -> None:
    for value in (b"a", b"b", b"c", b"d"):
        world.produce(value)
    holder, other = ShareMember(world), ShareMember(world, "b")
    assert await holder.offsets(0, max_records=3) == [0, 1, 2]
    world.memory.max_bytes = world.memory.used_bytes - 1
    await holder.acknowledge((0, 1, [1, 2]))
    world.memory.max_bytes = world.memory.used_bytes - 1
    assert await other.offsets(0) == [1]
    assert await other.offsets(0) == []
    await other.acknowledge((1, 1, [1]))
    assert await other.offsets(0) == [3]


async def test_stored_records_over_the_limit_of_memory_are_acquired_until_new_ones_fit(world: ShareWorld) -> None:
    for value in (b"a", b"b", b"c", b"d"):
        world.produce(value)
    world.state.states[SharePartitionKey("g", TOPIC_ID, 0)] = StateRead(1, 0, (StateBatch(0, 2, 0, 1),))
    world.memory.max_bytes = _PARTITION_BYTES + 2 * _RECORD_BYTES
    member = ShareMember(world)
    assert await member.offsets(0) == [0, 1, 2]
    assert world.memory.used_bytes > world.memory.max_bytes
    assert await member.offsets(0) == []
    await member.acknowledge((0, 2, [1]))
    assert await member.offsets(0) == [3]


async def test_fetch_that_waits_for_memory_gets_records_when_another_partition_gives_some_back(
    world: ShareWorld,
) -> None:
    world.produce(b"a")
    holder, *others = (ShareMember(world, name, name) for name in "gabc")
    assert await holder.offsets(0) == [0]
    for other in others:
        assert await other.offsets(0, max_records=1) == [0]
    world.produce(b"b")
    world.memory.max_bytes = world.memory.used_bytes - 1
    waiting = [asyncio.ensure_future(other.fetch(0, max_wait_ms=60_000)) for other in others]
    gone = ShareMember(world, "d", "a")
    gone.send(0, max_wait_ms=60_000)
    await asyncio.sleep(0)
    assert len(world.memory.waiting) == 4
    gone.disconnect()
    assert len(world.memory.waiting) == 3
    await holder.acknowledge((0, 0, [1]))
    done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert [acquired_offsets(each.result()) for each in done] == [[1]] * len(done)
    world.memory.max_bytes = 1 << 28
    holder.disconnect()
    assert [acquired_offsets(await each) for each in pending] == [[1]] * len(pending)
    assert not world.memory.waiting


async def test_memory_of_records_that_the_log_lost_is_given_back(world: ShareWorld) -> None:
    for value in (b"a", b"b", b"c", b"d"):
        world.produce(value)
    member = ShareMember(world)
    assert await member.offsets(0, max_records=3) == [0, 1, 2]
    await member.acknowledge((0, 2, [2]))
    world.memory.max_bytes = world.memory.used_bytes - 1
    world.replicas.hosted(TP).log.increment_log_start_offset(3)
    assert await member.offsets(0) == []
    assert await member.offsets(0) == [3]


async def test_full_memory_refuses_share_partitions_of_further_groups_with_a_code_after_which_they_fetch_again(
    world: ShareWorld,
) -> None:
    world.produce(b"a")
    await ShareMember(world).offsets(0)
    world.memory.max_bytes = world.memory.used_bytes - 1
    other = ShareMember(world, "b", "h")
    (data,) = (await other.fetch(0)).responses[0].partitions
    assert data.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert "pybroker.share.states.max.bytes" in (data.error_message or "")
    world.memory.max_bytes = 1 << 28
    assert await other.offsets(0) == [0]


async def test_memory_counts_the_records_in_flight_and_is_given_back_with_the_share_partition(
    world: ShareWorld,
) -> None:
    for value in (b"a", b"b", b"c", b"d"):
        world.produce(value)
    member = ShareMember(world)
    assert await member.offsets(0, max_records=1) == [0]
    one = world.memory.used_bytes
    assert await member.offsets(0, max_records=2) == [1, 2]
    assert world.memory.used_bytes == one + 2 * _RECORD_BYTES
    await member.acknowledge((0, 2, [1]))
    assert world.memory.used_bytes == one - _RECORD_BYTES
    member.disconnect()
    assert world.memory.used_bytes == 0

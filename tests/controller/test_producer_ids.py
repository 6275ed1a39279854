"""Tests that no two producers get the same producer id."""

import asyncio
import gc
from pathlib import Path

import pytest
from pybroker.controller.producer_ids import ProducerIdBlocks, ProducerIds, ProducerIdsExhaustedError
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.znodes import ProducerIdBlock
from pybroker.protocol.errors import CoordinatorLoadInProgressError
from simulation.machines.virtual_loop import VirtualLoop


async def test_producer_id_blocks_are_consecutive_across_restarts(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    blocks: list[ProducerIdBlock] = []
    for broker_id in (1, 2):
        store = await EmbeddedStore.open(path, lambda: 1)
        allocator = ProducerIdBlocks(ClusterTree(store))
        blocks += [await allocator.next_block(broker_id) for _ in range(2)]
        await store.close()
    assert blocks == [
        ProducerIdBlock(1, 0, 999),
        ProducerIdBlock(1, 1000, 1999),
        ProducerIdBlock(2, 2000, 2999),
        ProducerIdBlock(2, 3000, 3999),
    ]


async def test_brokers_that_allocate_at_once_get_different_blocks(tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: 1)
    allocator = ProducerIdBlocks(ClusterTree(store))
    blocks = await asyncio.gather(*(allocator.next_block(broker_id) for broker_id in range(5)))
    assert sorted(block.first for block in blocks) == [0, 1000, 2000, 3000, 4000]
    await store.close()


async def test_exhausted_producer_ids_raise_an_error(tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: 1)
    last = ProducerIdBlock(1, 2**63 - 1001, 2**63 - 2)
    await store.create("/latest_producer_id_block", last.encode())
    with pytest.raises(ProducerIdsExhaustedError):
        await ProducerIdBlocks(ClusterTree(store)).next_block(1)
    await store.close()


def test_request_waits_a_tenth_of_a_second_for_a_block_of_producer_ids() -> None:
    async def waited() -> float:
        async def no_block() -> ProducerIdBlock:
            await asyncio.Event().wait()
            raise AssertionError

        ids, loop = ProducerIds(no_block), asyncio.get_running_loop()
        for _ in range(2):
            with pytest.raises(CoordinatorLoadInProgressError):
                await ids.next()
        waited_s = loop.time()
        await ids.stop()
        return waited_s

    loop = VirtualLoop()
    assert loop.run_until_complete(waited()) == pytest.approx(0.1)
    loop.close()


async def test_producer_ids_are_consecutive_across_blocks() -> None:
    blocks = iter([ProducerIdBlock(1, 5, 6), ProducerIdBlock(1, 20, 29)])
    fetched: list[ProducerIdBlock] = []

    async def next_block() -> ProducerIdBlock:
        fetched.append(next(blocks))
        return fetched[-1]

    ids = ProducerIds(next_block)
    assert await asyncio.gather(*(ids.next() for _ in range(4))) == [5, 6, 20, 21]
    assert len(fetched) == 2  # shared by the waiting callers


async def test_failed_fetch_of_a_block_is_reported_and_retried() -> None:
    answers: list[ProducerIdBlock | Exception] = [ProducerIdsExhaustedError("none"), ProducerIdBlock(1, 7, 7)]

    async def next_block() -> ProducerIdBlock:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    ids = ProducerIds(next_block)
    results = await asyncio.gather(ids.next(), ids.next(), return_exceptions=True)
    assert [type(result) for result in results] == [ProducerIdsExhaustedError] * 2
    assert await ids.next() == 7


async def test_failure_without_waiting_callers_is_not_reported() -> None:
    """As when the broker stops: its clients are hung up on first."""
    fails = asyncio.Event()
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    async def next_block() -> ProducerIdBlock:
        await fails.wait()
        raise ConnectionError("closed")

    ids = ProducerIds(next_block)
    asking = asyncio.create_task(ids.next())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    fails.set()
    for _ in range(3):
        await asyncio.sleep(0)
    gc.collect()
    assert reported == []


async def test_next_block_is_fetched_when_a_tenth_of_the_block_is_left() -> None:
    blocks = iter([ProducerIdBlock(1, 0, 19), ProducerIdBlock(1, 100, 119)])
    fetched = []

    async def next_block() -> ProducerIdBlock:
        fetched.append(next(blocks))
        return fetched[-1]

    ids = ProducerIds(next_block)
    assert [await ids.next() for _ in range(18)] == list(range(18))
    await asyncio.sleep(0)
    assert len(fetched) == 1
    assert await ids.next() == 18
    await asyncio.sleep(0)
    assert len(fetched) == 2
    assert [await ids.next() for _ in range(2)] == [19, 100]


async def test_ids_of_the_block_in_hand_are_given_while_no_controller_answers() -> None:
    asked = asyncio.Event()

    async def next_block() -> ProducerIdBlock:
        if asked.is_set():
            await asyncio.Event().wait()
        asked.set()
        return ProducerIdBlock(1, 0, 9)

    ids = ProducerIds(next_block)
    assert [await ids.next() for _ in range(10)] == list(range(10))
    with pytest.raises(CoordinatorLoadInProgressError):
        await ids.next()
    await ids.stop()


async def test_second_producer_is_answered_at_once_while_no_controller_answers() -> None:
    """Only the first one waits for a moment."""

    async def next_block() -> ProducerIdBlock:
        await asyncio.Event().wait()
        raise AssertionError

    ids = ProducerIds(next_block)
    with pytest.raises(CoordinatorLoadInProgressError):
        await ids.next()
    second = asyncio.create_task(ids.next())
    for _ in range(5):
        await asyncio.sleep(0)
    assert second.done()
    assert isinstance(second.exception(), CoordinatorLoadInProgressError)
    await ids.stop()

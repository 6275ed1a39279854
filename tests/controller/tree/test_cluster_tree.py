"""Concurrent operations on the tree: every error is retrieved, also after a failure or a cancelled caller."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, cast

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.leader_and_isr import LeaderAndIsr, PartitionLeadership
from pybroker.controller.tree.metadata_store import ConnectionLossError, MetadataStore, SessionExpiredError


class BrokenStore:
    """A store whose connection breaks while all operations are under way."""

    def multi(self, operations: object) -> "asyncio.Future[Any]":
        return self._broken()

    def children(self, path: str) -> "asyncio.Future[Any]":
        return self._broken()

    def exists(self, path: str) -> "asyncio.Future[Any]":
        return self._broken()

    def _broken(self) -> "asyncio.Future[Any]":
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        future.set_exception(ConnectionLossError(None, "the connection broke before the response"))
        return future


STATES = {TopicPartition(topic, 0): LeaderAndIsr(leader=1, isr=(1,), leader_epoch=0) for topic in ("a", "b")}

WRITES: dict[str, Callable[[ClusterTree], Awaitable[object]]] = {
    "states": lambda tree: tree.update_partition_states(STATES, 1, 1),
    "first states": lambda tree: tree.create_partition_states(
        {partition: PartitionLeadership(state, 1) for partition, state in STATES.items()}, 1
    ),
    "skeleton": lambda tree: tree.create_persistent_paths(),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_every_failed_operation_has_its_error_retrieved(
    write: Callable[[ClusterTree], Awaitable[object]],
) -> None:
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
    with pytest.raises(ConnectionLossError):
        await write(ClusterTree(cast("MetadataStore", BrokenStore())))
    gc.collect()
    assert complaints == []


class SilentStore:
    """A store that answers only after every caller has given up waiting."""

    def __init__(self) -> None:
        self.futures: list[asyncio.Future[Any]] = []

    def get(self, path: str, watch: object = None) -> "asyncio.Future[Any]":
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.futures.append(future)
        return future

    exists = children = get


READS: dict[str, Callable[[ClusterTree], Coroutine[Any, Any, object]]] = {
    "states": lambda tree: tree.partition_states(list(STATES)),
    "controller": lambda tree: tree.controller(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
async def test_cancelled_caller_leaves_no_unretrieved_error(
    read: Callable[[ClusterTree], Coroutine[Any, Any, object]],
) -> None:
    complaints: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context["message"]))
    store = SilentStore()
    task = loop.create_task(read(ClusterTree(cast("MetadataStore", store))))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    for future in store.futures:
        if not future.done():
            future.set_exception(SessionExpiredError(None, "the session expired while its client was away"))
    store.futures.clear()
    del future, task
    gc.collect()
    assert complaints == []

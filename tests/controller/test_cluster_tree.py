"""Writes that are started together: what becomes of each is taken, also when the first one fails."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from pybroker.controller.cluster_tree import ClusterTree
from pybroker.controller.leader_and_isr import LeaderAndIsr, PartitionLeadership
from pybroker.controller.metadata_store import ConnectionLossError, MetadataStore
from pybroker.storage.topic_partition import TopicPartition


class BrokenStore:
    """The connection breaks while everything is under way."""

    def multi(self, operations: object) -> "asyncio.Future[Any]":
        return self._broken()

    def children(self, path: str) -> "asyncio.Future[Any]":
        return self._broken()

    def exists(self, path: str) -> "asyncio.Future[Any]":
        return self._broken()

    def _broken(self) -> "asyncio.Future[Any]":
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        future.set_exception(ConnectionLossError(None, "the connection broke before the answer"))
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
async def test_no_error_is_left_to_nobody(write: Callable[[ClusterTree], Awaitable[object]]) -> None:
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
    with pytest.raises(ConnectionLossError):
        await write(ClusterTree(cast("MetadataStore", BrokenStore())))
    gc.collect()
    assert complaints == []

"""Offsets of OffsetCommit v0, in the metadata tree."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.broker.tree_offsets import TreeOffsets
from pybroker.controller.cluster_tree import ClusterTree
from pybroker.controller.embedded_store import EmbeddedStore
from pybroker.protocol.errors import UnknownServerError
from pybroker.storage.topic_partition import TopicPartition

TP = TopicPartition("t", 3)


@pytest.fixture
async def offsets(tmp_path: Path) -> AsyncIterator[TreeOffsets]:
    store = await EmbeddedStore.open(tmp_path / "store", lambda: 0)
    yield TreeOffsets(ClusterTree(store))
    await store.close()


async def test_the_last_offset_is_kept(offsets: TreeOffsets) -> None:
    assert await offsets.get("g", TP) is None
    await offsets.set("g", TP, 5)
    await offsets.set("g", TP, 7)
    assert await offsets.get("g", TP) == 7
    assert await offsets.get("other", TP) is None


@pytest.mark.parametrize("group_id", ["", ".", ".."])
async def test_a_group_id_that_is_no_part_of_a_path_is_refused(offsets: TreeOffsets, group_id: str) -> None:
    with pytest.raises(UnknownServerError):
        await offsets.set(group_id, TP, 5)

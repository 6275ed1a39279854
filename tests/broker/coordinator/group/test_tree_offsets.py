"""Offsets of OffsetCommit v0, in the metadata tree."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.tree_offsets import TreeOffsets, tree_offset_bytes
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.znodes import consumer_offset_path
from pybroker.protocol.errors import InvalidCommitOffsetSizeError, UnknownServerError

TP = TopicPartition("t", 3)


@pytest.fixture
async def offsets(tmp_path: Path) -> AsyncIterator[TreeOffsets]:
    store = await EmbeddedStore.open(tmp_path / "store", lambda: 0)
    yield TreeOffsets(ClusterTree(store), 1_000_000)
    await store.close()


async def test_tree_keeps_the_last_committed_offset(offsets: TreeOffsets) -> None:
    assert await offsets.get("g", TP) is None
    await offsets.set("g", TP, 5)
    await offsets.set("g", TP, 7)
    assert await offsets.get("g", TP) == 7
    assert await offsets.get("other", TP) is None


async def test_offsets_in_the_tree_are_bounded_also_after_a_restart(tmp_path: Path) -> None:
    bytes_of_three = 3 * tree_offset_bytes(consumer_offset_path("g", TP))
    for made in (("g", "h", "i"), ()):
        store = await EmbeddedStore.open(tmp_path / "store", lambda: 0)
        offsets = TreeOffsets(ClusterTree(store), bytes_of_three)
        for group_id in made:
            await offsets.set(group_id, TP, 5)
        with pytest.raises(InvalidCommitOffsetSizeError):
            await offsets.set("j", TP, 5)
        assert await offsets.get("j", TP) is None
        await offsets.set("i", TP, 7)  # groups that already have offsets can still commit
        assert await offsets.get("i", TP) == 7
        await store.close()


async def test_memory_of_a_long_group_id_is_counted_by_its_length(tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path / "store", lambda: 0)
    offsets = TreeOffsets(ClusterTree(store), 100_000)
    with pytest.raises(InvalidCommitOffsetSizeError):
        await offsets.set("g" * 30_000, TP, 5)
    await offsets.set("g" * 1000, TP, 5)
    await store.close()


@pytest.mark.parametrize("group_id", ["a/b", "/".join("a" * 10_000)], ids=["one", "many"])
async def test_a_group_id_with_slashes_makes_no_nodes(offsets: TreeOffsets, group_id: str) -> None:
    with pytest.raises(UnknownServerError):
        await offsets.set(group_id, TP, 5)
    assert await offsets.get("a", TP) is None


@pytest.mark.parametrize("group_id", ["", ".", ".."])
async def test_a_group_id_that_is_no_part_of_a_path_is_refused(offsets: TreeOffsets, group_id: str) -> None:
    with pytest.raises(UnknownServerError):
        await offsets.set(group_id, TP, 5)

"""Finds topics whose names differ only in dots and underscores, with few reads of the tree."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
from pybroker.controller.topics.colliding_topics import CollidingTopics
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.metadata_store import Watch
from pybroker.controller.tree.replica_assignment import ReplicaAssignment
from pybroker.controller.tree.znodes import TopicInfo


class CountingTree(ClusterTree):
    looks = 0

    async def topics(self, watch: Watch | None = None) -> list[str]:
        self.looks += 1
        return await super().topics(watch)


@pytest.fixture
async def tree(tmp_path: Path) -> AsyncIterator[CountingTree]:
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: 1)
    tree = CountingTree(store)
    await tree.create_persistent_paths()
    yield tree
    await store.close()


async def create(tree: ClusterTree, *names: str) -> None:
    for name in names:
        await tree.create_topic(TopicInfo(name, uuid4(), {0: ReplicaAssignment((1,))}), {})


async def test_topics_that_differ_only_in_dots_and_underscores_are_found(tree: CountingTree) -> None:
    await create(tree, "a_b.c", "a.b.d", "a-b-c", "a.b_c")
    colliding = CollidingTopics(tree)
    assert sorted(await colliding.of("a.b_c")) == ["a.b_c", "a_b.c"]
    assert await colliding.of("a-b-c") == []
    assert await colliding.of("a.b") == []


async def test_topic_list_is_read_once_and_again_after_a_change(tree: CountingTree) -> None:
    await create(tree, "a.b")
    colliding = CollidingTopics(tree)
    for index in range(100):
        assert await colliding.of(f"new.{index}") == []
    assert tree.looks == 1
    await create(tree, "new.7")
    assert await colliding.of("new_7") == ["new.7"]
    await tree.store.delete("/brokers/topics/a.b")
    assert await colliding.of("a_b") == []
    assert tree.looks == 3

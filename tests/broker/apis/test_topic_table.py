"""The table of topic APIs gives DeleteTopics the time that it may wait for the metadata store."""

import asyncio
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from pybroker.broker.apis.topics.table import topic_apis
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.broker.metadata.topic_waiters import TopicWaiters
from pybroker.config.load import load_config
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest
from simulation.machines.virtual_loop import VirtualLoop
from support.in_process.quotas import unthrottled
from support.in_process.topic_apis import context

TIMEOUT_MS = 30_000


class Metadata:
    """Topics vanish from the metadata when they are marked, but their deletion never ends."""

    is_active = True
    identity = SimpleNamespace(broker_id=1, cluster_id="cluster")
    auto_creation = SimpleNamespace(create=None)
    growth = None

    def __init__(self) -> None:
        self.names = {"t"}
        self.controller = self.topics = self

    async def mark_for_deletion(self, topic: str) -> None:
        self.names.remove(topic)

    def is_being_deleted(self, topic: str) -> bool:
        return True

    def has_topic(self, topic: str) -> bool:
        return topic in self.names

    def partition_count(self, topic: str) -> int:
        return 1

    def topic_id(self, topic: str | None) -> UUID:
        return UUID(int=1)


async def seconds_of_deletion(*, is_in_cluster: bool) -> float:
    metadata: Any = Metadata()
    parts: Any = SimpleNamespace(
        config=load_config(""),
        cache=metadata,
        metadata=metadata,
        waiters=TopicWaiters(MetadataCache()),
        settings=SimpleNamespace(dynamic=None),
        addresses=None,
        throttling=unthrottled(),
        is_in_cluster=is_in_cluster,
    )
    delete: Any = topic_apis(parts)[ApiKey.DELETE_TOPICS]
    answer = await delete(context(5), DeleteTopicsRequest(topic_names=["t"], timeout_ms=TIMEOUT_MS))
    assert [each.error_code for each in answer.responses] == [ErrorCode.NONE]
    return asyncio.get_running_loop().time()


@pytest.mark.parametrize(("is_in_cluster", "seconds"), [(True, 0.1), (False, TIMEOUT_MS / 1000)])
def test_delete_topics_waits_a_tenth_of_a_second_in_a_cluster_for_replicas_that_are_not_deleted(
    is_in_cluster: bool, seconds: float
) -> None:
    """A single broker has no other broker that could hold up the deletion."""
    loop = VirtualLoop()
    assert loop.run_until_complete(seconds_of_deletion(is_in_cluster=is_in_cluster)) == pytest.approx(seconds)
    loop.close()

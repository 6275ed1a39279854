"""The list of topics comes at once; what takes longer follows."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from pybroker.console.cluster_views import kept
from pybroker.console.cluster_views import topic_list as subject
from pybroker.console.cluster_views.cluster_facts import ClusterFacts
from pybroker.console.cluster_views.paging import Paging
from pybroker.console.cluster_views.topic_list import TopicList, topic_list
from pybroker.console.cluster_views.v1_lists import V1Lists
from pybroker.protocol.codec import wire
from pybroker.protocol.messages.describe_configs import DescribeConfigsRequest
from pybroker.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

TOPICS = 2_500


class SlowCluster:
    """Metadata comes at once, settings and sizes when the test says so. Counts the topics of each question."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.asked: list[int] = []

    async def metadata(self, topics: Any) -> MetadataResponse:
        partition = MetadataResponsePartition(partition_index=0, leader_id=1, replica_nodes=[1], isr_nodes=[1])
        found = [
            MetadataResponseTopic(name=f"t{number}", topic_id=wire.NULL_UUID, partitions=[partition])
            for number in range(TOPICS)
        ]
        return MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="h", port=1)], topics=found)

    async def ask_any(self, request: Any) -> Any:
        assert isinstance(request, DescribeConfigsRequest)
        await self.may_answer.wait()
        self.asked.append(len(request.resources))
        setting = SimpleNamespace(name="min.insync.replicas", value="2")
        return SimpleNamespace(
            results=[
                SimpleNamespace(error_code=0, resource_name=each.resource_name, configs=[setting])
                for each in request.resources
            ]
        )

    async def ask_broker(self, broker: int, request: Any) -> Any:
        await self.may_answer.wait()
        partition = SimpleNamespace(is_future_key=False, partition_index=0, partition_size=77, offset_lag=0)
        topics = [SimpleNamespace(name=f"t{number}", partitions=[partition]) for number in range(TOPICS)]
        directory = SimpleNamespace(error_code=0, log_dir="/d", topics=topics, usable_bytes=-1, total_bytes=-1)
        return SimpleNamespace(error_code=0, results=[directory])


class Told:
    """The HTTP ports of one broker, or none. Answers when the test says so."""

    def __init__(self, *documents: dict[str, Any]) -> None:
        self.documents_told = list(documents)
        self.may_answer = asyncio.Event()

    async def documents(self, path: str, *, limit: str, fields: str) -> list[dict[str, Any]]:
        await self.may_answer.wait()
        columns = fields.split(",")
        return [
            {"columns": columns, "rows": [[row.get(name) for name in columns] for row in document["items"]]}
            for document in self.documents_told
        ]

    def __bool__(self) -> bool:
        return bool(self.documents_told)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "PATIENCE_S", 0.0)
    monkeypatch.setattr(kept, "_AFTER_REPLY_S", 0.0)


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


def shown(listed: TopicList) -> tuple[bool, Any, Any]:
    row = listed.row_of("t7")
    return listed.is_complete, row["under_min_isr_partitions"], row["size_bytes"]


async def test_names_are_listed_before_settings_and_sizes_are_known() -> None:
    cluster = SlowCluster()
    facts = ClusterFacts(cluster)  # type: ignore[arg-type]
    lists = V1Lists(Told())  # type: ignore[arg-type]
    listed = await topic_list(facts, lists)
    assert len(listed.names) == TOPICS
    assert shown(listed) == (False, None, None)
    cluster.may_answer.set()
    await settle()
    assert shown(await topic_list(facts, lists)) == (True, 1, 77)
    assert cluster.asked == [1_000, 1_000, 500], "each topic is asked for once, in parts"
    facts.close()


async def test_settings_and_sizes_are_not_asked_for_when_all_brokers_tell_them_under_v1() -> None:
    cluster, row = SlowCluster(), {"topic": "t7", "size_bytes": 5, "under_min_isr_partitions": 3}
    facts = ClusterFacts(cluster)  # type: ignore[arg-type]
    told = Told({"items": [row, {"topic": "not to be seen"}]})
    lists = V1Lists(told)  # type: ignore[arg-type]
    assert shown(await topic_list(facts, lists)) == (False, None, None)
    told.may_answer.set()
    await settle()
    listed = await topic_list(facts, lists)
    assert shown(listed) == (True, 3, 5)
    assert "not to be seen" not in listed.names
    assert cluster.asked == []
    facts.close()
    lists.close()


async def test_broker_that_does_not_tell_the_columns_asked_for_is_left_out() -> None:
    class Older(Told):
        async def documents(self, path: str, *, limit: str, fields: str) -> list[dict[str, Any]]:
            return [{"items": []}, {"columns": ["topic"], "rows": [["t7"]]}]

    lists = V1Lists(Older({"items": []}))  # type: ignore[arg-type]
    told = await lists.topics.get()
    assert (told.brokers, dict(told.rows)) == (0, {})
    lists.close()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["a1", "a2", "b1"]),
        ({"sort": "-topic"}, ["b1", "a2", "a1"]),
        ({"filter": "A", "sort": "-size"}, ["a2", "a1"]),
        ({"sort": "size", "limit": "1", "offset": "1"}, ["a1"]),
    ],
)
async def test_page_has_the_rows_that_the_query_asks_for(query: dict[str, str], expected: list[str]) -> None:
    sizes = {"b1": 0, "a1": 1, "a2": 2}
    made = []

    def row_of(name: str) -> dict[str, Any]:
        made.append(name)
        return {"topic": name, "size": sizes[name]}

    page = await Paging.of(query).page(sizes, "topic", row_of)
    assert [row["topic"] for row in page.rows] == expected
    assert page.total == 3
    assert page.matched == (2 if "filter" in query else 3)


async def test_rows_in_the_order_of_names_are_made_when_they_are_read() -> None:
    made: list[str] = []

    def row_of(name: str) -> dict[str, Any]:
        made.append(name)
        return {"topic": name}

    page = await Paging.of({}).page(["b", "a"], "topic", row_of)
    assert made == []
    assert [next(iter(page.rows))["topic"], made] == ["a", ["a"]]

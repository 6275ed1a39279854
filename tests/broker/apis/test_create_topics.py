"""CreateTopics: the response comes when clients can produce to the topics."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.topics.create_topics import CreateTopics
from pybroker.config.config_entries import ConfigEntry, ConfigSource, topic_entries
from pybroker.config.topic_config import TopicConfig
from pybroker.protocol.codec import decode, encode
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from support.in_process.quotas import unthrottled
from support.in_process.topic_apis import TopicApis, context

NULL = UUID(int=0)


@pytest.fixture
async def apis(tmp_path: Path) -> AsyncIterator[TopicApis]:
    started = await TopicApis.start(tmp_path, "num.partitions=2\nlog.segment.bytes=70000")
    yield started
    await started.stop()


def handler(apis: TopicApis, *, is_controller: bool = True) -> CreateTopics:
    def entries(topic: TopicConfig) -> list[ConfigEntry]:
        return topic_entries(apis.config, topic)

    return CreateTopics(
        apis.plane.topics,
        lambda: is_controller,
        apis.cache,
        apis.waiters,
        entries,
        lambda _id, _partition: True,
        unthrottled(),
    )


def topic(name: str, partitions: int = 1, factor: int = 1, **settings: str | None) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in settings.items()],
    )


def codes(response: CreateTopicsResponse) -> dict[str, int]:
    return {result.name: result.error_code for result in response.topics}


async def create(apis: TopicApis, *topics: CreatableTopic, version: int = 7, **fields: int) -> CreateTopicsResponse:
    request = CreateTopicsRequest(topics=list(topics), **fields)  # type: ignore[arg-type]
    return await handler(apis)(context(version), request)


@pytest.mark.parametrize("version", range(8))
async def test_created_topic_has_leaders_when_the_response_comes(apis: TopicApis, version: int) -> None:
    response = await create(apis, topic("t", 3), version=version)
    again = decode(CreateTopicsResponse, encode(response, version), version)
    (result,) = again.topics
    assert (result.name, result.error_code) == ("t", ErrorCode.NONE)
    assert [apis.cache.leader_of("t", index) for index in range(3)] == [(1, 0)] * 3
    assert apis.broker.roles.keys() == {TopicPartition("t", index) for index in range(3)}
    assert result.topic_id == (apis.cache.topic_id("t") if version >= 7 else NULL)
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (3, 1)


async def test_unsupported_topic_settings_are_logged_when_the_topic_is_created(
    apis: TopicApis, caplog: pytest.LogCaptureFixture
) -> None:
    asked = topic("t", retention_ms="5", local_retention_ms="4")
    await create(apis, asked, validate_only=True)
    assert "not acted on" not in caplog.text
    await create(apis, asked)
    line = "topic t: local.retention.ms=4 has no effect yet: it needs tiered storage"
    assert caplog.messages.count(line) == 1


async def test_create_topics_returns_the_settings_with_their_sources(apis: TopicApis) -> None:
    response = await create(apis, topic("t", retention_ms="5"))
    configs = {entry.name: (entry.value, entry.config_source) for entry in response.topics[0].configs or []}
    assert configs["retention.ms"] == ("5", ConfigSource.TOPIC_CONFIG)
    assert configs["segment.bytes"] == ("70000", ConfigSource.STATIC_BROKER_CONFIG)
    assert configs["cleanup.policy"] == ("delete", ConfigSource.DEFAULT_CONFIG)


async def test_equal_settings_of_many_topics_share_one_object_in_the_response(apis: TopicApis) -> None:
    """Otherwise a hundred thousand validated topics would take six kilobytes each."""
    response = await create(apis, topic("a"), topic("b"), topic("c", retention_ms="5"), validate_only=True)
    first, second, other = ({entry.name: entry for entry in result.configs or []} for result in response.topics)
    assert all(entry is second[name] for name, entry in first.items())
    assert [name for name, entry in other.items() if entry is not first[name]] == ["retention.ms"]


async def test_create_topics_reports_a_result_for_each_topic(apis: TopicApis) -> None:
    await create(apis, topic("there"))
    assigned = CreatableTopic(
        name="assigned",
        num_partitions=-1,
        replication_factor=-1,
        assignments=[CreatableReplicaAssignment(partition_index=index, broker_ids=[1]) for index in (1, 0)],
    )
    twice = CreatableTopic(
        name="one-partition-twice",
        num_partitions=-1,
        replication_factor=-1,
        assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[1])] * 2,
    )
    response = await create(
        apis,
        topic("good", -1, -1),
        topic("there"),
        topic("a b"),
        topic("wide", 1, 2),
        topic("none", 0, 1),
        topic("bad-setting", segment_bytes="x"),
        topic("null-setting", segment_bytes=None),
        topic("__cluster_metadata"),
        topic("double"),
        topic("double", 5),
        assigned,
        twice,
    )
    assert codes(response) == {
        "good": ErrorCode.NONE,
        "there": ErrorCode.TOPIC_ALREADY_EXISTS,
        "a b": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "wide": ErrorCode.INVALID_REPLICATION_FACTOR,
        "none": ErrorCode.INVALID_PARTITIONS,
        "bad-setting": ErrorCode.INVALID_CONFIG,
        "null-setting": ErrorCode.INVALID_CONFIG,
        "__cluster_metadata": ErrorCode.INVALID_REQUEST,
        "double": ErrorCode.INVALID_REQUEST,
        "assigned": ErrorCode.NONE,
        "one-partition-twice": ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    }
    assert len(response.topics) == 12  # a topic that is named twice is answered twice
    for result in response.topics:
        assert bool(result.error_message) == (result.error_code != ErrorCode.NONE)
    assert await apis.plane.tree.topics() == ["assigned", "good", "there"]
    assert apis.cache.partition_count("good") == 2


async def test_create_topics_with_validate_only_creates_nothing(apis: TopicApis) -> None:
    response = await create(apis, topic("t", 4), topic("a b"), validate_only=True)
    assert codes(response) == {"t": ErrorCode.NONE, "a b": ErrorCode.INVALID_TOPIC_EXCEPTION}
    assert (response.topics[0].num_partitions, response.topics[0].topic_id) == (4, NULL)
    assert await apis.plane.tree.topics() == []


@pytest.mark.parametrize(("name", "validate_only"), [("t", True), ("t!", False)])
async def test_event_loop_stays_free_while_very_many_topics_are_validated_or_refused(
    apis: TopicApis, name: str, validate_only: bool
) -> None:
    topics = [topic(f"{name}{number}") for number in range(50)]
    many = asyncio.ensure_future(create(apis, *topics, validate_only=validate_only))
    turns = 0
    while not many.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns >= 50
    assert len((await many).topics) == 50


async def test_topics_validated_in_one_request_share_the_limit_of_partitions(apis: TopicApis) -> None:
    """A request may name a hundred thousand topics, each with ten thousand partitions to assign."""
    topics = [topic(f"t{number}", 10_000) for number in range(21)]
    response = await create(apis, *topics, validate_only=True)
    assert list(codes(response).values()) == [ErrorCode.NONE] * 20 + [ErrorCode.POLICY_VIOLATION]


async def test_create_topics_sent_to_another_broker_gets_not_controller(apis: TopicApis) -> None:
    request = CreateTopicsRequest(topics=[topic("t")])
    response = await handler(apis, is_controller=False)(context(7), request)
    assert codes(response) == {"t": ErrorCode.NOT_CONTROLLER}
    assert await apis.plane.tree.topics() == []


def is_told_late(result: CreatableTopicResult) -> bool:
    counts = (result.num_partitions, result.replication_factor)
    return result.error_code == ErrorCode.REQUEST_TIMED_OUT and counts == (-1, -1) and not result.configs


async def test_topic_without_leaders_in_time_gets_a_timeout_and_is_created_all_the_same(apis: TopicApis) -> None:
    apis.broker.reachable.clear()
    response = await create(apis, topic("t"), topic("a b"), timeout_ms=1)
    assert is_told_late(response.topics[0])
    assert response.topics[1].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert await apis.plane.tree.topics() == ["t"]


async def test_create_topics_with_timeout_zero_gets_request_timed_out(apis: TopicApis) -> None:
    response = await create(apis, topic("t"), timeout_ms=0)
    assert is_told_late(response.topics[0])
    await apis.plane.controller.drained()
    assert apis.cache.has_topic("t")


async def test_many_clients_create_topics_at_once(apis: TopicApis) -> None:
    names = [f"t{number}" for number in range(20)]
    responses = await asyncio.gather(*(create(apis, topic(name), topic("shared")) for name in names))
    assert [response.topics[0].error_code for response in responses] == [ErrorCode.NONE] * 20
    shared = sorted(response.topics[1].error_code for response in responses)
    assert shared == [ErrorCode.NONE] + [ErrorCode.TOPIC_ALREADY_EXISTS] * 19
    assert sorted(apis.cache.topics) == sorted([*names, "shared"])

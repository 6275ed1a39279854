"""DeleteTopics: when the response comes, the topics are gone and can be created again."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.topics.delete_topics import DeleteTopics
from pybroker.broker.requests.throttling import Throttling
from pybroker.controller.topics.topic_admin import NewTopic
from pybroker.protocol.codec import decode, encode
from pybroker.protocol.errors import ErrorCode, InvalidRequestError
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from support.in_process.quotas import unthrottled
from support.in_process.topic_apis import TopicApis, context

WAIT_MS = 3_600_000


@pytest.fixture
async def apis(tmp_path: Path) -> AsyncIterator[TopicApis]:
    started = await TopicApis.start(tmp_path)
    for name in ("t", "u"):
        await started.plane.topics.create(NewTopic(name, 2, 1))
    await started.plane.controller.drained()
    yield started
    await started.stop()


def handler(apis: TopicApis, *, enabled: bool = True, throttling: Throttling | None = None) -> DeleteTopics:
    return DeleteTopics(
        apis.plane.topics,
        apis.plane.controller,
        apis.cache,
        apis.waiters,
        lambda: enabled,
        throttling or unthrottled(),
    )


def by_name(version: int, *names: str, timeout_ms: int = WAIT_MS) -> DeleteTopicsRequest:
    if version < 6:
        return DeleteTopicsRequest(topic_names=list(names), timeout_ms=timeout_ms)
    return DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in names], timeout_ms=timeout_ms)


def codes(response: DeleteTopicsResponse) -> list[tuple[str | None, int]]:
    return [(result.name, result.error_code) for result in response.responses]


@pytest.mark.parametrize("version", range(7))
async def test_deleted_topic_is_gone_when_the_response_comes_and_others_stay(apis: TopicApis, version: int) -> None:
    response = await handler(apis)(context(version), by_name(version, "t", "missing"))
    again = decode(DeleteTopicsResponse, encode(response, version), version)
    assert codes(again) == [("t", ErrorCode.NONE), ("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    assert apis.cache.topics == ["u"]
    assert apis.broker.deleted == [TopicPartition("t", 0), TopicPartition("t", 1)]
    assert await apis.plane.tree.topics() == ["u"]
    assert await apis.plane.tree.topics_to_delete() == []


async def test_deleted_topic_can_be_created_again_at_once(apis: TopicApis) -> None:
    first = apis.cache.topic_id("t")
    await handler(apis)(context(6), by_name(6, "t"))
    created = await apis.plane.topics.create(NewTopic("t", 1, 1))
    assert created.topic_id != first


async def test_a_topic_is_deleted_by_id(apis: TopicApis) -> None:
    topic_id, unknown = apis.cache.topic_id("t"), UUID(int=5)
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(topic_id=topic_id), DeleteTopicState(topic_id=unknown)], timeout_ms=WAIT_MS
    )
    response = await handler(apis)(context(6), request)
    assert codes(response) == [("t", ErrorCode.NONE), (None, ErrorCode.UNKNOWN_TOPIC_ID)]
    assert [result.topic_id for result in response.responses] == [topic_id, unknown]
    assert apis.cache.topics == ["u"]


async def test_delete_topics_refuses_a_name_and_an_id_together(apis: TopicApis) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name="t", topic_id=apis.cache.topic_id("t"))])
    with pytest.raises(InvalidRequestError):
        await handler(apis)(context(6), request)
    assert apis.cache.topics == ["t", "u"]


@pytest.mark.parametrize(("version", "error"), [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)])
async def test_delete_topics_is_refused_when_delete_topic_enable_is_false(
    apis: TopicApis, version: int, error: ErrorCode
) -> None:
    response = await handler(apis, enabled=False)(context(version), by_name(version, "t", "missing"))
    assert codes(response) == [("t", error), ("missing", error)]
    assert apis.cache.topics == ["t", "u"]


async def test_delete_topics_sent_to_another_broker_gets_not_controller(apis: TopicApis) -> None:
    await apis.plane.controller.stop()
    response = await handler(apis)(context(6), by_name(6, "t"))
    assert codes(response) == [("t", ErrorCode.NOT_CONTROLLER)]


@pytest.mark.parametrize("timeout_ms", [0, 1])
async def test_deletion_continues_after_the_client_got_a_timeout(apis: TopicApis, timeout_ms: int) -> None:
    apis.broker.reachable.clear()
    response = await handler(apis)(context(6), by_name(6, "t", timeout_ms=timeout_ms))
    assert codes(response) == [("t", ErrorCode.REQUEST_TIMED_OUT)]
    apis.broker.reachable.set()
    await apis.plane.controller.drained()
    assert apis.cache.topics == ["u"]


async def test_two_clients_wait_for_the_same_deletion(apis: TopicApis) -> None:
    delete = handler(apis)
    responses = await asyncio.gather(*(delete(context(6), by_name(6, "t")) for _ in range(2)))
    assert [codes(response) for response in responses] == [[("t", ErrorCode.NONE)]] * 2


async def test_topic_that_is_named_twice_is_deleted_once_and_answered_twice(apis: TopicApis) -> None:
    response = await handler(apis)(context(5), by_name(5, "t", "t"))
    assert codes(response) == [("t", ErrorCode.NONE)] * 2


async def test_topic_that_is_named_very_often_is_marked_for_deletion_once(
    apis: TopicApis, monkeypatch: pytest.MonkeyPatch
) -> None:
    marked: list[str] = []
    mark_for_deletion = apis.plane.topics.mark_for_deletion

    async def count(topic: str) -> None:
        marked.append(topic)
        await mark_for_deletion(topic)

    monkeypatch.setattr(apis.plane.topics, "mark_for_deletion", count)
    response = await handler(apis)(context(6), by_name(6, *["t"] * 50, "missing"))
    assert codes(response) == [("t", ErrorCode.NONE)] * 50 + [("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    assert marked == ["t"]


async def test_delete_topics_does_not_wait_for_a_replica_with_a_storage_error(apis: TopicApis) -> None:
    apis.broker.errors[TopicPartition("t", 0)] = ErrorCode.KAFKA_STORAGE_ERROR
    response = await handler(apis)(context(6), by_name(6, "t"))
    assert codes(response) == [("t", ErrorCode.NONE)]  # as in Kafka: for clients the topic is gone
    assert await apis.plane.tree.topics_to_delete() == ["t"]


async def test_delete_topics_counts_a_recreated_topic_as_deleted_while_another_deletion_goes_on(
    apis: TopicApis, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller, slow = apis.plane.controller, {"u"}
    is_being_deleted = controller.is_being_deleted
    monkeypatch.setattr(controller, "is_being_deleted", lambda topic: topic in slow or is_being_deleted(topic))
    answer = asyncio.create_task(handler(apis)(context(6), by_name(6, "t", "u")))
    gone = apis.waiters.wait(lambda: not apis.cache.topics and not apis.plane.controller.is_being_deleted("t"), WAIT_MS)
    await asyncio.sleep(0)  # lets the handler mark the topics
    assert await gone
    await apis.plane.controller.drained()
    await apis.plane.topics.create(NewTopic("t", 1, 1))
    await apis.plane.controller.drained()
    assert not answer.done()
    slow.clear()
    apis.waiters.recheck()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert answer.done()
    assert codes(answer.result()) == [("t", ErrorCode.NONE), ("u", ErrorCode.NONE)]


async def test_delete_topics_is_answered_although_another_broker_does_not_delete_its_replicas(
    apis: TopicApis, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = apis.plane.controller
    monkeypatch.setattr(controller, "is_being_deleted", lambda topic: topic == "u")
    delete = DeleteTopics(
        apis.plane.topics, controller, apis.cache, apis.waiters, lambda: True, unthrottled(), settles_within_ms=1
    )
    response = await delete(context(6), by_name(6, "t", "u"))
    assert codes(response) == [("t", ErrorCode.NONE), ("u", ErrorCode.NONE)]

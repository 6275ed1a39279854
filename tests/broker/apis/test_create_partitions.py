"""CreatePartitions: the response comes when clients can produce to the new partitions."""

import asyncio

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.base.yielding import ITEMS_BETWEEN_YIELDS
from pybroker.broker.apis.topics.create_partitions import CreatePartitions
from pybroker.controller.topics.topic_admin import NewTopic
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode, NotControllerError
from pybroker.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from support.in_process.group_handlers import call, versions
from support.in_process.quotas import unthrottled
from support.in_process.topic_apis import TopicApis
from support.time.loop_turns import turns_during

Results = dict[str, tuple[ErrorCode, str | None]]


def more(name: str, count: int, *assignments: list[int]) -> CreatePartitionsTopic:
    wished = [CreatePartitionsAssignment(broker_ids=broker_ids) for broker_ids in assignments]
    return CreatePartitionsTopic(name=name, count=count, assignments=wished or None)


async def create(
    apis: TopicApis,
    *topics: CreatePartitionsTopic,
    version: int = 3,
    timeout_ms: int = 60_000,
    validate_only: bool = False,
) -> Results:
    handler = CreatePartitions(apis.plane.growth, apis.plane.controller, apis.cache, apis.waiters, unthrottled())
    request = CreatePartitionsRequest(topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only)
    response = await call(handler, version, request)
    return {result.name: (ErrorCode(result.error_code), result.error_message) for result in response.results}


@pytest.mark.parametrize("version", versions(ApiKey.CREATE_PARTITIONS))
async def test_created_partitions_have_leaders_when_the_response_comes(apis: TopicApis, version: int) -> None:
    assert await create(apis, more("t", 4), version=version) == {"t": (ErrorCode.NONE, None)}
    assert [apis.cache.leader_of("t", index) for index in range(4)] == [(1, 0)] * 4
    assert TopicPartition("t", 3) in apis.broker.roles


async def test_create_partitions_uses_the_requested_replica_assignment(apis: TopicApis) -> None:
    assert await create(apis, more("t", 3, [1])) == {"t": (ErrorCode.NONE, None)}
    state = apis.cache.partition("t", 2)
    assert state is not None
    assert list(state.replicas) == [1]


async def test_create_partitions_reports_a_result_for_each_topic(apis: TopicApis) -> None:
    results = await create(
        apis, more("t", 3), more("nowhere", 3), more("twice", 3), more("twice", 4), more("a/b", 1), more("", 1)
    )
    assert {name: code for name, (code, _) in results.items()} == {
        "t": ErrorCode.NONE,
        "nowhere": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "twice": ErrorCode.INVALID_REQUEST,
        "a/b": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert results["twice"][1] == "Duplicate topic in request."


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        (more("t", 2), ErrorCode.INVALID_PARTITIONS),
        (more("t", 1), ErrorCode.INVALID_PARTITIONS),
        (more("t", 3, [2]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (more("t", 3, [1], [1]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
@pytest.mark.parametrize("validate_only", [False, True])
async def test_an_impossible_partition_count_or_assignment_is_refused_with_a_reason(
    apis: TopicApis, wish: CreatePartitionsTopic, code: ErrorCode, validate_only: bool
) -> None:
    ((found, message),) = (await create(apis, wish, validate_only=validate_only)).values()
    assert found is code
    assert message
    assert apis.cache.partition_count("t") == 2


async def test_create_partitions_with_validate_only_answers_at_once_and_changes_nothing(apis: TopicApis) -> None:
    assert await create(apis, more("t", 3), validate_only=True, timeout_ms=0) == {"t": (ErrorCode.NONE, None)}
    await apis.plane.controller.drained()
    assert apis.cache.partition_count("t") == 2


async def test_partitions_without_leaders_in_time_get_a_timeout_and_are_created_all_the_same(apis: TopicApis) -> None:
    apis.broker.reachable.clear()
    assert await create(apis, more("t", 3), timeout_ms=1) == {"t": (ErrorCode.REQUEST_TIMED_OUT, None)}
    apis.broker.reachable.set()
    await apis.plane.controller.drained()
    assert apis.cache.leader_of("t", 2) == (1, 0)


async def test_create_partitions_with_timeout_zero_gets_request_timed_out(apis: TopicApis) -> None:
    assert await create(apis, more("t", 3), timeout_ms=0) == {"t": (ErrorCode.REQUEST_TIMED_OUT, None)}


async def test_create_partitions_waits_until_the_metadata_has_the_leaders(apis: TopicApis) -> None:
    apis.broker.reachable.clear()
    answer = asyncio.create_task(create(apis, more("t", 3)))
    while apis.plane.controller.context.leadership(TopicPartition("t", 2)) is None:
        await apis.plane.controller.call("look", _nothing)
    assert not answer.done()
    apis.broker.reachable.set()
    assert await answer == {"t": (ErrorCode.NONE, None)}


async def test_a_topic_that_is_being_deleted_gets_no_new_partitions(apis: TopicApis) -> None:
    apis.broker.reachable.clear()
    await apis.plane.topics.mark_for_deletion("t")
    await apis.plane.controller.call("look", _nothing)
    await apis.plane.controller.call("look again", _nothing)
    assert apis.plane.controller.is_queued_for_deletion("t")
    results = await create(apis, more("t", 3))
    assert results["t"][0] is ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_create_partitions_sent_to_another_broker_gets_not_controller(apis: TopicApis) -> None:
    await apis.plane.controller.call("resign", apis.plane.controller._resign)
    with pytest.raises(NotControllerError):
        await create(apis, more("t", 3))


async def _nothing() -> None:
    return None


async def test_event_loop_stays_free_while_very_many_topics_are_refused(apis: TopicApis) -> None:
    wishes = [more(f"unknown{number}", 2) for number in range(10 * ITEMS_BETWEEN_YIELDS)]
    assert await turns_during(create(apis, *wishes, validate_only=True)) > 10


async def test_topics_validated_in_one_request_share_the_limit_of_partitions(apis: TopicApis) -> None:
    """A request may name thousands of topics, each with ten thousand partitions to assign."""
    for number in range(21):
        await apis.plane.topics.create(NewTopic(f"g{number}", 1, 1))
    results = await create(apis, *(more(f"g{number}", 10_001) for number in range(21)), validate_only=True)
    codes = [code for code, _ in results.values()]
    assert codes == [ErrorCode.NONE] * 19 + [ErrorCode.POLICY_VIOLATION] * 2

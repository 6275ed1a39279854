"""Metadata in every version."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from inspect import isawaitable
from pathlib import Path
from uuid import UUID

import pytest
from pybroker.base.acls import AclOperation
from pybroker.broker.apis.topics.metadata import Metadata
from pybroker.broker.metadata.advertised_address import AdvertisedAddresses
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.broker.requests.encoded_in_turns import EncodedInTurns
from pybroker.broker.requests.error_counts import count_errors, error_places
from pybroker.controller.topics.topic_admin import NewTopic
from pybroker.protocol.codec import decode, encode
from pybroker.protocol.errors import ErrorCode, InvalidRequestError
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from pybroker.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from support.in_process.authorized_broker import RecordingAuthorizer
from support.in_process.quotas import unthrottled
from support.in_process.rights_table import topic
from support.in_process.topic_apis import ADDRESS, TopicApis, context, reached
from support.time.loop_turns import turns_during

ID = UUID(int=7)
NOT_ASKED = -(2**31)


def cluster() -> MetadataCache:
    """Brokers 1 and 2 (2 without listener SECOND); topic t: partitions led by 1, 2, nobody, a dead broker."""
    cache = MetadataCache()
    listeners = {1: ("FIRST", "SECOND"), 2: ("FIRST",)}
    leaders = {0: 1, 1: 2, 2: -1, 3: 9}
    cache.update(
        UpdateMetadataRequest(
            controller_id=2,
            live_brokers=[
                UpdateMetadataBroker(
                    id=broker_id,
                    endpoints=[UpdateMetadataEndpoint(host=f"h{broker_id}", port=9092, listener=n) for n in names],
                    rack="r" if broker_id == 1 else None,
                )
                for broker_id, names in listeners.items()
            ],
            topic_states=[
                UpdateMetadataTopicState(
                    topic_name="t",
                    topic_id=ID,
                    partition_states=[
                        UpdateMetadataPartitionState(
                            partition_index=index,
                            leader=leader,
                            leader_epoch=4,
                            isr=[1],
                            replicas=[1, 9] if index == 0 else [1],
                            offline_replicas=[9] if index == 0 else [],
                        )
                        for index, leader in leaders.items()
                    ],
                ),
                UpdateMetadataTopicState(
                    topic_name="__consumer_offsets",
                    partition_states=[UpdateMetadataPartitionState(leader=1, isr=[1], replicas=[1])],
                ),
            ],
        )
    )
    return cache


def handler(cache: MetadataCache) -> Metadata:
    return Metadata(cache, AdvertisedAddresses(cache, 1, as_reached=()), "the-cluster", None, unthrottled())


def ask(
    version: int,
    names: Iterable[str | None] | None,
    listener: str = "FIRST",
    ids: Iterable[UUID] = (),
    asks_for_operations: bool = False,
) -> MetadataResponse:
    topics = None
    if names is not None:
        topics = [MetadataRequestTopic(name=name) for name in names]
        topics += [MetadataRequestTopic(name=None, topic_id=topic_id) for topic_id in ids]
    request = MetadataRequest(
        topics=topics,
        include_cluster_authorized_operations=asks_for_operations,
        include_topic_authorized_operations=asks_for_operations,
    )
    answer = handler(cluster())(context(version, reached("h", listener)), request)
    assert isinstance(answer, MetadataResponse)
    encode(answer, version)  # raises when the response sets a field that this version lacks
    return answer


@pytest.mark.parametrize("version", range(13))
@pytest.mark.parametrize("authorizer", [None, RecordingAuthorizer({topic(AclOperation.DESCRIBE, "t7", is_quiet=True)})])
async def test_all_of_many_topics_are_told_with_turns_for_other_tasks_between(
    authorizer: RecordingAuthorizer | None, version: int
) -> None:
    cache = cluster()
    partitions = [UpdateMetadataPartitionState(leader=1, isr=[1], replicas=[1])]
    states = [UpdateMetadataTopicState(topic_name=f"t{n}", partition_states=partitions) for n in range(300)]
    cache.update(UpdateMetadataRequest(controller_id=2, topic_states=states))
    asked = context(version, reached("h", "FIRST"))
    asked.authorizer = authorizer
    request = MetadataRequest(topics=None if version else [], include_topic_authorized_operations=version >= 8)
    answer = handler(cache)(asked, request)
    assert not isinstance(answer, MetadataResponse)
    work = asyncio.ensure_future(answer)
    assert await turns_during(asyncio.wait_for(work, None)) >= 6
    response = work.result()
    assert isinstance(response, EncodedInTurns)
    told = decode(MetadataResponse, response.encode_body(7), version)
    names = [str(each.name) for each in told.topics]
    assert ("t7" in names, "t8" in names, len(names)) == (authorizer is None, True, 301 + (authorizer is None))
    few = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])
    few.include_topic_authorized_operations = version >= 8
    at_once = handler(cache)(asked, few)
    assert isinstance(at_once, MetadataResponse)
    at_once.throttle_time_ms = 7
    assert encode(at_once, version) == response.encode_body(7)
    counted: dict[int, int] = {}
    count_errors(error_places(MetadataResponse), at_once, counted)
    assert response.errors == counted


def codes(answer: MetadataResponse) -> list[tuple[str | None, int]]:
    return [(topic.name, topic.error_code) for topic in answer.topics]


@pytest.mark.parametrize("version", range(13))
def test_metadata_returns_all_topics_or_none_by_version(version: int) -> None:
    everything = ask(version, [] if version == 0 else None)
    assert codes(everything) == [("__consumer_offsets", 0), ("t", 0)]
    assert [topic.is_internal for topic in everything.topics] == [True, False]
    if version > 0:
        assert ask(version, []).topics == []


@pytest.mark.parametrize("version", range(13))
def test_metadata_returns_brokers_controller_and_cluster_id_by_version(version: int) -> None:
    answer = ask(version, ["t"])
    again = decode(MetadataResponse, encode(answer, version), version)
    assert [(node.node_id, node.host, node.port) for node in again.brokers] == [(1, "h1", 9092), (2, "h2", 9092)]
    assert again.controller_id == (2 if version >= 1 else -1)
    assert again.cluster_id == ("the-cluster" if version >= 2 else None)
    assert [node.rack for node in again.brokers] == (["r", None] if version >= 1 else [None, None])
    assert again.topics[0].topic_id == (ID if version >= 10 else UUID(int=0))


@pytest.mark.parametrize("version", range(13))
def test_metadata_returns_partitions_with_their_leaders_and_errors(version: int) -> None:
    partitions = ask(version, ["t"]).topics[0].partitions
    found = [(p.partition_index, p.error_code, p.leader_id) for p in partitions]
    first_error = ErrorCode.REPLICA_NOT_AVAILABLE if version == 0 else ErrorCode.NONE
    assert found == [
        (0, first_error, 1),
        (1, ErrorCode.NONE, 2),
        (2, ErrorCode.LEADER_NOT_AVAILABLE, -1),
        (3, ErrorCode.LEADER_NOT_AVAILABLE, -1),
    ]
    assert partitions[0].replica_nodes == ([1] if version == 0 else [1, 9])
    assert (partitions[0].offline_replicas, partitions[0].leader_epoch) == ([9], 4)


@pytest.mark.parametrize(
    ("version", "error"),
    [(0, ErrorCode.LEADER_NOT_AVAILABLE), (5, ErrorCode.LEADER_NOT_AVAILABLE), (6, ErrorCode.LISTENER_NOT_FOUND)],
)
def test_a_leader_without_the_listener_of_the_client_is_an_error_by_version(version: int, error: ErrorCode) -> None:
    answer = ask(version, ["t"], listener="SECOND")
    assert [node.node_id for node in answer.brokers] == [1]
    second, third = answer.topics[0].partitions[1:3]
    assert (second.error_code, second.leader_id) == (error, -1)
    assert third.error_code == ErrorCode.LEADER_NOT_AVAILABLE


def test_missing_topics_have_an_error_that_says_why() -> None:
    answer = ask(12, ["t", "missing", "a b", "t"])
    assert codes(answer) == [
        ("t", ErrorCode.NONE),
        ("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]


def test_metadata_finds_topics_by_id() -> None:
    unknown = UUID(int=99)
    answer = ask(12, [], ids=[ID, unknown], asks_for_operations=True)
    assert codes(answer) == [("t", ErrorCode.NONE), (None, ErrorCode.UNKNOWN_TOPIC_ID)]
    assert [topic.topic_id for topic in answer.topics] == [ID, unknown]
    assert [topic.topic_authorized_operations for topic in answer.topics] == [3576, NOT_ASKED]


@pytest.mark.parametrize("version", [10, 11])
def test_topic_ids_and_null_names_are_refused_before_version_12(version: int) -> None:
    with pytest.raises(InvalidRequestError):
        ask(version, [None])
    with pytest.raises(InvalidRequestError):
        ask(version, [], ids=[ID])


def test_a_topic_without_name_and_id_is_an_invalid_request() -> None:
    with pytest.raises(InvalidRequestError):
        ask(12, [None])
    with pytest.raises(InvalidRequestError):
        ask(12, ["t", None])


def test_metadata_has_authorized_operations_on_request() -> None:
    for version in (8, 10):
        answer = ask(version, ["t"], asks_for_operations=True)
        assert answer.cluster_authorized_operations == 8096
        assert answer.topics[0].topic_authorized_operations == 3576
    unasked = ask(8, ["t"])
    assert unasked.cluster_authorized_operations == unasked.topics[0].topic_authorized_operations == NOT_ASKED
    assert ask(11, ["t"], asks_for_operations=True).cluster_authorized_operations == NOT_ASKED


@pytest.fixture
async def apis(tmp_path: Path) -> AsyncIterator[TopicApis]:
    started = await TopicApis.start(tmp_path, "num.partitions=2")
    yield started
    await started.stop()


def live(apis: TopicApis, *, creates: bool = True) -> Metadata:
    creation = apis.plane.auto_creation.create if creates else None
    return Metadata(apis.cache, apis.addresses, "the-cluster", creation, unthrottled())


async def answered(metadata: Metadata, version: int, request: MetadataRequest) -> MetadataResponse:
    answer = metadata(context(version), request)
    response = await answer if isawaitable(answer) else answer
    assert isinstance(response, MetadataResponse)
    return response


async def test_a_missing_topic_is_created_and_found_by_the_next_request(apis: TopicApis) -> None:
    metadata = live(apis)
    request = MetadataRequest(topics=[MetadataRequestTopic(name="new"), MetadataRequestTopic(name="a b")])
    first = await answered(metadata, 4, request)
    assert codes(first) == [
        ("new", ErrorCode.LEADER_NOT_AVAILABLE),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]
    await apis.plane.controller.drained()
    second = await answered(metadata, 12, MetadataRequest(topics=[MetadataRequestTopic(name="new")]))
    assert codes(second) == [("new", ErrorCode.NONE)]
    assert [p.leader_id for p in second.topics[0].partitions] == [1, 1]
    assert second.topics[0].topic_id == apis.cache.topic_id("new")
    assert [(node.host, node.port) for node in second.brokers] == [(ADDRESS.local_host, ADDRESS.local_port)]


async def test_an_internal_topic_is_created_with_its_own_settings(apis: TopicApis) -> None:
    await answered(live(apis), 4, MetadataRequest(topics=[MetadataRequestTopic(name="__consumer_offsets")]))
    await apis.plane.controller.drained()
    assert apis.cache.partition_count("__consumer_offsets") == 50
    settings = await apis.plane.tree.config("topics", "__consumer_offsets")
    assert settings["cleanup.policy"] == "compact"


@pytest.mark.parametrize(("allowed", "enabled"), [(False, True), (True, False)])
async def test_no_topic_is_created_when_the_request_or_the_broker_forbids_it(
    apis: TopicApis, allowed: bool, enabled: bool
) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="new")], allow_auto_topic_creation=allowed)
    answer = await answered(live(apis, creates=enabled), 4, request)
    assert codes(answer) == [("new", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    assert await apis.plane.tree.topics() == []


async def test_a_request_for_all_topics_creates_none(apis: TopicApis) -> None:
    await apis.plane.topics.create(NewTopic("t", 1, 1))
    await apis.plane.controller.drained()
    answer = await answered(live(apis), 4, MetadataRequest(topics=None))
    assert codes(answer) == [("t", ErrorCode.NONE)]

"""Quotas of topic changes (KIP-599): the bucket of a client, refusals in newer versions, delays in older ones."""

from inspect import isawaitable

from pybroker.broker.apis.groups.find_coordinator import FindCoordinator
from pybroker.broker.apis.topics.create_partitions import CreatePartitions
from pybroker.broker.apis.topics.create_topics import CreateTopics
from pybroker.broker.apis.topics.delete_topics import DeleteTopics
from pybroker.broker.apis.topics.metadata import Metadata
from pybroker.broker.coordinator.coordinator_directory import CoordinatorDirectory
from pybroker.broker.coordinator.coordinator_topic import CoordinatorTopic
from pybroker.broker.quotas.quota_type import QuotaType
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pybroker.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from support.in_process.quotas import Limited
from support.in_process.topic_apis import TopicApis

NONE, REFUSED = ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED
WAIT_MS = 60_000


class Client(Limited):
    """A client that may change one partition a second, and eleven at once."""

    def __init__(self, apis: TopicApis) -> None:
        super().__init__({QuotaType.CONTROLLER_MUTATION: 1.0})
        plane, cache, waiters = apis.plane, apis.cache, apis.waiters
        self._create = CreateTopics(
            plane.topics, lambda: True, cache, waiters, lambda _topic: [], lambda _id, _partition: True, self.throttling
        )
        self._grow = CreatePartitions(plane.growth, plane.controller, cache, waiters, self.throttling)
        create_missing = plane.auto_creation.create
        self._metadata = Metadata(cache, apis.addresses, "the-cluster", create_missing, self.throttling)
        self._delete = DeleteTopics(plane.topics, plane.controller, cache, waiters, lambda: True, self.throttling)

    async def create(self, *counts: int, version: int = 7, validate_only: bool = False) -> list[int]:
        """Create topics of so many partitions, called new-0 and so on."""
        topics = [
            CreatableTopic(name=f"new-{number}", num_partitions=count, replication_factor=1)
            for number, count in enumerate(counts)
        ]
        response = await self._create(
            self.context(ApiKey.CREATE_TOPICS, version),
            CreateTopicsRequest(topics=topics, timeout_ms=WAIT_MS, validate_only=validate_only),
        )
        return [result.error_code for result in response.topics]

    async def grow(self, count: int, version: int = 3) -> int:
        """Let topic t, which has two partitions, have ``count``."""
        response = await self._grow(
            self.context(ApiKey.CREATE_PARTITIONS, version),
            CreatePartitionsRequest(
                topics=[CreatePartitionsTopic(name="t", count=count, assignments=None)], timeout_ms=WAIT_MS
            ),
        )
        return response.results[0].error_code

    async def delete(self, *names: str, version: int = 6) -> list[int]:
        response = await self._delete(
            self.context(ApiKey.DELETE_TOPICS, version),
            DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in names], timeout_ms=WAIT_MS)
            if version >= 6
            else DeleteTopicsRequest(topic_names=list(names), timeout_ms=WAIT_MS),
        )
        return [result.error_code for result in response.responses]

    async def ask_for(self, *names: str) -> list[int]:
        """Create topics on demand, of one partition each."""
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])
        answer = self._metadata(self.context(ApiKey.METADATA, 12), request)
        response = await answer if isawaitable(answer) else answer
        assert isinstance(response, MetadataResponse)
        return [topic.error_code for topic in response.topics]

    async def find_coordinator(self, apis: TopicApis) -> None:
        """Ask for the coordinator of a group while ``__consumer_offsets`` is missing."""
        topic = CoordinatorTopic(
            "__consumer_offsets", apis.cache, apis.addresses, apis.plane.auto_creation, apis.waiters
        )
        directory = CoordinatorDirectory(lambda _group: 0, topic.node_of, topic.ensure_topic)
        handler = FindCoordinator(directory, directory, self.throttling)
        answer = handler(self.context(ApiKey.FIND_COORDINATOR, 4), FindCoordinatorRequest(coordinator_keys=["g"]))
        assert isawaitable(answer)
        await answer

    @property
    def throttle_time_ms(self) -> int:
        return self.request.throttle_time_ms


async def test_topics_are_refused_once_the_bucket_is_in_debt(apis: TopicApis) -> None:
    client = Client(apis)
    assert await client.create(6, 9, 1) == [NONE, NONE, REFUSED]
    assert client.throttle_time_ms == 4_000
    assert sorted(apis.cache.topics) == ["new-0", "new-1", "t"]
    client.now_ms = 3_999
    assert await client.delete("new-0") == [REFUSED]
    assert client.throttle_time_ms == 1
    client.now_ms = 4_000
    assert await client.delete("new-0") == [NONE]
    assert client.throttle_time_ms == 0
    assert await client.grow(3) == REFUSED
    assert client.throttle_time_ms == 6_000


async def test_older_versions_are_delayed_and_not_refused(apis: TopicApis) -> None:
    client = Client(apis)
    assert await client.create(6, 9, 1, version=5) == [NONE] * 3
    assert client.throttle_time_ms == 5_000
    assert await client.grow(4, version=2) == NONE
    assert client.throttle_time_ms == 7_000
    assert await client.delete("t", version=4) == [NONE]
    assert client.throttle_time_ms == 11_000


async def test_validation_and_invalid_changes_cost_nothing(apis: TopicApis) -> None:
    client = Client(apis)
    assert await client.create(1_000, validate_only=True) == [NONE]
    assert await client.create(0) == [ErrorCode.INVALID_PARTITIONS]
    assert await client.delete("missing") == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert await client.create(12) == [NONE]
    assert client.throttle_time_ms == 0
    assert await client.grow(3) == REFUSED


async def test_the_error_tells_the_client_what_happened(apis: TopicApis) -> None:
    client = Client(apis)
    client.limit({QuotaType.CONTROLLER_MUTATION: 0.0})
    assert await client.grow(3) == NONE, "an empty bucket is not in debt"
    assert await client.grow(4) == REFUSED
    assert client.throttle_time_ms == 2**31 - 1


async def test_topics_created_on_demand_count_but_neither_fail_nor_throttle_their_request(apis: TopicApis) -> None:
    client = Client(apis)
    client.limit({QuotaType.CONTROLLER_MUTATION: 0.25})  # two partitions at once, and a fraction
    assert await client.ask_for("a", "b", "c", "t", "x y") == [
        *[ErrorCode.LEADER_NOT_AVAILABLE] * 3,
        NONE,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ]
    assert client.throttle_time_ms == 0
    assert await client.ask_for("d") == [ErrorCode.LEADER_NOT_AVAILABLE]
    assert await client.create(1) == [REFUSED]
    assert client.throttle_time_ms == 5_000


async def test_a_topic_of_coordinators_counts_for_the_client_that_needs_it(apis: TopicApis) -> None:
    client = Client(apis)
    await client.find_coordinator(apis)
    assert client.throttle_time_ms == 0
    assert apis.cache.partition_count("__consumer_offsets") == 50
    assert await client.create(1) == [REFUSED]
    assert client.throttle_time_ms == (50 - 11) * 1_000

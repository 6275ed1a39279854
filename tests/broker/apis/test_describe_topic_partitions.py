"""DescribeTopicPartitions: pages of partitions, sorted by topic."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.acls import AclResourceType
from pybroker.broker.apis.topics.describe_topic_partitions import DescribeTopicPartitions
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.broker.requests.authorized_operations import ALL_OPERATIONS
from pybroker.protocol.codec import decode, encode
from pybroker.protocol.errors import ErrorCode, InvalidRequestError
from pybroker.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    RequestCursor,
    TopicRequest,
)
from pybroker.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from support.in_process.topic_apis import context

COUNTS = {"b": 3, "a": 2, "__consumer_offsets": 1, "d": 4}


def cache_of(counts: dict[str, int]) -> MetadataCache:
    """Broker 1 leads the even partitions; 2, which leads the odd ones, is down."""
    cache = MetadataCache()
    endpoint = UpdateMetadataEndpoint(host="one", port=9092, listener="PLAINTEXT")
    topics = [
        UpdateMetadataTopicState(
            topic_name=topic,
            topic_id=UUID(int=number),
            partition_states=[
                UpdateMetadataPartitionState(
                    partition_index=index,
                    leader=1 + index % 2,
                    leader_epoch=5,
                    replicas=[1, 2],
                    isr=[1 + index % 2],
                    offline_replicas=[2],
                )
                for index in range(count)
            ],
        )
        for number, (topic, count) in enumerate(counts.items(), 1)
    ]
    broker = UpdateMetadataBroker(id=1, endpoints=[endpoint])
    cache.update(UpdateMetadataRequest(controller_id=1, topic_states=topics, live_brokers=[broker]))
    return cache


CACHE = cache_of(COUNTS)


def ask(
    *topics: str, limit: int = 2000, cursor: tuple[str, int] | None = None, most: int = 2000
) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=topic) for topic in topics],
        response_partition_limit=limit,
        cursor=None if cursor is None else RequestCursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    response = DescribeTopicPartitions(CACHE, most)(context(0), request)
    return decode(DescribeTopicPartitionsResponse, encode(response, 0), 0)


def page(response: DescribeTopicPartitionsResponse) -> list[tuple[str | None, list[int]]]:
    return [(topic.name, [each.partition_index for each in topic.partitions]) for topic in response.topics]


def next_cursor(response: DescribeTopicPartitionsResponse) -> tuple[str, int] | None:
    cursor = response.next_cursor
    return None if cursor is None else (cursor.topic_name, cursor.partition_index)


def test_a_request_without_topics_gets_all_topics_sorted_by_name() -> None:
    response = ask()
    assert page(response) == [("__consumer_offsets", [0]), ("a", [0, 1]), ("b", [0, 1, 2]), ("d", [0, 1, 2, 3])]
    assert next_cursor(response) is None
    assert [topic.is_internal for topic in response.topics] == [True, False, False, False]


def test_a_topic_is_described_as_in_the_metadata_cache() -> None:
    (topic,) = ask("a").topics
    assert (topic.error_code, topic.topic_id) == (ErrorCode.NONE, UUID(int=2))
    assert topic.topic_authorized_operations == ALL_OPERATIONS[AclResourceType.TOPIC]
    even, odd = topic.partitions
    assert (even.leader_id, even.leader_epoch, even.replica_nodes, even.isr_nodes) == (1, 5, [1, 2], [1])
    assert even.offline_replicas == [2]
    assert (even.eligible_leader_replicas, even.last_known_elr) == ([], [])
    assert odd.leader_id == -1, "who leads it is down"


def test_repeated_names_count_once_and_missing_topics_get_an_error() -> None:
    response = ask("b", "x", "a", "b", "a/b")
    assert page(response) == [("a", [0, 1]), ("a/b", []), ("b", [0, 1, 2]), ("x", [])]
    assert [topic.error_code for topic in response.topics] == [
        ErrorCode.NONE,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


@pytest.mark.parametrize(
    ("limit", "expected", "cursor"),
    [
        (1, [("a", [0])], ("a", 1)),
        (2, [("a", [0, 1])], ("b", 0)),
        (3, [("a", [0, 1]), ("b", [0])], ("b", 1)),
        (5, [("a", [0, 1]), ("b", [0, 1, 2])], None),
        (0, [("a", [0])], ("a", 1)),
        (-3, [("a", [0])], ("a", 1)),
    ],
)
def test_a_full_page_ends_with_the_cursor_of_the_next_page(
    limit: int, expected: list[tuple[str, list[int]]], cursor: tuple[str, int] | None
) -> None:
    response = ask("a", "b", limit=limit)
    assert (page(response), next_cursor(response)) == (expected, cursor)


def test_the_limit_of_the_broker_bounds_the_limit_of_the_request() -> None:
    assert next_cursor(ask(limit=2000, most=2)) == ("a", 1)


def test_a_page_begins_at_the_cursor_of_the_request() -> None:
    assert page(ask("a", "b", cursor=("b", 1))) == [("b", [1, 2])]
    assert page(ask(cursor=("b", 1))) == [("b", [1, 2]), ("d", [0, 1, 2, 3])]
    assert page(ask(cursor=("c", 1))) == [("d", [0, 1, 2, 3])], "the cursor's topic was deleted meanwhile"


def test_a_cursor_that_does_not_fit_the_request_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="must name the topic"):
        ask("a", "b", cursor=("c", 0))
    with pytest.raises(InvalidRequestError, match="-1"):
        ask("a", cursor=("a", -1))


@given(st.integers(1, 12), st.lists(st.sampled_from([*COUNTS, "missing"]), max_size=4))
def test_all_pages_together_have_every_partition_once(limit: int, topics: list[str]) -> None:
    whole = [(name, index) for name, indexes in page(ask(*topics)) for index in indexes]
    collected: list[tuple[str | None, int]] = []
    cursor: tuple[str, int] | None = None
    while True:
        response = ask(*topics, limit=limit, cursor=cursor)
        part = [(name, index) for name, indexes in page(response) for index in indexes]
        assert len(part) <= limit
        collected += part
        cursor = next_cursor(response)
        if cursor is None:
            break
    assert collected == whole

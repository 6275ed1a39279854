"""Asks another broker where the partitions that it leads end (ListOffsets), for the lag of share groups."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode, known_error_code
from ...protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ...protocol.sentinels import LATEST
from .broker_link import Link

__all__ = ["end_offsets_at", "in_requests", "list_offsets_request"]

_PARTITIONS_IN_A_REQUEST = 200


async def end_offsets_at(
    link: Link, version: int, timeout_ms: int, asked: Sequence[TopicPartition]
) -> dict[TopicPartition, int | ErrorCode]:
    """The high watermark of each partition, or the broker's error. NETWORK_EXCEPTION: there was no response."""
    found: dict[TopicPartition, int | ErrorCode] = {}
    for some in in_requests(asked):
        try:
            response = await link.ask(list_offsets_request(some, LATEST), version, timeout_ms)
        except ConnectionError:
            return {**dict.fromkeys(asked, ErrorCode.NETWORK_EXCEPTION), **found}
        except TimeoutError:
            return {**dict.fromkeys(asked, ErrorCode.REQUEST_TIMED_OUT), **found}
        found.update(dict.fromkeys(some, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        for topic in response.topics:
            for each in topic.partitions:
                code = known_error_code(each.error_code)
                found[TopicPartition(topic.name, each.partition_index)] = (
                    each.offset if code is ErrorCode.NONE else code
                )
    return found


def in_requests(asked: Iterable[TopicPartition]) -> Iterator[list[TopicPartition]]:
    """The partitions of each request, so that none takes a leader long."""
    rest = iter(asked)
    while some := list(islice(rest, _PARTITIONS_IN_A_REQUEST)):
        yield some


def list_offsets_request(asked: Iterable[TopicPartition], timestamp: int) -> ListOffsetsRequest:
    """As a consumer asks. ``timestamp``: a sentinel."""
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for each in asked:
        partition = ListOffsetsPartition(partition_index=each.partition, timestamp=timestamp)
        topics.setdefault(each.topic, []).append(partition)
    return ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=name, partitions=each) for name, each in topics.items()]
    )

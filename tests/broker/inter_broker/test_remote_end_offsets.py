"""Other leaders tell where their partitions end, or the reason why that is not known."""

from typing import Any

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.inter_broker.remote_end_offsets import end_offsets_at
from pybroker.protocol.codec import Message, decode, encode
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

VERSION = 7


class Leader:
    """Leads the partitions in ``ends``. ``broken``: the error of each request after the first ones."""

    def __init__(
        self, ends: dict[TopicPartition, int | ErrorCode], broken: tuple[int, Exception] | None = None
    ) -> None:
        self._ends = ends
        self._broken = broken
        self.requests: list[ListOffsetsRequest] = []

    async def ask(self, request: Message, version: int, timeout_ms: int) -> Any:
        asked = decode(ListOffsetsRequest, encode(request, version), version)
        if self._broken is not None and len(self.requests) == self._broken[0]:
            raise self._broken[1]
        self.requests.append(asked)
        topics = [
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    self._answer(TopicPartition(topic.name, each.partition_index)) for each in topic.partitions
                ],
            )
            for topic in asked.topics
        ]
        for topic in topics:
            topic.partitions = [each for each in topic.partitions if each.offset != -2]
        return decode(ListOffsetsResponse, encode(ListOffsetsResponse(topics=topics), version), version)

    def _answer(self, wanted: TopicPartition) -> ListOffsetsPartitionResponse:
        end = self._ends.get(wanted, -2)
        if isinstance(end, ErrorCode):
            return ListOffsetsPartitionResponse(partition_index=wanted.partition, error_code=end, offset=-1)
        return ListOffsetsPartitionResponse(partition_index=wanted.partition, offset=end)

    def kill(self) -> None:
        pass

    async def close(self) -> None:
        pass


async def test_each_partition_gets_its_end_or_its_error() -> None:
    led, moved, left_out = TopicPartition("a", 0), TopicPartition("b", 1), TopicPartition("b", 2)
    leader = Leader({led: 5, moved: ErrorCode.NOT_LEADER_OR_FOLLOWER})
    assert await end_offsets_at(leader, VERSION, 1_000, [led, moved, left_out]) == {
        led: 5,
        moved: ErrorCode.NOT_LEADER_OR_FOLLOWER,
        left_out: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConnectionError(), ErrorCode.NETWORK_EXCEPTION), (TimeoutError(), ErrorCode.REQUEST_TIMED_OUT)],
)
async def test_partitions_of_a_leader_that_goes_away_get_an_error(error: Exception, code: ErrorCode) -> None:
    asked = [TopicPartition("a", number) for number in range(201)]
    leader = Leader(dict.fromkeys(asked, 1), (1, error))
    found = await end_offsets_at(leader, VERSION, 1_000, asked)
    assert found == {**dict.fromkeys(asked[:200], 1), asked[200]: code}
    assert [len(request.topics[0].partitions) for request in leader.requests] == [200]

"""Other leaders are asked for the ends of their partitions only while somebody wants to know them."""

import asyncio
from typing import Any

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.lag import remote_ends as remote_ends_module
from pybroker.broker.lag.remote_ends import RemoteEnds
from pybroker.protocol.codec import Message
from pybroker.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from pybroker.protocol.sentinels import EARLIEST, LATEST

P = [TopicPartition("orders", number) for number in range(450)]


class LeaderLink:
    """A link to a leader that answers, with the partition number added to the end or start; or breaks."""

    def __init__(self) -> None:
        self.end = 100
        self.error_code = 0
        self.is_broken = False
        self.asked: list[tuple[int, int]] = []
        self.is_closed = False

    async def ask(self, request: Message, version: int, timeout_ms: int) -> Any:
        assert isinstance(request, ListOffsetsRequest)
        assert request.replica_id == -1
        if self.is_broken:
            raise ConnectionError("gone")
        topics = []
        for topic in request.topics:
            timestamp = topic.partitions[0].timestamp
            self.asked.append((timestamp, len(topic.partitions)))
            base = self.end if timestamp == LATEST else 0
            partitions = [
                ListOffsetsPartitionResponse(
                    partition_index=each.partition_index,
                    error_code=self.error_code,
                    offset=base + each.partition_index,
                )
                for each in topic.partitions
            ]
            topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
        return ListOffsetsResponse(topics=topics)

    def kill(self) -> None:
        self.is_closed = True

    async def close(self) -> None:
        self.kill()


def remote_ends(links: dict[int, LeaderLink], leaders: dict[TopicPartition, int]) -> RemoteEnds:
    return RemoteEnds(
        asyncio.get_running_loop(),
        leader_of=leaders.get,
        link_to=lambda leader: links[leader],
        version=7,
    )


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_first_reader_learns_nothing_and_the_next_one_the_answer() -> None:
    link = LeaderLink()
    ends = remote_ends({2: link}, {P[3]: 2})
    assert ends.end_of(P[3]) is None
    assert ends.known_end(P[3]) is None
    await turns()
    found = ends.end_of(P[3])
    assert found is not None
    assert found[:2] == (3, 103)
    assert ends.known_end(P[3]) == 103
    await ends.close()
    assert link.is_closed


async def test_commits_alone_ask_nothing() -> None:
    link = LeaderLink()
    ends = remote_ends({2: link}, {P[0]: 2})
    ends.known_end(P[0])
    await turns()
    assert not link.asked


async def test_partitions_of_a_leader_are_asked_for_together_in_requests_of_bounded_size() -> None:
    link, other = LeaderLink(), LeaderLink()
    ends = remote_ends({2: link, 3: other}, {**dict.fromkeys(P, 2), P[0]: 3})
    for each in P:
        ends.end_of(each)
    await turns(60)
    assert [size for timestamp, size in link.asked if timestamp == LATEST] == [200, 200, 49]
    assert [size for timestamp, size in link.asked if timestamp == EARLIEST] == [200, 200, 49]
    assert other.asked == [(LATEST, 1), (EARLIEST, 1)]
    await ends.close()


async def test_partition_without_a_leader_is_not_asked_for() -> None:
    ends = remote_ends({}, {})
    assert ends.end_of(P[0]) is None
    await turns()
    assert ends.end_of(P[0]) is None
    await ends.close()


async def test_leader_that_does_not_answer_leaves_the_end_unknown_and_others_known() -> None:
    broken, refusing, link = LeaderLink(), LeaderLink(), LeaderLink()
    broken.is_broken, refusing.error_code = True, 6
    ends = remote_ends({2: broken, 3: link, 4: refusing}, {P[0]: 2, P[1]: 3, P[2]: 4})
    for each in P[:3]:
        ends.end_of(each)
    await turns()
    assert [ends.known_end(each) for each in P[:3]] == [None, 101, None]
    await ends.close()


async def test_nothing_is_asked_after_the_end() -> None:
    link = LeaderLink()
    ends = remote_ends({2: link}, {P[0]: 2})
    await ends.close()
    assert ends.end_of(P[0]) is None
    await turns()
    assert not link.asked


async def test_starts_are_asked_for_once_in_six_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_ends_module, "_INTERVAL_S", 0)
    link = LeaderLink()
    ends = remote_ends({2: link}, {P[0]: 2})
    ends.end_of(P[0])
    await turns(200)
    asked = [timestamp for timestamp, _ in link.asked]
    assert asked.count(LATEST) > 12
    assert abs(asked.count(EARLIEST) * 6 - asked.count(LATEST)) <= 6
    link.end = 105
    await turns()
    assert ends.known_end(P[0]) == 105
    await ends.close()


async def test_partition_that_nobody_wants_any_more_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_ends_module, "_INTERVAL_S", 0)
    monkeypatch.setattr(remote_ends_module, "_FORGOTTEN_S", -1)
    link = LeaderLink()
    ends = remote_ends({2: link}, {P[0]: 2})
    for _ in range(2):
        assert ends.end_of(P[0]) is None
        await turns()
        assert ends.known_end(P[0]) is None
    assert [timestamp for timestamp, _ in link.asked] == [LATEST, EARLIEST] * 2
    await ends.close()

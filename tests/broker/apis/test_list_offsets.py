"""ListOffsets over real logs: earliest, latest and by timestamp, visibility, fencing, and version 0."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from inspect import isawaitable
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.records.list_offsets import ListOffsets
from pybroker.broker.requests.duplicate_names import MAX_DUPLICATES
from pybroker.protocol.codec import decode, encode
from pybroker.protocol.errors import ErrorCode, UnknownServerError
from pybroker.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from support.in_process.replicas import NOW_MS, TOPIC, TP, Replicas, batch_of, fetch_from, follower, request_context

LATEST_VERSION = 9
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5


class Asker:
    def __init__(self, replicas: Replicas) -> None:
        self.replicas = replicas
        self.handler = ListOffsets(replicas.partitions)

    async def ask_all(
        self, *timestamps: int, version: int = LATEST_VERSION, topic_partition: TopicPartition = TP, **fields: int
    ) -> list[ListOffsetsPartitionResponse]:
        wanted = [
            ListOffsetsPartition(
                partition_index=topic_partition.partition,
                timestamp=timestamp,
                current_leader_epoch=fields.get("leader_epoch", -1) if version >= 4 else -1,
                max_num_offsets=fields.get("max_num_offsets", 1) if version == 0 else 1,
            )
            for timestamp in timestamps
        ]
        request = ListOffsetsRequest(
            replica_id=fields.get("replica_id", -1),
            isolation_level=fields.get("isolation_level", 0) if version >= 2 else 0,
            topics=[ListOffsetsTopic(name=topic_partition.topic, partitions=wanted)],
        )
        answer = self.handler(request_context(version), decode(ListOffsetsRequest, encode(request, version), version))
        response = await answer if isawaitable(answer) else answer
        (topic,) = decode(ListOffsetsResponse, encode(response, version), version).topics
        return topic.partitions

    async def ask(self, timestamp: int, version: int = LATEST_VERSION, **fields: int) -> ListOffsetsPartitionResponse:
        (partition,) = await self.ask_all(timestamp, version=version, topic_partition=TP, **fields)
        return partition


def found(answer: ListOffsetsPartitionResponse) -> tuple[int, int, int]:
    assert answer.error_code == ErrorCode.NONE
    return answer.timestamp, answer.offset, answer.leader_epoch


@pytest.fixture
async def asker(tmp_path: Path) -> AsyncIterator[Asker]:
    """Leader under epoch 3; offsets 0 to 3 have the times 100, 300, 200, 400 after NOW_MS."""
    replicas = Replicas(tmp_path)
    await replicas.order(leader_epoch=3)
    for times in ((100, 300), (200, 400)):
        replicas.append(batch_of(b"a", b"b", timestamps=[NOW_MS + time for time in times]))
    yield Asker(replicas)
    replicas.close()


@pytest.mark.parametrize("version", range(1, LATEST_VERSION + 1))
async def test_list_offsets_finds_the_earliest_and_the_latest_offset(asker: Asker, version: int) -> None:
    epoch = 3 if version >= 4 else -1
    assert found(await asker.ask(LATEST, version)) == (-1, 4, epoch)
    assert found(await asker.ask(EARLIEST, version)) == (-1, 0, epoch)


@pytest.mark.parametrize("version", range(1, LATEST_VERSION + 1))
async def test_a_timestamp_finds_the_first_record_at_or_after_it(asker: Asker, version: int) -> None:
    epoch = 3 if version >= 4 else -1
    for time, expected in ((0, (100, 0)), (100, (100, 0)), (101, (300, 1)), (300, (300, 1)), (301, (400, 3))):
        answer = await asker.ask(NOW_MS + time, version)
        assert found(answer) == (NOW_MS + expected[0], expected[1], epoch)
    assert found(await asker.ask(NOW_MS + 401, version)) == (-1, -1, -1)


async def test_special_timestamps_are_unsupported_before_their_first_version(asker: Asker) -> None:
    meanings = {
        MAX_TIMESTAMP: (7, (NOW_MS + 400, 3, 3)),
        EARLIEST_LOCAL: (8, (-1, 0, 3)),
        LATEST_TIERED: (9, (-1, -1, -1)),
        -6: (10, None),
    }
    for timestamp, (first, expected) in meanings.items():
        for version in range(1, LATEST_VERSION + 1):
            answer = await asker.ask(timestamp, version)
            if version < first:
                assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
            else:
                assert found(answer) == expected


async def test_earliest_and_latest_are_answered_at_once_and_timestamps_later(asker: Asker) -> None:
    def send(timestamp: int) -> object:
        wanted = [ListOffsetsPartition(partition_index=0, timestamp=timestamp)]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=TOPIC, partitions=wanted)])
        return asker.handler(request_context(9), request)

    assert isinstance(send(LATEST), ListOffsetsResponse)
    later = send(NOW_MS)
    assert isawaitable(later)
    await later


async def test_logs_are_searched_for_timestamps_one_after_the_other(
    asker: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request waits for one search at a time, not for a search in each of its partitions."""
    under_way: set[int] = set()
    most: list[int] = []

    async def search(partition: int) -> None:
        await asyncio.sleep(0)
        under_way.discard(partition)

    def list_offset(topic_partition: TopicPartition, _query: object) -> Coroutine[None, None, None]:
        under_way.add(topic_partition.partition)
        most.append(len(under_way))
        return search(topic_partition.partition)

    monkeypatch.setattr(asker.replicas.partitions, "list_offset", list_offset)
    wanted = [ListOffsetsPartition(partition_index=number, timestamp=NOW_MS) for number in range(100)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=TOPIC, partitions=wanted)])
    answer = asker.handler(request_context(9), request)
    assert isawaitable(answer)
    (topic,) = (await answer).topics
    assert [each.partition_index for each in topic.partitions] == list(range(100))
    assert most == [1] * 100


async def test_the_epoch_of_the_earliest_offset_is_unknown_when_its_record_has_none(asker: Asker) -> None:
    # As after an upgrade from formats without epochs: the first known epoch begins after the log start.
    log = asker.replicas.hosted().log
    log.leader_epochs.clear()
    log.leader_epochs.assign(3, 2)
    assert found(await asker.ask(EARLIEST)) == (-1, 0, -1)


async def test_latest_is_the_last_offset_that_the_reader_may_see(asker: Asker) -> None:
    replicas = asker.replicas
    await replicas.order(leader_epoch=4, isr=(1, 2), replicas=(1, 2))
    replicas.append(batch_of(b"not committed", timestamps=[NOW_MS + 900]))
    assert (await asker.ask(LATEST)).offset == 4
    assert (await asker.ask(LATEST, isolation_level=1)).offset == 4
    assert (await asker.ask(LATEST, replica_id=2)).offset == 5
    assert (await asker.ask(LATEST, replica_id=-2)).offset == 5
    assert found(await asker.ask(NOW_MS + 500)) == (-1, -1, -1)
    assert found(await asker.ask(MAX_TIMESTAMP)) == (-1, -1, -1)
    assert (await asker.ask(NOW_MS + 500, replica_id=2)).offset == 4


@pytest.mark.parametrize(
    ("version", "expected"), [(4, ErrorCode.LEADER_NOT_AVAILABLE), (5, ErrorCode.OFFSET_NOT_AVAILABLE)]
)
async def test_a_new_leader_answers_latest_with_offset_not_available(
    tmp_path: Path, version: int, expected: ErrorCode
) -> None:
    replicas = Replicas(tmp_path)
    await replicas.order(isr=(1, 2), replicas=(1, 2))
    replicas.append()
    await replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    asker = Asker(replicas)
    assert (await asker.ask(LATEST, version)).error_code == expected
    assert (await asker.ask(NOW_MS + 900, version)).error_code == expected
    assert (await asker.ask(EARLIEST, version)).error_code == ErrorCode.NONE
    replicas.fetch(fetch_from(1), params=follower(2))
    assert (await asker.ask(LATEST, version)).offset == 1
    replicas.close()


@pytest.mark.parametrize("timestamp", [LATEST, EARLIEST, NOW_MS])
@pytest.mark.parametrize(
    ("leader_epoch", "expected"),
    [(2, ErrorCode.FENCED_LEADER_EPOCH), (3, ErrorCode.NONE), (4, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
async def test_list_offsets_with_a_wrong_leader_epoch_is_fenced(
    asker: Asker, timestamp: int, leader_epoch: int, expected: ErrorCode
) -> None:
    assert (await asker.ask(timestamp, leader_epoch=leader_epoch)).error_code == expected


async def test_only_the_leader_answers_list_offsets_except_for_the_debugging_replica_id(asker: Asker) -> None:
    await asker.replicas.order(leader=2, leader_epoch=4, isr=(1, 2), replicas=(1, 2))
    assert (await asker.ask(LATEST)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (await asker.ask(LATEST, replica_id=-2)).offset == 4


@pytest.mark.parametrize("level", [-1, 2])
async def test_list_offsets_refuses_an_unknown_isolation_level(asker: Asker, level: int) -> None:
    with pytest.raises(UnknownServerError):
        await asker.ask(LATEST, isolation_level=level)


async def test_list_offsets_refuses_a_partition_named_twice_and_an_unknown_partition(asker: Asker) -> None:
    twice = await asker.ask_all(LATEST, EARLIEST)
    assert [answer.error_code for answer in twice] == [ErrorCode.INVALID_REQUEST] * 2
    (missing,) = await asker.ask_all(LATEST, topic_partition=TopicPartition("nowhere", 0))
    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- version 0 -------------------------------------------------------------------------------------------------------


@pytest.fixture
async def segments(tmp_path: Path) -> AsyncIterator[Asker]:
    """Segments with base offsets 0, 1 and 2; the log end offset is 3."""
    replicas = Replicas(tmp_path, topics={TOPIC: {"segment.bytes": "150"}})
    await replicas.order()
    for _ in range(3):
        replicas.append(batch_of(b"x" * 70))
    yield Asker(replicas)
    replicas.close()


async def test_version_0_lists_the_base_offsets_of_segments(segments: Asker) -> None:
    async def offsets(timestamp: int, count: int) -> list[int]:
        return (await segments.ask(timestamp, 0, max_num_offsets=count)).old_style_offsets

    assert await offsets(LATEST, 10) == [3, 2, 1, 0]
    assert await offsets(LATEST, 1) == [3]
    assert await offsets(LATEST, 2) == [3, 2]
    assert await offsets(EARLIEST, 10) == [0]
    assert await offsets(0, 10) == []
    assert await offsets(1 << 62, 10) == [3, 2, 1, 0]
    assert await offsets(LATEST, 0) == []
    assert (await segments.ask(MAX_TIMESTAMP, 0)).error_code == ErrorCode.UNSUPPORTED_VERSION


async def test_version_0_replaces_offsets_above_the_high_watermark_by_it_for_consumers(segments: Asker) -> None:
    await segments.replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    segments.replicas.append(batch_of(b"x" * 70))
    segments.replicas.append(batch_of(b"x" * 70))
    of_consumer = await segments.ask(LATEST, 0, max_num_offsets=10)
    of_follower = await segments.ask(LATEST, 0, max_num_offsets=10, replica_id=2)
    assert of_consumer.old_style_offsets == [3, 3, 2, 1, 0]
    assert of_follower.old_style_offsets == [5, 4, 3, 2, 1, 0]


async def test_version_0_refuses_a_partition_that_is_named_very_often(segments: Asker) -> None:
    twice = await segments.ask_all(LATEST, LATEST, version=0, max_num_offsets=10)
    assert [(answer.error_code, answer.old_style_offsets) for answer in twice] == [(0, [3, 2, 1, 0])] * 2
    often = await segments.ask_all(*[LATEST] * (MAX_DUPLICATES + 1), version=0, max_num_offsets=10)
    assert {answer.error_code for answer in often} == {ErrorCode.INVALID_REQUEST}
    assert not any(answer.old_style_offsets for answer in often)

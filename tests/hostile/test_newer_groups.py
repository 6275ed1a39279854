"""Attacks on consumer groups (KIP-848) and share groups (KIP-932): floods of heartbeats, patterns, records held."""

import contextlib
from typing import Any
from uuid import UUID

import pytest
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pybroker.protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from pybroker.protocol.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from pybroker.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.walk import Record
from support.clients.good_client import create_topic, make_coordinator, produce_request
from support.clients.wire_client import WireClient
from support.processes.arena import Arena, frame_of

from .conftest import OpenArena
from .test_frames import AT_REST_MIB
from .test_groups import OFFSETS_FILES

RECORDS = 2_000
"""The default of group.share.partition.max.record.locks."""


def joining(group: str, member: str, *names: str, pattern: str | None = None) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=member,
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=list(names),
        subscribed_topic_regex=pattern,
        topic_partitions=[],
    )


@pytest.mark.parametrize("count", [60, pytest.param(2_000, marks=pytest.mark.long)])
def test_subscriptions_of_consumer_groups_are_bounded_over_all_groups(open_arena: OpenArena, count: int) -> None:
    field = open_arena({"pybroker.groups.max.bytes": str(4 * 1024 * 1024)})
    with WireClient(field.servers) as client:
        make_coordinator(client)
        field.begin()
        codes = [
            ErrorCode(
                client.ask(joining(f"group-{number}", "m", *(f"{'x' * 90}-{i}" for i in range(1_000))), 1).error_code
            )
            for number in range(count)
        ]
        assert codes[:5] == [ErrorCode.NONE] * 5
        assert set(codes[20:]) == {ErrorCode.GROUP_MAX_SIZE_REACHED}
        assert client.ask(joining("group-0", "m", "good"), 1).error_code == ErrorCode.NONE, "a member may want less"
    field.recovers(lines=3, mib=AT_REST_MIB + 4 + 24, files=OFFSETS_FILES)


@pytest.mark.parametrize("count", [3_000, pytest.param(50_000, marks=pytest.mark.long)])
def test_flood_of_heartbeats_with_patterns_from_one_connection_leaves_the_others_served(
    field: Arena, count: int
) -> None:
    with WireClient(field.servers) as client:
        make_coordinator(client)
        field.begin()
        peer = field.connect()
        peer.setblocking(False)
        frames = b"".join(
            frame_of(joining(f"g{number % 50}", f"m{number % 500}", pattern=f"(g|{number % 40})+.*(o|d)*"), 1)
            for number in range(count)
        )
        sent = 0

        def is_sent() -> bool:
            nonlocal sent
            with contextlib.suppress(BlockingIOError):
                peer.recv(1 << 20)
            with contextlib.suppress(BlockingIOError):
                sent += peer.send(frames[sent : sent + 65_536])
            return sent == len(frames)

        field.until(is_sent)
        assert client.ask(joining("other", "m", "good"), 1).error_code == ErrorCode.NONE
    field.recovers(lines=3, mib=AT_REST_MIB + 64, files=OFFSETS_FILES)


class ShareMember:
    """The member of a share group of its own, which has one partition."""

    def __init__(self, client: WireClient, group: str) -> None:
        self._client = client
        self._group = group
        self._epoch = 0
        epoch, self._topic_id = 0, UUID(int=0)
        while not self._topic_id.int:
            request = ShareGroupHeartbeatRequest(group_id=group, member_id="m", member_epoch=epoch)
            request.subscribed_topic_names = ["queue"]
            answer = client.ask(request, 1)
            if not answer.error_code:
                epoch = answer.member_epoch
                self._topic_id = next((each.topic_id for each in answer.assignment.topic_partitions), UUID(int=0))

    def fetch(self) -> tuple[ErrorCode, int]:
        """The partition's error, and the number of records that the member gets."""
        topic = FetchTopic(topic_id=self._topic_id, partitions=[FetchPartition(partition_index=0)])
        request = ShareFetchRequest(
            group_id=self._group, member_id="m", share_session_epoch=self._epoch, topics=[topic], max_wait_ms=0
        )
        request.min_bytes, request.max_bytes, request.max_records, request.batch_size = 1, 1 << 20, RECORDS, RECORDS
        answer = self._client.ask(request, 1)
        assert not answer.error_code
        self._epoch += 1
        parts: list[Any] = [part for each in answer.responses for part in each.partitions]
        held = sum(got.last_offset - got.first_offset + 1 for part in parts for got in part.acquired_records)
        return ErrorCode(max((part.error_code for part in parts), default=0)), held

    def accept_every_second(self) -> ErrorCode:
        """Accept every second record, and release the others."""
        batch = AcknowledgementBatch(first_offset=0, last_offset=RECORDS - 1, acknowledge_types=[1, 2] * (RECORDS // 2))
        partition = AcknowledgePartition(partition_index=0, acknowledgement_batches=[batch])
        request = ShareAcknowledgeRequest(group_id=self._group, member_id="m", share_session_epoch=self._epoch)
        request.topics = [AcknowledgeTopic(topic_id=self._topic_id, partitions=[partition])]
        self._epoch += 1
        answer = self._client.ask(request, 1)
        assert not answer.error_code
        return ErrorCode(answer.responses[0].partitions[0].error_code)


@pytest.mark.parametrize("count", [10, pytest.param(200, marks=pytest.mark.long)])
def test_records_that_share_groups_hold_are_bounded_over_all_groups(open_arena: OpenArena, count: int) -> None:
    field = open_arena(
        {"pybroker.share.states.max.bytes": str(1 << 20), "share.coordinator.state.topic.num.partitions": "1"}
    )
    with WireClient(field.servers) as client:
        make_coordinator(client)
        create_topic(client, "queue")
        field.begin()
        members = [ShareMember(client, f"group-{number}") for number in range(count)]
        while not all(member.fetch() == (ErrorCode.NONE, 0) for member in members):
            pass  # the states are being created
        batch = build_batch([Record(offset, 0, None, b"v") for offset in range(RECORDS)], base_offset=0)
        assert client.ask(produce_request("queue", batch), 8).responses[0].partition_responses[0].error_code == 0
        held = [member.fetch() for member in members]
        holders = [member for member, (_, records) in zip(members, held, strict=True) if records]
        assert 1 <= len(holders) <= 3
        assert sum(records for _, records in held) == RECORDS * len(holders)
        codes = {member.accept_every_second() for member in holders}
        assert codes <= {ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE}
    field.recovers(lines=4, mib=AT_REST_MIB + 16, files=OFFSETS_FILES + 20)

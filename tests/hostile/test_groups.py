"""Attacks on groups: thousands of members that vanish, thousands of groups, members with large metadata."""

import pytest
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.describe_groups import DescribeGroupsRequest
from pybroker.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from pybroker.protocol.messages.list_groups import ListGroupsRequest
from pybroker.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pybroker.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from pybroker.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from support.clients.good_client import make_coordinator
from support.clients.wire_client import WireClient
from support.processes.arena import Arena, frame_of

from .conftest import OpenArena
from .test_frames import AT_REST_MIB

OFFSETS_FILES = 200
"""Files of the fifty partitions of __consumer_offsets."""


def join_request(
    group: str, *, member_id: str = "", metadata: bytes = b"m", instance: str | None = None, timeout_ms: int = 6_000
) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=timeout_ms,
        rebalance_timeout_ms=timeout_ms,
        member_id=member_id,
        group_instance_id=instance,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )


def join(client: WireClient, request: JoinGroupRequest) -> JoinGroupResponse:
    answer: JoinGroupResponse = client.ask(request, 7)
    return answer


@pytest.mark.parametrize("count", [2000, pytest.param(10_000, marks=pytest.mark.long)])
def test_members_that_get_an_id_and_vanish_are_forgotten(field: Arena, count: int) -> None:
    with WireClient(field.servers) as client:
        make_coordinator(client)
        field.begin()
        for _ in range(count):
            assert join(client, join_request("haunted")).error_code == ErrorCode.MEMBER_ID_REQUIRED
        # A rebalance waits for members with a new id until their sessions end; then a member that is present joins.
        member_id = join(client, join_request("haunted", timeout_ms=60_000)).member_id
        answer = join(client, join_request("haunted", member_id=member_id, timeout_ms=60_000))
        assert (answer.error_code, len(answer.members)) == (ErrorCode.NONE, 1)
    assert len(field.lines()) < 300
    field.recovers(lines=0, mib=AT_REST_MIB + count * 3 / 1024, files=OFFSETS_FILES)


@pytest.mark.parametrize("count", [1000, pytest.param(10_000, marks=pytest.mark.long)])
def test_members_that_join_and_disconnect_are_removed(field: Arena, count: int) -> None:
    with WireClient(field.servers) as client:
        make_coordinator(client)
        field.begin()
        for number in range(count):
            peer = field.connect()
            peer.sendall(frame_of(join_request("crowd", instance=f"ghost {number}"), 7))
            field.drop(peer)
            if not number % 250:
                field.good.is_served(1)
        answer = join(client, join_request("crowd", instance="alive", timeout_ms=60_000))
        assert answer.error_code == ErrorCode.NONE
    assert len(field.lines()) < 600
    field.recovers(lines=0, mib=AT_REST_MIB + count * 8 / 1024, files=OFFSETS_FILES)


def test_member_metadata_is_bounded_over_all_groups(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.groups.max.bytes": str(8 * 1024 * 1024)})
    codes = []
    with WireClient(field.servers) as client:
        make_coordinator(client)
        field.begin()
        for number in range(40):
            metadata = bytes(1024 * 1024)
            answer = join(client, join_request(f"group-{number}", instance="talker", metadata=metadata))
            codes.append(answer.error_code)
        assert codes[:5] == [ErrorCode.NONE] * 5
        assert set(codes[8:]) == {ErrorCode.GROUP_MAX_SIZE_REACHED}
        # Members stay in their groups. When they are gone there is space again.
        field.until(lambda: not join(client, join_request("later", instance="modest")).error_code)
    field.recovers(lines=3, mib=AT_REST_MIB + 8 + 24, files=OFFSETS_FILES)  # one line in 30 s


def test_assignments_by_group_leaders_are_bounded_over_all_groups(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.groups.max.bytes": str(8 * 1024 * 1024), "group.initial.rebalance.delay.ms": "0"})
    with WireClient(field.servers) as client:
        make_coordinator(client)
        field.begin()

        def assigned(group: str, size: int) -> ErrorCode:
            member = join(client, join_request(group, instance="leader"))
            if member.error_code:
                return ErrorCode(member.error_code)
            share = SyncGroupRequestAssignment(member_id=member.member_id, assignment=bytes(size))
            sync = SyncGroupRequest(
                group_id=group,
                generation_id=member.generation_id,
                member_id=member.member_id,
                group_instance_id="leader",
                assignments=[share],
            )
            return ErrorCode(client.ask(sync, 4).error_code)

        codes = [assigned(f"group-{number}", 1_000_000) for number in range(40)]
        assert codes[:5] == [ErrorCode.NONE] * 5
        assert ErrorCode.COORDINATOR_NOT_AVAILABLE in codes
        # When the sessions of members with an assignment have ended, there is space again.
        field.until(lambda: assigned("later", 1_000_000) is ErrorCode.NONE)
    field.recovers(lines=6, mib=AT_REST_MIB + 8 + 24, files=OFFSETS_FILES)


def test_group_named_thousands_of_times_in_a_request_is_in_the_response_once(field: Arena) -> None:
    with WireClient(field.servers) as client:
        make_coordinator(client)
        talker = join_request("talker", instance="t", metadata=bytes(300_000), timeout_ms=60_000)
        member = join(client, talker)
        assigned = [SyncGroupRequestAssignment(member_id=member.member_id, assignment=b"all")]
        sync = SyncGroupRequest(
            group_id="talker", generation_id=1, member_id=member.member_id, group_instance_id="t", assignments=assigned
        )
        assert client.ask(sync, 4).error_code == ErrorCode.NONE
        stored = [
            OffsetCommitRequestPartition(partition_index=index, committed_offset=1, committed_metadata="x" * 4000)
            for index in range(50)
        ]
        topic = OffsetCommitRequestTopic(name="__consumer_offsets", partitions=stored)
        commit = OffsetCommitRequest(group_id="keeper", generation_id_or_member_epoch=-1, topics=[topic])
        assert client.ask(commit, 6).topics[0].partitions[0].error_code == ErrorCode.NONE
        field.begin()
        described = client.ask(DescribeGroupsRequest(groups=["talker"] * 20_000), 5).groups
        assert [len(group.members[0].member_metadata) for group in described] == [300_000]
        asked = [OffsetFetchRequestGroup(group_id="keeper", topics=None)] * 20_000
        fetched = client.ask(OffsetFetchRequest(groups=asked), 8).groups
        assert [len(group.topics[0].partitions) for group in fetched] == [50]
    field.recovers(lines=0, mib=AT_REST_MIB + 32, files=OFFSETS_FILES)


def test_unused_groups_make_space_for_other_groups(open_arena: OpenArena) -> None:
    field = open_arena({"pybroker.groups.max.bytes": str(1024 * 1024), "group.initial.rebalance.delay.ms": "0"})
    with WireClient(field.servers) as client:
        make_coordinator(client)
        field.begin()
        refused = 0
        for number in range(1000):
            answer = join(client, join_request(f"group-{number}" + "x" * 1000))
            refused += answer.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
        assert 0 < refused < 1000
        groups = client.ask(ListGroupsRequest(), 4).groups
        assert len(groups) <= 400
        field.until(lambda: not join(client, join_request("honest", instance="here")).error_code)
    field.recovers(lines=3, mib=AT_REST_MIB + 8, files=OFFSETS_FILES)  # one line in 30 s


def test_join_over_group_max_size_is_refused(open_arena: OpenArena) -> None:
    field = open_arena({"group.max.size": "1"})
    with WireClient(field.servers) as client:
        make_coordinator(client)
        assert join(client, join_request("small", instance="one", timeout_ms=60_000)).error_code == ErrorCode.NONE
        for _ in range(50):
            answer = join(client, join_request("small", instance="two", timeout_ms=60_000))
            assert answer.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    field.recovers(lines=0, mib=AT_REST_MIB, files=OFFSETS_FILES)

"""Scenarios of coordinators and consumer groups: join, sync, leave, static members, administration."""

import json
from typing import Any

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import (
    a_group,
    a_topic,
    commit,
    heartbeat,
    join,
    leave,
    leave_all,
    member_of,
    stable_member,
    subscription,
    sync,
)
from pybroker.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pybroker.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pybroker.protocol.messages.delete_groups import DeleteGroupsRequest
from pybroker.protocol.messages.describe_groups import DescribeGroupsRequest
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.list_groups import ListGroupsRequest

__all__ = ["SCENARIOS"]

TWO = {"range": subscription("one"), "roundrobin": subscription("two")}
OTHER = {"cooperative": subscription("three"), "roundrobin": subscription("two")}


def state_of(talk: Conversation, group: str) -> None:
    """Records the broker's description of the group."""
    talk.ask(DescribeGroupsRequest(groups=[group]), 4)


def await_rebalance(talk: Conversation, group: str, member: Any) -> None:
    """Waits until the member must join again."""
    while talk.unrecorded(heartbeat(group, member.generation_id, member.member_id), 3).error_code == 0:
        pass


# -- FindCoordinator


def find_coordinator_in_every_version(talk: Conversation) -> None:
    group = a_group(talk)
    for version in range(7):
        if version < 4:
            talk.ask(FindCoordinatorRequest(key=group), version)
        else:
            talk.ask(FindCoordinatorRequest(coordinator_keys=[group, talk.name("other")]), version)


def find_coordinators_with_odd_keys(talk: Conversation) -> None:
    a_group(talk)
    for version in (0, 1, 3):
        talk.ask(FindCoordinatorRequest(key=""), version, note="empty")
    for version in (4, 5, 6):
        talk.ask(FindCoordinatorRequest(), version, note="none")
        talk.ask(FindCoordinatorRequest(coordinator_keys=[""]), version, note="empty")
        talk.ask(FindCoordinatorRequest(coordinator_keys=["a", "a"]), version, note="twice")


def find_coordinators_of_unknown_types(talk: Conversation) -> None:
    for version in (1, 3):
        for key_type in (2, 3, -1, 127):
            talk.ask(FindCoordinatorRequest(key="key", key_type=key_type), version, note=f"type {key_type}")
    for version in (4, 5, 6):
        for key_type in (2, 3, -1):
            request = FindCoordinatorRequest(coordinator_keys=["one", "two"], key_type=key_type)
            talk.ask(request, version, note=f"type {key_type}")


# -- JoinGroup


def join_in_every_version(talk: Conversation) -> None:
    for version in range(10):
        group = a_group(talk, f"group-{version}")
        answer = talk.ask(join(group), version)
        if answer.error_code:
            answer = talk.ask(join(group, answer.member_id, reason="because" if version >= 8 else None), version)
        state_of(talk, group)
        talk.ask(join(group, answer.member_id), version, note="again")


def join_with_a_member_id_that_nobody_has(talk: Conversation) -> None:
    group = a_group(talk)
    for version in (0, 3, 4, 5, 9):
        talk.ask(join(group, "nobody"), version, note="no such group")
    stable_member(talk, group)
    for version in (0, 3, 4, 5, 9):
        talk.ask(join(group, "nobody"), version, note="a stable group")


def join_under_another_client_id(talk: Conversation) -> None:
    for client_id in (None, "", "ünïcode client"):
        group = a_group(talk, f"group-{client_id}")
        answer = talk.ask(join(group), 5, client_id=client_id)
        talk.ask(join(group, answer.member_id), 5, client_id=client_id)
        state_of(talk, group)


def join_with_wrong_session_time_outs(talk: Conversation) -> None:
    group = a_group(talk)
    for session_ms in (0, -1, 5999, 1_800_001, 2147483647):
        for version in (0, 5, 9):
            talk.ask(join(group, session_ms=session_ms), version, note=f"{session_ms} ms")
    for rebalance_ms in (0, -1):
        other = a_group(talk, f"rebalance{rebalance_ms}")
        answer = talk.ask(join(other, rebalance_ms=rebalance_ms), 5)
        talk.ask(join(other, answer.member_id, rebalance_ms=rebalance_ms), 5)


def join_an_empty_group_id(talk: Conversation) -> None:
    a_group(talk)
    for version in (0, 4, 5, 9):
        talk.ask(join(""), version)


def join_without_protocols(talk: Conversation) -> None:
    group = a_group(talk)
    for version in (0, 3, 5, 9):
        talk.ask(join(group, protocols={}), version, note="no protocol")
        talk.ask(join(group, protocol_type=""), version, note="no protocol type")
        talk.ask(join(group, protocol_type="", protocols={}), version, note="neither")


def join_with_inconsistent_protocols(talk: Conversation) -> None:
    group = a_group(talk)
    member = stable_member(talk, group)
    for version in (0, 3, 5, 9):
        talk.ask(join(group, protocol_type="connect"), version, note="another type")
        talk.ask(join(group, protocols={"other": subscription()}), version, note="another protocol")
        talk.ask(join(group, member.member_id, protocol_type="connect"), version, note="the member, another type")
    state_of(talk, group)


def join_as_something_else_than_a_consumer(talk: Conversation) -> None:
    group = a_group(talk)
    fields: dict[str, Any] = {"protocol_type": "connect", "protocols": {"sessioned": b"\xff\0", "eager": b""}}
    answer = talk.ask(join(group, **fields), 7)
    answer = talk.ask(join(group, answer.member_id, **fields), 7)
    state_of(talk, group)
    talk.ask(
        sync(
            group,
            1,
            answer.member_id,
            {answer.member_id: b"\0\xff"},
            protocol_type="connect",
            protocol_name="sessioned",
        ),
        5,
    )
    state_of(talk, group)


def registry(port: int, *, may_lead: bool = True) -> dict[str, bytes]:
    """Returns the JoinGroup metadata of a Schema Registry."""
    identity = {"host": "127.0.0.1", "port": port, "master_eligibility": may_lead, "scheme": "http", "version": 1}
    return {"v0": json.dumps(identity).encode()}


def elected(member: str, offered: dict[str, bytes]) -> bytes:
    """Returns the elected leader as each member knows it."""
    return json.dumps({"error": 0, "master": member, "master_identity": json.loads(offered["v0"])}).encode()


def two_schema_registries(talk: Conversation) -> None:
    """Schema Registries elect a leader by a group of protocol type "sr", and commit nothing."""
    group = a_group(talk)
    fields: dict[str, Any] = {"protocol_type": "sr", "session_ms": 10_000, "rebalance_ms": 300_000}
    named: dict[str, Any] = {"protocol_type": "sr", "protocol_name": "v0"}
    one, two = registry(8081), registry(8082, may_lead=False)
    first = talk.ask(join(group, **fields, protocols=one), 7)
    first = talk.ask(join(group, first.member_id, **fields, protocols=one), 7)
    talk.ask(sync(group, 1, first.member_id, {first.member_id: elected("1", one)}, **named), 5)
    state_of(talk, group)
    second = talk.ask(join(group, **fields, protocols=two), 7, on="second")
    waiting = talk.send(join(group, second.member_id, **fields, protocols=two), 7, on="second")
    await_rebalance(talk, group, first)
    first = talk.ask(join(group, first.member_id, **fields, protocols=one), 7)
    second = waiting.answer()
    waiting = talk.send(sync(group, 2, second.member_id, **named), 5, on="second")
    assignments = {each.member_id: elected("1", one) for each in (first, second)}
    talk.ask(sync(group, 2, first.member_id, assignments, **named), 5)
    waiting.answer()
    for version in range(6):
        talk.ask(DescribeGroupsRequest(groups=[group]), version)
    for types in (["classic"], ["sr"], ["consumer"], ["Classic"]):
        request = ListGroupsRequest(types_filter=types, states_filter=["Stable"])
        talk.ask(request, 5, note=str(types), see=lambda answer: own_groups(talk, answer))
    talk.ask(ListGroupsRequest(), 4, see=lambda answer: own_groups(talk, answer))
    talk.ask(ConsumerGroupDescribeRequest(group_ids=[group]), 0)
    talk.ask(join(group, protocols={"v0": subscription()}), 7, note="a consumer", on="third")
    talk.ask(sync(group, 2, first.member_id, protocol_type="consumer", protocol_name="v0"), 5, note="as a consumer")
    talk.ask(DeleteGroupsRequest(groups_names=[group]), 2, note="with members")
    talk.ask(leave_all(group, (first.member_id, None), (second.member_id, None)), 4)
    state_of(talk, group)
    talk.ask(ListGroupsRequest(), 5, see=lambda answer: own_groups(talk, answer))
    talk.ask(DeleteGroupsRequest(groups_names=[group]), 2)
    state_of(talk, group)


def join_a_full_group(talk: Conversation) -> None:
    """group.max.size is three here."""
    group = a_group(talk)
    ids = [talk.ask(join(group), 4).member_id for _ in range(5)]
    pending = [talk.send(join(group, each), 4, on=str(n)) for n, each in enumerate(ids[:1])]
    for each in pending:
        each.answer()
    talk.note("pending members", len(set(ids)))


def two_members(talk: Conversation) -> None:
    """The common protocol is chosen, the leader gets all members, and both get assignments."""
    group = a_group(talk)
    first = stable_member(talk, group, protocols=TWO)
    second = talk.unrecorded(join(group, protocols=TWO), 5, on="second").member_id
    waiting = talk.send(join(group, second, protocols=OTHER), 5, on="second")
    await_rebalance(talk, group, first)
    talk.ask(heartbeat(group, first.generation_id, first.member_id), 3)
    talk.ask(sync(group, first.generation_id, first.member_id), 3, note="while others join")
    leading = talk.ask(join(group, first.member_id, protocols=TWO), 5)
    following = waiting.answer()
    state_of(talk, group)
    generation = leading.generation_id
    waiting = talk.send(sync(group, generation, following.member_id), 3, on="second")
    talk.ask(heartbeat(group, generation, leading.member_id), 3, note="while synced")
    talk.ask(sync(group, generation, leading.member_id, {leading.member_id: b"a", following.member_id: b"b"}), 3)
    waiting.answer()
    state_of(talk, group)
    talk.ask(sync(group, generation, following.member_id), 3, note="again", on="second")
    talk.ask(join(group, following.member_id, protocols=OTHER), 5, note="unchanged follower")
    talk.ask(heartbeat(group, generation, following.member_id), 3)
    talk.ask(leave_all(group, (leading.member_id, None), (following.member_id, None)), 4)
    state_of(talk, group)


def a_leader_that_joins_again(talk: Conversation) -> None:
    group = a_group(talk)
    member = stable_member(talk, group)
    again = talk.ask(join(group, member.member_id), 5)
    talk.ask(heartbeat(group, member.generation_id, member.member_id), 3, note="of the old generation")
    talk.ask(heartbeat(group, again.generation_id, member.member_id), 3)
    talk.ask(join(group, member.member_id, protocols={"range": subscription("changed")}), 5, note="with other metadata")
    state_of(talk, group)


# -- SyncGroup, Heartbeat, LeaveGroup


def sync_in_every_version(talk: Conversation) -> None:
    for version in range(6):
        group = a_group(talk, f"group-{version}")
        member = member_of(talk, group)
        named: dict[str, Any] = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
        talk.ask(sync(group, member.generation_id, member.member_id, {member.member_id: b"mine"}, **named), version)
        talk.ask(sync(group, member.generation_id, member.member_id, **named), version, note="again")


def sync_wrongly(talk: Conversation) -> None:
    group = a_group(talk)
    member = member_of(talk, group)
    generation, member_id = member.generation_id, member.member_id
    for version in (0, 3):
        talk.ask(sync(group, generation + 1, member_id), version, note="next generation")
        talk.ask(sync(group, generation - 1, member_id), version, note="last generation")
        talk.ask(sync(group, -1, member_id), version, note="no generation")
        talk.ask(sync(group, generation, "nobody"), version, note="no such member")
        talk.ask(sync(group, generation, ""), version, note="empty member")
        talk.ask(sync(talk.name("dead"), 1, member_id), version, note="no such group")
        talk.ask(sync("", 1, member_id), version, note="empty group")
    talk.ask(sync(group, generation, member_id, instance="nobody"), 3, note="no such instance")
    for protocol_type, name in (
        (None, None),
        ("consumer", None),
        (None, "range"),
        ("connect", "range"),
        ("consumer", "other"),
        ("", ""),
    ):
        talk.ask(
            sync(group, generation, member_id, protocol_type=protocol_type, protocol_name=name),
            5,
            note=f"{protocol_type!r} {name!r}",
        )
    state_of(talk, group)


def sync_with_odd_assignments(talk: Conversation) -> None:
    group = a_group(talk)
    member = member_of(talk, group)
    talk.ask(sync(group, member.generation_id, member.member_id, {"nobody": b"x"}), 3)
    state_of(talk, group)
    empty = a_group(talk, "empty")
    member = member_of(talk, empty)
    talk.ask(sync(empty, member.generation_id, member.member_id, {member.member_id: b""}), 3)
    state_of(talk, empty)


def heartbeats(talk: Conversation) -> None:
    group = a_group(talk)
    for version in range(5):
        talk.ask(heartbeat(group, 1, "nobody"), version, note="no such group")
        talk.ask(heartbeat("", 1, "nobody"), version, note="empty group")
    member = stable_member(talk, group)
    generation, member_id = member.generation_id, member.member_id
    for version in range(5):
        talk.ask(heartbeat(group, generation, member_id), version)
        talk.ask(heartbeat(group, generation + 1, member_id), version, note="next generation")
        talk.ask(heartbeat(group, generation - 1, member_id), version, note="last generation")
        talk.ask(heartbeat(group, -1, member_id), version, note="no generation")
        talk.ask(heartbeat(group, generation, "nobody"), version, note="no such member")
        talk.ask(heartbeat(group, generation, ""), version, note="empty member")
    talk.ask(heartbeat(group, generation, member_id, instance="nobody"), 3, note="no such instance")


def heartbeat_before_joining(talk: Conversation) -> None:
    """Heartbeat with the member id from the first JoinGroup response."""
    group = a_group(talk)
    member = talk.ask(join(group), 5).member_id
    for generation in (-1, 0, 1):
        talk.ask(heartbeat(group, generation, member), 3)
    talk.ask(sync(group, 0, member), 3)
    talk.ask(commit(group, "topic", 1, generation=-1, member=member), 5)
    state_of(talk, group)
    talk.ask(leave_all(group, (member, None)), 3)
    talk.ask(leave_all(group, (member, None)), 3, note="again")
    talk.ask(join(group, member), 5, note="after it left")


def leave_in_every_version(talk: Conversation) -> None:
    for version in range(6):
        group = a_group(talk, f"group-{version}")
        member = stable_member(talk, group)
        request = leave(group, member.member_id) if version < 3 else leave_all(group, (member.member_id, None))
        talk.ask(request, version)
        state_of(talk, group)
        talk.ask(request, version, note="again")


def leave_wrongly(talk: Conversation) -> None:
    group = a_group(talk)
    for version in (0, 2):
        talk.ask(leave(group, "nobody"), version, note="no such group")
        talk.ask(leave("", "nobody"), version, note="empty group")
    for version in (3, 5):
        talk.ask(leave_all(group, ("nobody", None)), version, note="no such group")
        talk.ask(leave_all(group), version, note="no such group, no member")
        talk.ask(leave_all("", ("nobody", None)), version, note="empty group")
    member = stable_member(talk, group)
    for version in (0, 2):
        talk.ask(leave(group, "nobody"), version)
        talk.ask(leave(group, ""), version)
    for version in (3, 5):
        talk.ask(leave_all(group), version, note="no member")
        talk.ask(leave_all(group, ("nobody", None), ("", None), ("", "instance")), version)
        talk.ask(leave_all(group, (member.member_id, "instance")), version)
    talk.ask(leave_all(group, (member.member_id, None), (member.member_id, None)), 3, note="twice")


# -- static members


def static_members(talk: Conversation) -> None:
    group = a_group(talk)
    first = talk.ask(join(group, instance="one"), 5)
    talk.ask(sync(group, first.generation_id, first.member_id, {first.member_id: b"x"}, instance="one"), 3)
    second = talk.ask(join(group, instance="one"), 5, note="again without an id")
    talk.ask(heartbeat(group, second.generation_id, first.member_id, instance="one"), 3, note="the old id")
    talk.ask(heartbeat(group, second.generation_id, second.member_id, instance="one"), 3)
    talk.ask(heartbeat(group, second.generation_id, second.member_id), 3, note="without the instance")
    talk.ask(sync(group, second.generation_id, first.member_id, instance="one"), 3, note="the old id")
    talk.ask(sync(group, second.generation_id, second.member_id, instance="one"), 3)
    talk.ask(join(group, first.member_id, instance="one"), 5, note="the old id")
    talk.ask(join(group, "nobody", instance="one"), 5, note="another id")
    talk.ask(join(group, second.member_id, instance="two"), 5, note="another instance")
    talk.ask(leave_all(group, (first.member_id, "one")), 3, note="the old id")
    talk.ask(leave_all(group, ("", "two")), 3, note="another instance")
    state_of(talk, group)
    talk.ask(leave_all(group, ("", "one")), 3, note="by the instance")
    state_of(talk, group)


def static_members_in_every_version(talk: Conversation) -> None:
    for version in range(5, 10):
        group = a_group(talk, f"group-{version}")
        first = talk.ask(join(group, instance="one", protocols=TWO), version)
        synced = sync(group, first.generation_id, first.member_id, {first.member_id: b"x"}, instance="one")
        talk.ask(synced, 3)
        talk.ask(join(group, instance="one", protocols=TWO), version, note="restarted")
        talk.ask(
            join(group, instance="one", protocols={"range": subscription("other")}),
            version,
            note="with another protocol",
        )
        state_of(talk, group)


def static_members_commit(talk: Conversation) -> None:
    topic = a_topic(talk)
    group = a_group(talk)
    first = talk.unrecorded(join(group, instance="one"), 5)
    talk.unrecorded(sync(group, first.generation_id, first.member_id, {first.member_id: b"x"}, instance="one"), 3)
    second = talk.unrecorded(join(group, instance="one"), 5)
    generation = second.generation_id
    talk.ask(
        commit(group, topic, 1, generation=generation, member=first.member_id, instance="one"), 7, note="the old id"
    )
    talk.ask(commit(group, topic, 1, generation=generation, member=second.member_id, instance="one"), 7)
    talk.ask(commit(group, topic, 1, generation=generation, member=second.member_id, instance="two"), 7)
    talk.ask(commit(group, topic, 1, generation=generation, member=second.member_id), 7)
    talk.ask(commit(group, topic, 1, generation=generation, member="nobody", instance="one"), 7)


def static_members_with_odd_instance_ids(talk: Conversation) -> None:
    for number, instance in enumerate(("", ".", "..", "a b", "ü", "x" * 249, "x" * 250)):
        group = a_group(talk, f"group-{number}")
        talk.ask(join(group, instance=instance), 5, note=f"{instance[:5]!r} of {len(instance)}")


# -- administration


def describe_groups_in_every_version(talk: Conversation) -> None:
    group = a_group(talk)
    stable_member(talk, group)
    for version in range(6):
        authorized: dict[str, Any] = {"include_authorized_operations": True} if version >= 3 else {}
        talk.ask(DescribeGroupsRequest(groups=[group, talk.name("dead"), ""], **authorized), version)
        talk.ask(DescribeGroupsRequest(groups=[]), version)
    talk.ask(DescribeGroupsRequest(groups=[group, group]), 4)


def describe_a_group_with_offsets_only(talk: Conversation) -> None:
    topic = a_topic(talk)
    group = a_group(talk)
    talk.ask(commit(group, topic), 5)
    for version in (0, 5):
        talk.ask(DescribeGroupsRequest(groups=[group]), version)


def own_groups(talk: Conversation, answer: Json) -> Json:
    return {**answer, "groups": [each for each in answer["groups"] if talk.is_own(each["groupId"])]}


def list_groups(talk: Conversation) -> None:
    topic = a_topic(talk)
    member_of(talk, a_group(talk, "completing"))
    stable_member(talk, a_group(talk, "stable"))
    stable_member(talk, a_group(talk, "connect"), protocol_type="connect")
    empty = a_group(talk, "empty")
    member = stable_member(talk, empty)
    talk.unrecorded(leave(empty, member.member_id), 2)
    talk.unrecorded(commit(a_group(talk, "offsets"), topic), 5)
    a_group(talk, "never")
    talk.unrecorded(join(a_group(talk, "asked")), 5)

    def ask(version: int, note: str = "", **filters: Any) -> None:
        talk.ask(ListGroupsRequest(**filters), version, note=note, see=lambda answer: own_groups(talk, answer))

    for version in range(6):
        ask(version)
    for states in (
        ["Stable"],
        ["stable", "EMPTY"],
        ["Dead"],
        ["CompletingRebalance", "PreparingRebalance"],
        ["Nonsense"],
        [""],
    ):
        ask(4, str(states), states_filter=states)
    for types in (["classic"], ["Consumer"], ["consumer", "CLASSIC"], ["nonsense"], [""]):
        ask(5, str(types), types_filter=types)
    ask(5, "both", types_filter=["classic"], states_filter=["Empty"])


def delete_groups(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in range(3):
        group = a_group(talk, f"group-{version}")
        talk.unrecorded(commit(group, topic), 5)
        talk.ask(DeleteGroupsRequest(groups_names=[group]), version)
        state_of(talk, group)
        talk.ask(DeleteGroupsRequest(groups_names=[group, talk.name("dead"), ""]), version, note="again")
        talk.ask(DeleteGroupsRequest(), version)
    group = a_group(talk)
    stable_member(talk, group)
    talk.ask(DeleteGroupsRequest(groups_names=[group]), 2, note="with a member")
    other = a_group(talk, "other")
    talk.unrecorded(commit(other, topic), 5)
    talk.ask(
        DeleteGroupsRequest(groups_names=[other, other]), 2, note="twice", see=lambda answer: len(answer["results"])
    )


# -- the newer protocol (KIP-848), which needs KRaft


def groups_of_the_newer_protocol(talk: Conversation) -> None:
    group = a_group(talk)
    for member, epoch in (("", 0), ("m", 0), ("m", 1), ("m", -1), ("m", -2)):
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member,
            member_epoch=epoch,
            rebalance_timeout_ms=1000,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        )
        talk.ask(request, 0, note=f"{member!r} {epoch}")
    talk.ask(ConsumerGroupDescribeRequest(group_ids=[group, "", group]), 0)
    talk.ask(ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=True), 0)
    talk.ask(ConsumerGroupDescribeRequest(), 0, note="none")


SCENARIOS = [
    find_coordinator_in_every_version,
    find_coordinators_with_odd_keys,
    find_coordinators_of_unknown_types,
    join_in_every_version,
    join_with_a_member_id_that_nobody_has,
    join_under_another_client_id,
    join_with_wrong_session_time_outs,
    join_an_empty_group_id,
    join_without_protocols,
    join_with_inconsistent_protocols,
    join_as_something_else_than_a_consumer,
    two_schema_registries,
    join_a_full_group,
    two_members,
    a_leader_that_joins_again,
    sync_in_every_version,
    sync_wrongly,
    sync_with_odd_assignments,
    heartbeats,
    heartbeat_before_joining,
    leave_in_every_version,
    leave_wrongly,
    static_members,
    static_members_in_every_version,
    static_members_commit,
    static_members_with_odd_instance_ids,
    describe_groups_in_every_version,
    describe_a_group_with_offsets_only,
    list_groups,
    delete_groups,
    groups_of_the_newer_protocol,
]

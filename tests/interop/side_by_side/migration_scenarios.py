"""Scenarios of groups whose members use both protocols (KIP-848): groups that change their protocol, and stay mixed."""

from collections.abc import Sequence
from typing import Any

from interop.side_by_side.consumer_group_scenarios import beat, counts, described, joining, owned_in, topic_of_groups
from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import a_group, commit, heartbeat, join, leave_all, member_of, subscription, sync
from pybroker.protocol.codec import decode, encode
from pybroker.protocol.messages.consumer_protocol import (
    AssignmentTopicPartition,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    SubscriptionTopicPartition,
)
from pybroker.protocol.messages.describe_groups import DescribeGroupsRequest

__all__ = ["SCENARIOS"]

VERSION = 7


def offers(topic: str, owned: Sequence[int] = (), name: str = "cooperative-sticky") -> dict[str, bytes]:
    """The protocols of a member that keeps partitions while the group rebalances."""
    held = [SubscriptionTopicPartition(topic=topic, partitions=list(owned))] if owned else []
    return {name: b"\0\1" + encode(ConsumerProtocolSubscription(topics=[topic], owned_partitions=held), 1)}


def assigned(topic: str, *numbers: int, user_data: bytes | None = None) -> bytes:
    partitions = [AssignmentTopicPartition(topic=topic, partitions=list(numbers))]
    return b"\0\1" + encode(ConsumerProtocolAssignment(assigned_partitions=partitions, user_data=user_data), 1)


def partitions_of(synced: Any) -> list[int]:
    if not synced.assignment:
        return []
    value = decode(ConsumerProtocolAssignment, memoryview(synced.assignment)[2:], 1)
    return sorted(number for each in value.assigned_partitions for number in each.partitions)


def number_of_partitions(value: Json) -> Json:
    """The response of a SyncGroup without the topic's name, which differs."""
    return {**value, "assignment": len(value["assignment"])}


def classic(
    talk: Conversation, group: str, topic: str, member: Any, *, note: str, owned: Sequence[int] = (), **fields: Any
) -> tuple[Any, list[int]]:
    """Join with a member id and sync; return the response of the join, and the partitions."""
    request = join(group, getattr(member, "member_id", member), protocols=offers(topic, owned), **fields)
    joined = talk.ask(request, VERSION, note=f"{note}: join")
    synced = talk.ask(
        sync(
            group, joined.generation_id, joined.member_id, protocol_type="consumer", protocol_name="cooperative-sticky"
        ),
        5,
        note=f"{note}: sync",
        see=number_of_partitions,
    )
    return joined, partitions_of(synced)


def stable_classic(talk: Conversation, group: str, topic: str, partitions: int, **fields: Any) -> Any:
    """Make a stable classic group of one member that has all partitions; return its join response."""
    answer = member_of(talk, group, VERSION, protocols=offers(topic), **fields)
    given = {answer.member_id: assigned(topic, *range(partitions))}
    talk.unrecorded(sync(group, answer.generation_id, answer.member_id, given), 3)
    return answer


def pulse(talk: Conversation, group: str, joined: Any, note: str) -> None:
    talk.ask(heartbeat(group, joined.generation_id, joined.member_id), 4, note=note)


# -- up


def consumer_joins_a_classic_group(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=4)
    group = a_group(talk)
    member = stable_classic(talk, group, topic, 4)
    answer = talk.ask(joining(group, "new", topic), 1, note="converts")
    described(talk, group, note="converted")
    pulse(talk, group, member, "has to join again")
    talk.ask(sync(group, member.generation_id, member.member_id), 3, note="has to join again")
    member, held = classic(talk, group, topic, member, owned=range(4), note="learns what to give back")
    described(talk, group, note="revoking")
    pulse(talk, group, member, "has to give back")
    talk.ask(beat(group, "new", answer.member_epoch), 1, note="waits")
    member, held = classic(talk, group, topic, member, owned=held, note="gave back")
    answer = talk.ask(beat(group, "new", answer.member_epoch), 1, note="gets its part", see=counts)
    pulse(talk, group, member, "stable")
    described(talk, group, note="stable")
    for generation in (member.generation_id, member.generation_id - 1):
        request = commit(group, topic, generation=generation, member=member.member_id)
        talk.ask(request, 8, note="in its generation" if generation == member.generation_id else "in an older one")
    talk.ask(DescribeGroupsRequest(groups=[group]), 5)
    pulse(talk, group, talk.unrecorded(join(talk.name("none")), VERSION), "unknown member")
    talk.ask(leave_all(group, (member.member_id, None), ("nobody", None)), 5, note="leaves")
    described(talk, group, note="left")


def groups_that_stay_classic(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=2)
    connect, custom, broken = (a_group(talk, name) for name in ("connect", "custom", "broken"))
    member_of(talk, connect, VERSION, protocol_type="connect", protocols={"range": subscription(topic)})
    talk.ask(joining(connect, "new", topic), 1, note="another protocol type", see=without_name(talk))
    answer = member_of(talk, custom, VERSION, protocols=offers(topic))
    given = {answer.member_id: assigned(topic, 0, 1, user_data=b"x")}
    talk.unrecorded(sync(custom, answer.generation_id, answer.member_id, given), 3)
    talk.ask(joining(custom, "new", topic), 1, note="a custom assignor", see=lambda value: value["errorCode"])
    answer = member_of(talk, broken, VERSION, protocols=offers(topic))
    talk.unrecorded(sync(broken, answer.generation_id, answer.member_id, {answer.member_id: b"\xff\xff\0"}), 3)
    talk.ask(joining(broken, "new", topic), 1, note="a broken assignment", see=lambda value: value["errorCode"])


def without_name(talk: Conversation) -> Any:
    def see(value: Json) -> Json:
        return {**value, "errorMessage": None}

    return see


# -- mixed


def classic_member_joins_a_consumer_group(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=4)
    group = a_group(talk)
    first = talk.unrecorded(joining(group, "a", topic), 1)
    talk.ask(join(group, protocols=offers(topic)), VERSION, note="gets an id")
    member, _ = classic(talk, group, topic, "b", note="new")
    described(talk, group, note="joined")
    pulse(talk, group, member, "waits")
    kept = talk.ask(beat(group, "a", first.member_epoch), 1, note="shall revoke", see=counts)
    pulse(talk, group, member, "still waits")
    talk.ask(beat(group, "a", first.member_epoch, owned=owned_in(kept)), 1, note="revoked", see=counts)
    pulse(talk, group, member, "free")
    member, held = classic(talk, group, topic, member, note="gets its part")
    described(talk, group, note="stable")
    classic(talk, group, topic, member, owned=held, note="once more")
    talk.ask(join(group, "c", protocols={"range": subscription(topic)}), VERSION, note="no common protocol")
    talk.ask(join(group, "c", protocol_type="connect", protocols=offers(topic)), VERSION, note="another type")
    for generation, member_id, note in (
        (member.generation_id + 1, member.member_id, "another generation"),
        (first.member_epoch, "a", "a consumer"),
        (1, "nobody", "unknown"),
    ):
        talk.ask(heartbeat(group, generation, member_id), 4, note=note)
        talk.ask(sync(group, generation, member_id), 3, note=note)
    talk.ask(
        sync(group, member.generation_id, member.member_id, protocol_type="consumer", protocol_name="range"),
        5,
        note="another protocol",
    )


def more_classic_members_than_the_group_takes(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=4)
    group = a_group(talk)
    talk.unrecorded(joining(group, "a", topic), 1)
    for number in range(3):
        request = join(group, f"m{number}", protocols=offers(topic))
        talk.ask(request, VERSION, note=f"member {number}")
    talk.ask(join(group, "m0", protocols=offers(topic)), VERSION, note="a member joins again")


# -- down


def last_consumer_leaves(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=2)
    group = a_group(talk)
    member = stable_classic(talk, group, topic, 2)
    answer = talk.unrecorded(joining(group, "new", topic), 1)
    classic(talk, group, topic, member, owned=[0, 1], note="revokes")
    member, held = classic(talk, group, topic, member, owned=[0], note="revoked")
    talk.ask(beat(group, "new", answer.member_epoch), 1, note="its part", see=counts)
    talk.ask(beat(group, "new", -1), 1, note="leaves")
    described(talk, group)
    pulse(talk, group, member, "the classic group rebalances")
    request = join(group, member.member_id, protocols=offers(topic, held))
    member = talk.ask(request, VERSION, note="leads")
    given = {member.member_id: assigned(topic, 0, 1)}
    talk.ask(sync(group, member.generation_id, member.member_id, given), 3, note="stable", see=number_of_partitions)
    pulse(talk, group, member, "stable")


def administrator_removes_the_last_consumer(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=2)
    group = a_group(talk)
    talk.unrecorded(joining(group, "a", topic), 1)
    member, _ = classic(talk, group, topic, "b", note="new")
    talk.ask(leave_all(group, ("a", None)), 5)
    described(talk, group)
    pulse(talk, group, member, "the classic group rebalances")


# -- static members


def static_member_changes_up_and_down(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=2)
    group = a_group(talk)
    member = stable_classic(talk, group, topic, 2, instance="i")
    other = talk.ask(joining(group, "new", topic, instance_id="i"), 1, note="up", see=counts)
    described(talk, group, note="up")
    talk.ask(heartbeat(group, member.generation_id, member.member_id, instance="i"), 4, note="the old member")
    request = join(group, protocols=offers(topic), instance="i")
    member = talk.ask(request, VERSION, note="down")
    described(talk, group, note="down")
    synced = sync(group, member.generation_id, member.member_id, instance="i")
    talk.ask(synced, 4, note="keeps its partitions", see=number_of_partitions)
    talk.ask(heartbeat(group, member.generation_id, member.member_id, instance="i"), 4, note="stable")
    talk.ask(beat(group, "new", other.member_epoch, instance_id="i"), 1, note="the old member")


def static_member_changes_in_a_mixed_group(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=2)
    group = a_group(talk)
    talk.unrecorded(joining(group, "a", topic), 1)
    talk.unrecorded(joining(group, "b", topic, instance_id="i"), 1)
    member = talk.ask(join(group, protocols=offers(topic), instance="i"), VERSION, note="to classic")
    described(talk, group, note="to classic")
    talk.ask(join(group, "x", protocols=offers(topic), instance="i"), VERSION, note="another member id")
    talk.ask(joining(group, "c", topic, instance_id="i"), 1, note="to consumer", see=counts)
    described(talk, group, note="to consumer")
    talk.ask(heartbeat(group, member.generation_id, member.member_id, instance="i"), 4, note="the old member")


SCENARIOS = [
    consumer_joins_a_classic_group,
    groups_that_stay_classic,
    classic_member_joins_a_consumer_group,
    more_classic_members_than_the_group_takes,
    last_consumer_leaves,
    administrator_removes_the_last_consumer,
    static_member_changes_up_and_down,
    static_member_changes_in_a_mixed_group,
]

"""Scenarios of the consumer protocol (KIP-848): heartbeats, descriptions, and offsets of its members."""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any
from uuid import UUID

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json, See
from interop.side_by_side.requests import a_group, a_topic, commit, join, stable_member, topic_id
from pybroker.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pybroker.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, RequestTopicPartitions
from pybroker.protocol.messages.delete_groups import DeleteGroupsRequest
from pybroker.protocol.messages.describe_groups import DescribeGroupsRequest
from pybroker.protocol.messages.list_groups import ListGroupsRequest
from pybroker.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pybroker.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)

__all__ = ["SCENARIOS", "beat", "counts", "joining", "owned_in", "topic_of_groups"]

TIMEOUT_MS = 60_000
Owned = Mapping[UUID, Sequence[int]]


def beat(
    group: str,
    member: str,
    epoch: int,
    *,
    names: Sequence[str] | None = None,
    owned: Owned | None = None,
    timeout_ms: int = -1,
    **fields: Any,
) -> ConsumerGroupHeartbeatRequest:
    partitions = None
    if owned is not None:
        partitions = [RequestTopicPartitions(topic_id=each, partitions=list(held)) for each, held in owned.items()]
    return ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=member,
        member_epoch=epoch,
        rebalance_timeout_ms=timeout_ms,
        subscribed_topic_names=None if names is None else list(names),
        topic_partitions=partitions,
        **fields,
    )


def joining(group: str, member: str, *names: str, **fields: Any) -> ConsumerGroupHeartbeatRequest:
    return beat(group, member, 0, **{"names": names, "owned": {}, "timeout_ms": TIMEOUT_MS, **fields})


def owned_in(answer: Any) -> Owned:
    return {each.topic_id: each.partitions for each in answer.assignment.topic_partitions}


def counts(value: Json) -> Json:
    """The response with the number of assigned partitions of each topic, where it is the assignor's choice which."""
    if isinstance(value, dict):
        return {
            name: sorted(len(each["partitions"]) for each in item) if name == "topicPartitions" else counts(item)
            for name, item in value.items()
        }
    return [counts(item) for item in value] if isinstance(value, list) else value


def topic_of_groups(talk: Conversation, what: str = "topic", partitions: int = 1) -> str:
    """Create a topic, and wait until the coordinator knows it: Kafka tells it after the response."""
    name = a_topic(talk, what, partitions)
    for number in count():
        group = a_group(talk, f"probe-{what}-{number}")
        answer = talk.unrecorded(joining(group, "m", name), 1)
        talk.unrecorded(beat(group, "m", -1), 1)
        if answer.assignment.topic_partitions:
            break
    return name


def described(talk: Conversation, *groups: str, version: int = 1, note: str = "", **fields: Any) -> None:
    talk.ask(ConsumerGroupDescribeRequest(group_ids=list(groups), **fields), version, note=note, see=counts)


def offsets_as(group: str, member: str | None, epoch: int, topic: str) -> OffsetFetchRequest:
    asked = OffsetFetchRequestTopics(name=topic, partition_indexes=[0])
    return OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group, member_id=member, member_epoch=epoch, topics=[asked])]
    )


def two_members(talk: Conversation, group: str, topic: str) -> tuple[Any, Any]:
    """Make a stable group of the members a and b; return their last answers, with their assignments."""
    first = talk.unrecorded(joining(group, "a", topic), 1)
    second = talk.unrecorded(joining(group, "b", topic), 1)
    kept = talk.unrecorded(beat(group, "a", first.member_epoch), 1)
    first = talk.unrecorded(beat(group, "a", first.member_epoch, owned=owned_in(kept)), 1)
    second = talk.unrecorded(beat(group, "b", second.member_epoch), 1)
    first.assignment = first.assignment or kept.assignment
    return first, second


# -- one member


def join_and_leave(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=3)
    for version in (0, 1):
        group = a_group(talk, f"group-{version}")
        answer = talk.ask(joining(group, "" if version == 0 else "m", topic), version)
        described(talk, group)
        member, epoch = answer.member_id, answer.member_epoch
        talk.ask(beat(group, member, epoch), version, note="unchanged")
        talk.ask(beat(group, member, epoch, owned=owned_in(answer)), version, note="owned")
        full = beat(group, member, epoch, names=[topic], owned=owned_in(answer), timeout_ms=TIMEOUT_MS)
        talk.ask(full, version, note="full")
        talk.ask(beat(group, member, -1), version, note="leave")
        talk.ask(beat(group, member, -1), version, note="leave again")
        described(talk, group)


def join_without_partitions(talk: Conversation) -> None:
    group = a_group(talk)
    talk.ask(joining(group, "none"), 1, note="no topics")
    talk.ask(joining(group, "missing", talk.name("missing")), 1, note="a missing topic")
    talk.ask(joining(group, "empty", subscribed_topic_regex=""), 1, note="an empty pattern")
    described(talk, group)


def join_again(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=2)
    group = a_group(talk)
    answer = talk.ask(joining(group, "m", topic), 1)
    talk.ask(joining(group, "m", topic), 1, note="again")
    talk.ask(joining(group, "m"), 1, note="without topics")
    talk.ask(beat(group, "m", answer.member_epoch), 1, note="the first epoch")
    described(talk, group)


def change_the_subscription(talk: Conversation) -> None:
    one, two = topic_of_groups(talk, "one", 2), topic_of_groups(talk, "two", 1)
    group = a_group(talk)
    answer = talk.ask(joining(group, "m", one), 1)
    answer = talk.ask(beat(group, "m", answer.member_epoch, names=[one, two]), 1, note="one more")
    answer = talk.ask(beat(group, "m", answer.member_epoch, names=[two, one]), 1, note="another order")
    answer = talk.ask(beat(group, "m", answer.member_epoch, names=[two]), 1, note="one less")
    described(talk, group)
    owned = {topic_id(talk, two): [0]}
    answer = talk.ask(beat(group, "m", answer.member_epoch, owned=owned), 1, note="revoked")
    described(talk, group)
    answer = talk.ask(beat(group, "m", answer.member_epoch, names=[]), 1, note="none")
    talk.ask(beat(group, "m", answer.member_epoch, owned={}), 1, note="none is owned")
    described(talk, group)


def refused_requests(talk: Conversation) -> None:
    topic = topic_of_groups(talk)
    group = a_group(talk)
    some = {topic_id(talk, topic): [0]}
    for version in (0, 1):
        for request, note in (
            (joining("", "m", topic), "no group"),
            (joining(" ", "m", topic), "blank group"),
            (joining(group, "m", topic, instance_id=""), "empty instance id"),
            (joining(group, "m", topic, rack_id=""), "empty rack"),
            (joining(group, "m", topic, timeout_ms=-1), "no time-out"),
            (joining(group, "m", topic, owned=None), "owned null"),
            (joining(group, "m", topic, owned=some), "owns something"),
            (joining(group, "m", names=None), "no subscription"),
            (joining(group, "m", topic, server_assignor="none"), "unknown assignor"),
            (beat(group, "", 1), "no member id"),
            (beat(group, "", -1), "no member id, leaves"),
            (beat(group, "m", -2), "static leave without instance id"),
            (beat(group, "m", -3), "epoch -3"),
            (beat(group, "m", 1), "no such group"),
            (beat(group, "m", -1), "no such group, leaves"),
        ):
            talk.ask(request, version, note=note)
    talk.ask(joining(group, "", topic), 1, note="no member id")


def wrong_epochs(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=2)
    group = a_group(talk)
    answer = talk.ask(joining(group, "m", topic), 1)
    epoch = answer.member_epoch
    talk.ask(beat(group, "nobody", epoch), 1, note="unknown member")
    talk.ask(beat(group, "nobody", -1), 1, note="unknown member leaves")
    talk.ask(beat(group, "m", epoch + 1), 1, note="too high")
    talk.ask(beat(group, "m", epoch - 1 or 9), 1, note="wrong")
    answer = talk.ask(beat(group, "m", epoch, names=[topic, talk.name("missing")]), 1, note="changed")
    full = beat(group, "m", epoch, names=[topic], owned=owned_in(talk.unrecorded(joining(group, "m", topic), 1)))
    talk.ask(full, 1, note="an older epoch")


def name_an_assignor(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=2)
    group = a_group(talk)
    answer = talk.ask(joining(group, "m", topic, server_assignor="range"), 1)
    described(talk, group)
    answer = talk.ask(beat(group, "m", answer.member_epoch, server_assignor="uniform"), 1, note="another")
    described(talk, group)
    talk.ask(beat(group, "m", answer.member_epoch, server_assignor="none"), 1, note="an unknown one")


def subscribe_by_pattern(talk: Conversation) -> None:
    topic_of_groups(talk, "orders", 2)
    topic_of_groups(talk, "other", 1)
    group = a_group(talk)
    for text in ("(", "a**", "(?=a)", r"(a)\1", "[z-a]", r"\p{Klingon}"):
        talk.ask(joining(group, "m", names=None, subscribed_topic_regex=text), 1, note=f"pattern {text}")
    pattern = rf"(?i){talk.name('ORD')}[[:alpha:]]+"
    answer = talk.unrecorded(joining(group, "m", names=None, subscribed_topic_regex=pattern), 1)
    while answer.assignment is None or not answer.assignment.topic_partitions:
        answer = talk.unrecorded(beat(group, "m", answer.member_epoch), 1)
    talk.note("assigned", [sorted(held) for held in owned_in(answer).values()])
    described(talk, group)
    talk.ask(joining(group, "n", names=None, subscribed_topic_regex=pattern), 1, note="a known pattern", see=counts)
    talk.ask(beat(group, "n", -1), 1)


# -- several members


def share_partitions(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=4)
    group = a_group(talk)
    first = talk.ask(joining(group, "a", topic), 1)
    second = talk.ask(joining(group, "b", topic), 1, see=counts)
    described(talk, group, note="assigning")
    kept = talk.ask(beat(group, "a", first.member_epoch), 1, note="shall revoke", see=counts)
    described(talk, group, note="revoking")
    talk.ask(beat(group, "b", second.member_epoch), 1, note="waits", see=counts)
    talk.ask(beat(group, "a", first.member_epoch, owned=owned_in(first)), 1, note="has not revoked", see=counts)
    first = talk.ask(beat(group, "a", first.member_epoch, owned=owned_in(kept)), 1, note="revoked", see=counts)
    described(talk, group, note="released")
    second = talk.ask(beat(group, "b", second.member_epoch), 1, note="gets them", see=counts)
    described(talk, group, note="stable")
    talk.ask(beat(group, "b", -1), 1, note="leaves")
    described(talk, group, note="one left")
    talk.ask(beat(group, "a", first.member_epoch), 1, note="gets all", see=counts)
    described(talk, group, note="stable again")


def more_members_than_the_group_takes(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=4)
    group = a_group(talk)
    for number in range(4):
        talk.ask(joining(group, f"m{number}", topic), 1, see=counts)
    talk.ask(joining(group, "m0", topic), 1, note="a member joins again", see=counts)


def leave_and_return_as_a_static_member(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=2)
    group = a_group(talk)
    answer = talk.ask(joining(group, "a", topic, instance_id="i"), 1)
    talk.ask(joining(group, "b", topic, instance_id="i"), 1, note="the id is in use")
    talk.ask(beat(group, "a", answer.member_epoch, instance_id="j"), 1, note="another instance id")
    talk.ask(beat(group, "x", answer.member_epoch, instance_id="i"), 1, note="another member id")
    talk.ask(beat(group, "a", answer.member_epoch), 1, note="no instance id")
    talk.ask(beat(group, "a", -2, instance_id="i"), 1, note="leaves for a while")
    described(talk, group)
    answer = talk.ask(joining(group, "c", topic, instance_id="i"), 1, note="returns")
    talk.ask(beat(group, "a", 1, instance_id="i"), 1, note="the old member id")
    described(talk, group)
    talk.ask(beat(group, "c", -1, instance_id="i"), 1, note="leaves for good")
    talk.ask(beat(group, "c", -2, instance_id="i"), 1, note="there is no such member")


# -- offsets


def commit_and_fetch_offsets(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=2)
    group = a_group(talk)
    answer = talk.ask(joining(group, "m", topic), 1)
    epoch = answer.member_epoch
    for version in (7, 8, 9):
        for member, generation in (("m", epoch), ("m", epoch + 1), ("m", epoch - 1), ("m", -1), ("", -1), ("x", epoch)):
            request = commit(group, topic, generation=generation, member=member)
            talk.ask(request, version, note=f"{member or 'nobody'} in epoch {generation}")
    for reader, epoch_of_reader in (("m", epoch), ("m", epoch + 1), (None, -1), ("", -1), ("x", epoch), ("m", -1)):
        talk.ask(offsets_as(group, reader, epoch_of_reader, topic), 9, note=f"{reader} in epoch {epoch_of_reader}")
    talk.ask(offsets_as(group, None, -1, topic), 8)
    talk.ask(beat(group, "m", -1), 1)
    talk.ask(commit(group, topic), 9, note="the group is empty")
    talk.ask(commit(group, topic, generation=epoch, member="m"), 9, note="the member left")
    talk.ask(commit(talk.name("unknown"), topic, generation=1, member="m"), 9, note="no such group")
    talk.ask(commit(talk.name("unknown"), topic, generation=1, member="m"), 8, note="no such group")


def delete_offsets_and_the_group(talk: Conversation) -> None:
    topic, other = topic_of_groups(talk), topic_of_groups(talk, "other")
    group = a_group(talk)
    answer = talk.ask(joining(group, "m", topic), 1)
    for name in (topic, other):
        talk.ask(commit(group, name, generation=answer.member_epoch, member="m"), 9)
    for name in (topic, other):
        asked = OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
        talk.ask(OffsetDeleteRequest(group_id=group, topics=[asked]), 0, note=name)
    talk.ask(DeleteGroupsRequest(groups_names=[group]), 2, note="has a member")
    talk.ask(beat(group, "m", -1), 1)
    talk.ask(DeleteGroupsRequest(groups_names=[group]), 2, note="empty")
    described(talk, group)


# -- descriptions, and groups of the other type


def own_groups(talk: Conversation) -> See:
    def see(value: Json) -> Json:
        groups = [each for each in value["groups"] if talk.is_own(each["groupId"])]
        return {**value, "groups": [each for each in groups if "probe" not in each["groupId"]]}

    return see


def describe_and_list(talk: Conversation) -> None:
    topic = topic_of_groups(talk, partitions=2)
    group, classic = a_group(talk), a_group(talk, "classic")
    talk.ask(joining(group, "m", topic, instance_id="i", rack_id="r"), 1)
    stable_member(talk, classic)
    for version in (0, 1):
        described(talk, group, classic, talk.name("unknown"), "", group, version=version)
        described(talk, group, version=version, include_authorized_operations=True, note="operations")
    for version in (4, 5, 6):
        talk.ask(DescribeGroupsRequest(groups=[group]), version)
    for states, types in (
        ([], []),
        (["stable"], []),
        (["Empty"], []),
        ([], ["consumer"]),
        ([], ["Classic"]),
        ([], ["x"]),
    ):
        request = ListGroupsRequest(states_filter=states, types_filter=types)
        talk.ask(request, 5, note=f"{states} {types}", see=own_groups(talk))
    talk.ask(beat(group, "m", -1, instance_id="i"), 1)
    talk.ask(ListGroupsRequest(states_filter=["Empty"]), 5, see=own_groups(talk))


def use_the_other_protocol(talk: Conversation) -> None:
    topic = topic_of_groups(talk)
    group, classic = a_group(talk), a_group(talk, "classic")
    talk.ask(joining(group, "m", topic), 1)
    talk.ask(join(group), 9, note="classic member of a consumer group")
    member = stable_member(talk, classic)
    talk.ask(joining(classic, "m", topic), 1, note="consumer protocol in a classic group")
    talk.ask(beat(classic, "m", 1), 1, note="no member of a classic group")
    talk.ask(beat(classic, member.member_id, -1), 1, note="leaves a classic group")


def change_the_type_of_an_empty_group(talk: Conversation) -> None:
    topic = topic_of_groups(talk)
    group = a_group(talk)
    talk.ask(commit(group, topic, 7), 9)
    talk.ask(joining(group, "m", topic), 1)
    talk.ask(offsets_as(group, None, -1, topic), 9)
    described(talk, group)
    talk.ask(beat(group, "m", -1), 1)
    stable_member(talk, group)
    talk.ask(offsets_as(group, None, -1, topic), 9)
    described(talk, group)
    talk.ask(DescribeGroupsRequest(groups=[group]), 6, see=lambda value: value["groups"][0]["groupState"])


SCENARIOS = [
    join_and_leave,
    join_without_partitions,
    join_again,
    change_the_subscription,
    refused_requests,
    wrong_epochs,
    name_an_assignor,
    subscribe_by_pattern,
    share_partitions,
    more_members_than_the_group_takes,
    leave_and_return_as_a_static_member,
    commit_and_fetch_offsets,
    delete_offsets_and_the_group,
    describe_and_list,
    use_the_other_protocol,
    change_the_type_of_an_empty_group,
]

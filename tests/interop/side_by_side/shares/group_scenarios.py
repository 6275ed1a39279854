"""Scenarios of share groups (KIP-932): heartbeats, descriptions, lists, deletions, and the APIs of other types."""

from typing import Any

from interop.side_by_side.consumer_group_scenarios import counts, joining
from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import a_group, a_topic, commit, group_offsets, join, stable_member
from interop.side_by_side.shares.requests import beat, filled_topic, sharing
from pybroker.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pybroker.protocol.messages.delete_groups import DeleteGroupsRequest
from pybroker.protocol.messages.describe_groups import DescribeGroupsRequest
from pybroker.protocol.messages.list_groups import ListGroupsRequest
from pybroker.protocol.messages.offset_fetch import OffsetFetchRequest
from pybroker.protocol.messages.share_group_describe import ShareGroupDescribeRequest

__all__ = ["SCENARIOS"]


def described(talk: Conversation, *groups: str, note: str = "", **fields: Any) -> None:
    talk.ask(ShareGroupDescribeRequest(group_ids=list(groups), **fields), 1, note=note, see=counts)


def own_groups(talk: Conversation, **filters: Any) -> None:
    def see(value: Json) -> Json:
        return {**value, "groups": [each for each in value["groups"] if talk.is_own(each["groupId"])]}

    talk.ask(ListGroupsRequest(**filters), 5, see=see)


def share_members_join_and_leave(talk: Conversation) -> None:
    topic, group = filled_topic(talk, "topic", partitions=2), a_group(talk)
    sharing(talk, group, "m", topic)
    answer = talk.unrecorded(beat(group, "m", 0, topic), 1)
    talk.ask(beat(group, "m", answer.member_epoch), 1, note="unchanged")
    talk.ask(beat(group, "m", answer.member_epoch, topic), 1, note="full")
    talk.ask(beat(group, "m", 0, topic), 1, note="again")
    described(talk, group, include_authorized_operations=True)
    own_groups(talk, types_filter=["SHARE"])
    own_groups(talk, types_filter=["classic", "consumer"])
    own_groups(talk, states_filter=["stable"])
    own_groups(talk, states_filter=["Empty", "nonsense"], types_filter=["share"])
    talk.ask(DeleteGroupsRequest(groups_names=[group]), 2, note="with a member")
    talk.ask(beat(group, "m", answer.member_epoch + 5), 1, note="an epoch to come")
    talk.ask(beat(group, "other", answer.member_epoch), 1, note="an unknown member")
    talk.ask(beat(group, "other", -1), 1, note="an unknown member leaves")
    talk.ask(beat(group, "m", -1), 1, note="leave")
    talk.ask(beat(group, "m", -1), 1, note="leave again")
    described(talk, group)
    own_groups(talk)
    talk.ask(DeleteGroupsRequest(groups_names=[group, talk.name("absent")]), 2)
    described(talk, group, talk.name("absent"), note="after deletion")


def since(base: int, value: Json) -> Json:
    """The response with epochs counted from ``base``, which depends on when the states of the topics were created."""
    if isinstance(value, dict):
        return {
            name: item - base if name.endswith("Epoch") and item > 0 else since(base, item)
            for name, item in value.items()
        }
    return [since(base, item) for item in value] if isinstance(value, list) else value


def share_members_come_and_change(talk: Conversation) -> None:
    one, two = (filled_topic(talk, what, partitions=2) for what in ("one", "two"))
    group = a_group(talk)
    sharing(talk, group, "a", one, two)
    base = talk.unrecorded(beat(group, "a", 0, one, two), 1).member_epoch

    def see(value: Json) -> Json:
        return since(base, counts(value))

    def describe() -> None:
        talk.ask(ShareGroupDescribeRequest(group_ids=[group]), 1, see=see)

    first = talk.ask(beat(group, "a", 0, one), 1, see=see, note="one topic")
    second = talk.ask(beat(group, "b", 0, one, two, rack="r"), 1, see=see, note="two topics")
    describe()
    first = talk.ask(beat(group, "a", first.member_epoch), 1, see=see)
    talk.ask(beat(group, "a", first.member_epoch - 1), 1, see=see, note="the epoch before")
    second = talk.ask(beat(group, "b", second.member_epoch, two), 1, see=see, note="one less")
    first = talk.ask(beat(group, "a", first.member_epoch, talk.name("absent")), 1, see=see, note="an absent topic")
    describe()
    talk.ask(beat(group, "b", -1), 1, see=see)
    talk.ask(beat(group, "a", first.member_epoch), 1, see=see)
    describe()


def refused_share_heartbeats(talk: Conversation) -> None:
    topic, group = a_topic(talk), a_group(talk)
    for request, note in (
        (beat("", "m", 0, topic), "no group"),
        (beat(" ", "m", 0, topic), "blank group"),
        (beat(group, "", 0, topic), "no member id"),
        (beat(group, " ", 0, topic), "blank member id"),
        (beat(group, "m" * 37, 0, topic), "long member id"),
        (beat(group, "m", 0, topic, rack=""), "empty rack"),
        (beat(group, "m", 0), "no subscription"),
        (beat(group, "m", -2), "epoch -2"),
        (beat(group, "m", 1), "no such group"),
        (beat(group, "m", -1), "no such group, leaves"),
    ):
        talk.ask(request, 1, note=note)


def groups_of_other_types(talk: Conversation) -> None:
    topic = filled_topic(talk, "topic")
    group, classic, consumer = (a_group(talk, what) for what in ("share", "classic", "consumer"))
    sharing(talk, group, "m", topic)
    stable_member(talk, classic)
    talk.unrecorded(joining(consumer, "m", topic), 1)
    talk.ask(beat(classic, "m", 0, topic), 1, note="a classic group")
    talk.ask(beat(consumer, "m", 0, topic), 1, note="a consumer group")
    described(talk, classic, consumer)
    talk.ask(ConsumerGroupDescribeRequest(group_ids=[group]), 1)
    talk.ask(DescribeGroupsRequest(groups=[group]), 5)
    talk.ask(DescribeGroupsRequest(groups=[group]), 6)
    talk.ask(join(group), 9)
    talk.ask(joining(group, "c", topic), 1)
    talk.ask(commit(group, topic), 9)
    talk.ask(OffsetFetchRequest(groups=[group_offsets(group, {topic: [0]})]), 9)


SCENARIOS = (
    share_members_join_and_leave,
    share_members_come_and_change,
    refused_share_heartbeats,
    groups_of_other_types,
)

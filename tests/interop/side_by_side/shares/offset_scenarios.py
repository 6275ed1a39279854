"""Scenarios of the start offsets and the settings of share groups (KIP-932), of groups of other types, too."""

from collections.abc import Mapping

from interop.side_by_side.consumer_group_scenarios import joining
from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import a_group, stable_member
from interop.side_by_side.shares.requests import (
    GROUP,
    beat,
    change_group,
    filled_topic,
    offsets_of,
    reading_group,
    sharing,
)
from pybroker.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from pybroker.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from pybroker.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pybroker.protocol.messages.share_group_describe import ShareGroupDescribeRequest

__all__ = ["SCENARIOS"]


def altered(group: str, offsets: Mapping[str, Mapping[int, int]]) -> AlterShareGroupOffsetsRequest:
    topics = [
        AlterShareGroupOffsetsRequestTopic(
            topic_name=name,
            partitions=[
                AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offset)
                for index, offset in each.items()
            ],
        )
        for name, each in offsets.items()
    ]
    return AlterShareGroupOffsetsRequest(group_id=group, topics=topics)


def deleted(group: str, *names: str) -> DeleteShareGroupOffsetsRequest:
    topics = [DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in names]
    return DeleteShareGroupOffsetsRequest(group_id=group, topics=topics)


def start_offsets_of_share_groups(talk: Conversation) -> None:
    topic, group = filled_topic(talk, "topic", 5, 5, partitions=2), reading_group(talk)
    absent = talk.name("absent")
    talk.ask(offsets_of(group, None), 1, note="no group")
    talk.ask(offsets_of(group, {topic: [0, 7], absent: [0]}), 1, note="no group")
    talk.ask(offsets_of(group, {}), 0, note="nothing")
    talk.ask(altered("", {topic: {0: 0}}), 0, note="an empty name")
    talk.ask(deleted("", topic), 0, note="an empty name")
    talk.ask(deleted(group, topic), 0, note="no group")
    talk.ask(altered(group, {topic: {0: 3, 7: 1}, absent: {0: 1}}), 0, note="a new group")
    talk.ask(offsets_of(group, None), 1)
    talk.ask(ShareGroupDescribeRequest(group_ids=[group]), 1)
    for offset in (-1, 8, 100):
        talk.ask(altered(group, {topic: {0: offset}}), 0, note=f"{offset}")
        talk.ask(offsets_of(group, None), 1, note=f"{offset}")
    sharing(talk, group, "m", topic)
    talk.ask(altered(group, {topic: {0: 0}}), 0, note="with a member")
    talk.ask(deleted(group, topic), 0, note="with a member")
    talk.ask(offsets_of(group, {topic: [0, 1]}), 0)
    talk.ask(offsets_of(group, {topic: [0, 1, 7]}), 1)
    talk.ask(beat(group, "m", -1), 1)
    talk.ask(deleted(group, topic, absent), 0)
    talk.ask(deleted(group, topic), 0, note="again")
    talk.ask(offsets_of(group, None), 1)


def start_offsets_of_other_types(talk: Conversation) -> None:
    topic = filled_topic(talk, "topic")
    classic, consumer = (a_group(talk, what) for what in ("classic", "consumer"))
    stable_member(talk, classic)
    talk.unrecorded(joining(consumer, "m", topic), 1)
    for each in (classic, consumer):
        talk.ask(offsets_of(each, {topic: [0]}), 1)
        talk.ask(altered(each, {topic: {0: 0}}), 0)
        talk.ask(deleted(each, topic), 0)


def settings_of_share_groups(talk: Conversation) -> None:
    group = reading_group(talk)
    for name, values in (
        ("share.auto.offset.reset", ("latest", "by_duration:PT1H", "by_duration:nonsense", "none", "")),
        ("share.isolation.level", ("read_committed", "read_uncommitted", "nonsense")),
        ("share.record.lock.duration.ms", ("999", "1000", "60000", "60001", "x")),
        ("share.session.timeout.ms", ("44999", "45000", "60000", "60001")),
        ("share.heartbeat.interval.ms", ("4999", "5000", "15000", "15001")),
        ("share.nonsense", ("1",)),
    ):
        for value in values:
            talk.ask(change_group(group, **{name: value}), 1, note=f"{name}={value}")
    asked = DescribeConfigsRequest(resources=[DescribeConfigsResource(resource_type=GROUP, resource_name=group)])

    def see(value: Json) -> Json:
        (result,) = value["results"]
        shares = (each for each in result["configs"] if each["name"].startswith("share."))
        return {each["name"]: [each["value"], each["configSource"], each["readOnly"]] for each in shares}

    talk.ask(asked, 4, see=see)


SCENARIOS = (
    start_offsets_of_share_groups,
    start_offsets_of_other_types,
    settings_of_share_groups,
)

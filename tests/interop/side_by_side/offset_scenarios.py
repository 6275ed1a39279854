"""Scenarios of OffsetCommit, OffsetFetch and OffsetDelete."""

from typing import Any

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.requests import (
    a_group,
    a_topic,
    commit,
    group_offsets,
    heartbeat,
    join,
    leave,
    member_of,
    offsets,
    stable_member,
    subscription,
)
from pybroker.protocol.messages.delete_groups import DeleteGroupsRequest
from pybroker.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pybroker.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pybroker.protocol.messages.offset_fetch import OffsetFetchRequest

__all__ = ["SCENARIOS"]


def committed(talk: Conversation, group: str) -> None:
    """Records all offsets of the group."""
    talk.ask(offsets(group, None), 5)


def commit_without_a_member_in_every_version(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in range(10):
        group = a_group(talk, f"group-{version}")
        talk.ask(
            commit(group, topic, 10 + version, text=f"v{version}", leader_epoch=3 if version >= 6 else -1), version
        )
        talk.ask(offsets(group, {topic: [0]}), 0)
        committed(talk, group)


def commit_as_a_member_in_every_version(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in range(1, 10):
        group = a_group(talk, f"group-{version}")
        member = stable_member(talk, group)
        asked = commit(group, topic, 5, generation=member.generation_id, member=member.member_id)
        talk.ask(asked, version)
        committed(talk, group)


def commit_as_somebody_else(talk: Conversation) -> None:
    topic = a_topic(talk)
    group = a_group(talk)
    member = stable_member(talk, group)
    generation, member_id = member.generation_id, member.member_id
    for version in (1, 5, 7, 9):
        for other_generation, other_id, instance in (
            (generation + 1, member_id, None),
            (generation - 1, member_id, None),
            (-1, member_id, None),
            (generation, "nobody", None),
            (generation, "", None),
            (-1, "", None),
            (-1, "nobody", None),
            (-2, "", None),
            (generation, member_id, "no-such-instance"),
            (-1, "", "no-such-instance"),
        ):
            if instance is not None and version < 7:
                continue
            talk.ask(
                commit(group, topic, 1, generation=other_generation, member=other_id, instance=instance),
                version,
                note=f"{other_generation - generation:+} {other_id if other_id != member_id else 'member'} {instance}",
            )
    committed(talk, group)


def commit_to_a_group_that_is_not_there(talk: Conversation) -> None:
    topic = a_topic(talk)
    a_group(talk)
    for version in (1, 5, 9):
        for generation, member in ((-1, ""), (0, ""), (1, "nobody"), (-1, "nobody"), (1, "")):
            group = talk.name(f"dead-{version}-{generation}-{member}")
            talk.ask(
                commit(group, topic, 1, generation=generation, member=member), version, note=f"{generation} {member}"
            )
            committed(talk, group)


def commit_for_unknown_partitions(talk: Conversation) -> None:
    topic = a_topic(talk)
    group = a_group(talk)
    for version in (0, 1, 2, 6, 9):
        talk.ask(commit(group, talk.name("unknown")), version, note="unknown topic")
        talk.ask(commit(group, topic, partition=5), version, note="unknown partition")
        talk.ask(commit(group, topic, partition=-1), version, note="negative partition")
        talk.ask(commit(group, ""), version, note="empty name")
    both = commit(group, topic, 3)
    both.topics += commit(group, talk.name("unknown")).topics
    both.topics[0].partitions += commit(group, topic, partition=9).topics[0].partitions
    talk.ask(both, 5)
    committed(talk, group)


def commit_odd_values(talk: Conversation) -> None:
    topic = a_topic(talk)
    group = a_group(talk)
    for offset in (-1, -2, 0, (1 << 63) - 1):
        talk.ask(commit(group, topic, offset), 9, note=f"offset {offset}")
        committed(talk, group)
    for leader_epoch in (-1, -2, 0, 2147483647):
        talk.ask(commit(group, topic, 1, leader_epoch=leader_epoch), 9, note=f"leader epoch {leader_epoch}")
        committed(talk, group)
    for text in (None, "", "x" * 4096, "x" * 4097, "ü" * 2048, "ü" * 4096):
        for version in (0, 5, 9):
            note = f"{len(text)} characters" if text is not None else "null"
            talk.ask(commit(group, topic, 2, text=text), version, note=note)
        committed(talk, group)
    for retention in (-1, 0, 1000, -2):
        talk.ask(commit(group, topic, 3, retention_time_ms=retention), 2, note=f"retention {retention}")


def commit_nothing(talk: Conversation) -> None:
    topic = a_topic(talk)
    group = a_group(talk)
    for version in (0, 1, 5, 9):
        talk.ask(OffsetCommitRequest(group_id=group), version, note="no topic")
        talk.ask(
            OffsetCommitRequest(group_id=group, topics=[OffsetCommitRequestTopic(name=topic)]),
            version,
            note="no partition",
        )


def commit_a_partition_twice(talk: Conversation) -> None:
    topic = a_topic(talk)
    group = a_group(talk)
    request = commit(group, topic, 1)
    request.topics[0].partitions.append(OffsetCommitRequestPartition(partition_index=0, committed_offset=2))
    talk.ask(request, 5)
    committed(talk, group)
    request = commit(group, topic, 3)
    request.topics += commit(group, topic, 4).topics
    talk.ask(request, 5)
    committed(talk, group)


def commit_with_odd_group_ids(talk: Conversation) -> None:
    topic = a_topic(talk)
    a_group(talk)
    for version in (0, 1, 5, 9):
        talk.ask(commit("", topic), version, note="empty group")
        talk.ask(commit("", topic, generation=1, member="member"), version, note="empty group, with a member")
    talk.ask(commit(talk.name("ü ö/?"), topic), 5)
    talk.ask(offsets(talk.name("ü ö/?"), None), 5)


def commit_while_a_group_rebalances(talk: Conversation) -> None:
    topic = a_topic(talk)
    group = a_group(talk)
    member = stable_member(talk, group)
    generation, member_id = member.generation_id, member.member_id
    other = talk.send(join(group), 3, on="other")
    while talk.unrecorded(heartbeat(group, generation, member_id), 3).error_code == 0:
        pass
    for version in (1, 5, 9):
        talk.ask(commit(group, topic, 7, generation=generation, member=member_id), version)
    talk.ask(commit(group, topic, 7), 9, note="without a member")
    again = talk.ask(join(group, member_id), 3)
    other.answer()
    talk.ask(commit(group, topic, 8, generation=again.generation_id, member=member_id), 5, note="before it is synced")
    talk.ask(commit(group, topic, 8, generation=generation, member=member_id), 5, note="of the last generation")
    committed(talk, group)


def commit_as_anybody(talk: Conversation, topic: str, group: str, member: Any, state: str) -> None:
    """Commits with every kind of member id, generation and instance id."""
    generation, member_id = member.generation_id, member.member_id
    for version in (1, 5, 7, 9):
        for its_generation in (-1, 0, generation, generation + 1):
            for its_id in ("", "nobody", member_id):
                who = "member" if its_id == member_id else its_id
                request = commit(group, topic, 5, generation=its_generation, member=its_id)
                talk.ask(request, version, note=f"{state} {its_generation} {who!r}")
        committed(talk, group)
    talk.ask(commit(group, topic, 6), 0, note=state)


def commit_in_every_state_of_the_group(talk: Conversation) -> None:
    topic = a_topic(talk)
    stable = a_group(talk, "stable")
    commit_as_anybody(talk, topic, stable, stable_member(talk, stable), "stable")
    completing = a_group(talk, "completing")
    commit_as_anybody(talk, topic, completing, member_of(talk, completing), "completing")
    preparing = a_group(talk, "preparing")
    member = stable_member(talk, preparing)
    talk.send(join(preparing), 3, on="other")
    while talk.unrecorded(heartbeat(preparing, member.generation_id, member.member_id), 3).error_code == 0:
        pass
    commit_as_anybody(talk, topic, preparing, member, "preparing")
    empty = a_group(talk, "empty")
    member = stable_member(talk, empty)
    talk.unrecorded(leave(empty, member.member_id), 2)
    commit_as_anybody(talk, topic, empty, member, "empty")
    asked = a_group(talk, "asked")
    commit_as_anybody(talk, topic, asked, talk.unrecorded(join(asked), 5), "asked to join")
    dead = a_group(talk, "dead")
    member = stable_member(talk, dead)
    talk.unrecorded(leave(dead, member.member_id), 2)
    talk.unrecorded(DeleteGroupsRequest(groups_names=[dead]), 2)
    commit_as_anybody(talk, topic, dead, member, "deleted")


# -- OffsetFetch


def fetch_offsets_in_every_version(talk: Conversation) -> None:
    topic = a_topic(talk, partitions=3)
    group = a_group(talk)
    talk.ask(commit(group, topic, 4, text="some text", leader_epoch=2), 6)
    for version in range(8):
        talk.ask(offsets(group, {topic: [0, 1, 9], talk.name("unknown"): [0]}), version)
        if version >= 2:
            talk.ask(offsets(group, None), version, note="all")
            talk.ask(offsets(group, {}), version, note="none")
    for version in (8, 9):
        asked = [
            group_offsets(group, {topic: [0, 1, 9], talk.name("unknown"): [0]}),
            group_offsets(talk.name("dead"), None),
        ]
        talk.ask(OffsetFetchRequest(groups=asked), version)
        talk.ask(OffsetFetchRequest(groups=[group_offsets(group, None)]), version, note="all")
        talk.ask(OffsetFetchRequest(groups=[group_offsets(group, {})]), version, note="none")
        talk.ask(OffsetFetchRequest(groups=[group_offsets("", None)]), version, note="empty group")
        # A request without any group is left out, because Kafka never answers it.


def fetch_offsets_of_a_group_that_is_not_there(talk: Conversation) -> None:
    topic = a_topic(talk)
    group = a_group(talk)
    for version in range(8):
        talk.ask(offsets(group, {topic: [0]}), version)
    for version in (2, 5, 7):
        talk.ask(offsets(group, None), version)


def fetch_offsets_with_duplicates(talk: Conversation) -> None:
    topic = a_topic(talk)
    group = a_group(talk)
    talk.ask(commit(group, topic, 4), 6)
    for version in (1, 5, 7):
        talk.ask(offsets(group, {topic: [0, 0]}), version)
    twice = [group_offsets(group, {topic: [0]}), group_offsets(group, {topic: [0]})]
    talk.ask(OffsetFetchRequest(groups=twice), 8)


def fetch_stable_offsets(talk: Conversation) -> None:
    topic = a_topic(talk)
    group = a_group(talk)
    talk.ask(commit(group, topic, 4), 6)
    talk.ask(offsets(group, {topic: [0]}, require_stable=True), 7)
    talk.ask(OffsetFetchRequest(groups=[group_offsets(group, None)], require_stable=True), 8)


def fetch_offsets_as_a_member(talk: Conversation) -> None:
    topic = a_topic(talk)
    group = a_group(talk)
    member = stable_member(talk, group)
    talk.ask(commit(group, topic, 4, generation=member.generation_id, member=member.member_id), 6)
    for member_id, epoch in ((member.member_id, member.generation_id), ("nobody", 1), ("", 5), (member.member_id, 77)):
        asked = group_offsets(group, {topic: [0]}, member=member_id, epoch=epoch)
        talk.ask(OffsetFetchRequest(groups=[asked]), 9)


# -- OffsetDelete


def delete_offsets(group: str, topic: str, *partitions: int) -> OffsetDeleteRequest:
    asked = [OffsetDeleteRequestPartition(partition_index=each) for each in partitions]
    return OffsetDeleteRequest(group_id=group, topics=[OffsetDeleteRequestTopic(name=topic, partitions=asked)])


def delete_offsets_of_a_group_without_members(talk: Conversation) -> None:
    topic = a_topic(talk, partitions=2)
    group = a_group(talk)
    for partition in range(2):
        talk.ask(commit(group, topic, 4, partition=partition), 6)
    talk.ask(delete_offsets(group, topic, 0), 0)
    committed(talk, group)
    talk.ask(delete_offsets(group, topic, 0, 1, 7), 0)
    talk.ask(delete_offsets(group, talk.name("unknown"), 0), 0)
    talk.ask(OffsetDeleteRequest(group_id=group), 0)
    committed(talk, group)


def delete_offsets_of_no_group(talk: Conversation) -> None:
    topic = a_topic(talk)
    group = a_group(talk)
    talk.ask(delete_offsets(group, topic, 0), 0)
    talk.ask(delete_offsets("", topic, 0), 0)
    talk.ask(OffsetDeleteRequest(group_id=group), 0)


def delete_offsets_of_a_group_with_members(talk: Conversation) -> None:
    topic = a_topic(talk)
    group = a_group(talk)
    member = stable_member(talk, group, protocols={"range": subscription(topic)})
    talk.ask(commit(group, topic, 4, generation=member.generation_id, member=member.member_id), 6)
    talk.ask(delete_offsets(group, topic, 0), 0, note="subscribed")
    other = a_topic(talk, "other")
    talk.ask(commit(group, other, 4, generation=member.generation_id, member=member.member_id), 6)
    talk.ask(delete_offsets(group, other, 0), 0, note="not subscribed")
    committed(talk, group)


def delete_offsets_of_a_group_that_is_no_consumers(talk: Conversation) -> None:
    topic = a_topic(talk)
    group = a_group(talk)
    member = stable_member(talk, group, protocol_type="connect")
    talk.ask(commit(group, topic, 4, generation=member.generation_id, member=member.member_id), 6)
    talk.ask(delete_offsets(group, topic, 0), 0)


SCENARIOS = [
    commit_without_a_member_in_every_version,
    commit_as_a_member_in_every_version,
    commit_as_somebody_else,
    commit_to_a_group_that_is_not_there,
    commit_for_unknown_partitions,
    commit_odd_values,
    commit_nothing,
    commit_a_partition_twice,
    commit_with_odd_group_ids,
    commit_while_a_group_rebalances,
    commit_in_every_state_of_the_group,
    fetch_offsets_in_every_version,
    fetch_offsets_of_a_group_that_is_not_there,
    fetch_offsets_with_duplicates,
    fetch_stable_offsets,
    fetch_offsets_as_a_member,
    delete_offsets_of_a_group_without_members,
    delete_offsets_of_no_group,
    delete_offsets_of_a_group_with_members,
    delete_offsets_of_a_group_that_is_no_consumers,
]

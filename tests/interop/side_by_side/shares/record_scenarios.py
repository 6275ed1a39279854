"""Scenarios of ShareFetch and ShareAcknowledge (KIP-932): sessions, types of acknowledgements, and limits."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.shares.requests import (
    ACCEPT,
    GAP,
    NO_WAIT_MS,
    REJECT,
    RELEASE,
    RENEW,
    Said,
    SharingMember,
    add_records,
    filled_topic,
    offsets_of,
    reading_group,
    sharing,
)

__all__ = ["SCENARIOS"]

REFUSED: Mapping[str, Sequence[Said]] = {
    "backwards": [(3, 2, [ACCEPT])],
    "out of order": [(4, 5, [ACCEPT]), (0, 1, [ACCEPT])],
    "overlapping": [(0, 3, [ACCEPT]), (2, 5, [ACCEPT])],
    "touching": [(0, 3, [ACCEPT]), (3, 5, [ACCEPT])],
    "no types": [(0, 1, [])],
    "too few types": [(0, 2, [ACCEPT, ACCEPT])],
    "too many types": [(0, 0, [ACCEPT, ACCEPT])],
    "unknown type": [(0, 0, [5])],
    "negative type": [(0, 0, [-1])],
    "negative offset": [(-2, -1, [ACCEPT])],
    "beyond the end": [(9, 10, [ACCEPT])],
    "far beyond the end": [(100, 110, [ACCEPT])],
    "renew unasked": [(0, 0, [RENEW])],
}
"""Acknowledgements by the member that holds the offsets from 0 to 9."""


def acquire_and_acknowledge(talk: Conversation) -> None:
    for version in (1, 2):
        topic, group = filled_topic(talk, f"topic-{version}", 5), reading_group(talk, f"group-{version}")
        member = sharing(talk, group, f"m{version}", topic)
        member.fetch(0, version=version)
        member.acknowledge((0, 1, [ACCEPT]), (2, 4, [RELEASE, REJECT, GAP]), version=version)
        member.fetch(version=version, note="the released one")
        talk.ask(offsets_of(group, None), 1)
        member.fetch(said={0: [(2, 2, [ACCEPT])]}, version=version, max_wait_ms=NO_WAIT_MS, note="with the request")
        talk.ask(offsets_of(group, None), 1)
        add_records(talk, topic, 3)
        member.fetch(version=version, note="new ones")
        member.fetch(said={0: [(5, 6, [ACCEPT])]}, epoch=-1, version=version, note="the end of the session")
        other = sharing(talk, group, f"n{version}", topic)
        other.fetch(0, version=version, note="what was not acknowledged")


def refused_acknowledgements(talk: Conversation) -> None:
    topic, group = filled_topic(talk, "topic", 10), reading_group(talk)
    member, other = sharing(talk, group, "m", topic), sharing(talk, group, "n", topic)
    member.fetch(0)
    other.fetch(0, max_wait_ms=NO_WAIT_MS)
    other.acknowledge((0, 0, [ACCEPT]), note="held by another")
    for note, said in REFUSED.items():
        member.acknowledge(*said, note=note)
        member.fetch(said={0: said}, max_records=0, max_wait_ms=0, note=note)
    member.acknowledge((0, 0, [RENEW]), version=1, note="renew by version 1")
    member.acknowledge((0, 0, [ACCEPT]), partition=5, note="an unknown partition")
    member.topics["absent"] = UUID(int=7)
    member.acknowledge((0, 0, [ACCEPT]), topic="absent", note="an unknown topic")
    member.acknowledge((0, 0, [ACCEPT]))
    member.acknowledge((0, 0, [ACCEPT]), note="below the start")
    member.acknowledge((0, 2, [RELEASE]), note="from below the start")
    member.acknowledge((1, 1, [ACCEPT]), note="released")
    member.acknowledge((3, 3, [ACCEPT]), (4, 4, [ACCEPT]), note="neighbours")
    member.acknowledge((5, 5, [ACCEPT]), (3, 3, [ACCEPT]), note="one is wrong")
    member.acknowledge((4, 5, [ACCEPT]), note="partly done")
    talk.ask(offsets_of(group, None), 1)


def sessions_of_members(talk: Conversation) -> None:
    topic, group = filled_topic(talk, "topic", 2), reading_group(talk)
    member = sharing(talk, group, "m", topic)
    for epoch in (1, -1, -2):
        member.fetch(0, epoch=epoch, note=f"no session, epoch {epoch}")
        member.acknowledge((0, 0, [ACCEPT]), epoch=epoch, note=f"no session, epoch {epoch}")
    member.acknowledge((0, 0, [ACCEPT]), epoch=0, note="no session, epoch 0")
    member.fetch(said={0: [(0, 0, [ACCEPT])]}, epoch=0, note="acknowledges at first")
    member.fetch(0, epoch=0)
    for epoch in (0, 2, -2):
        member.acknowledge((0, 0, [ACCEPT]), epoch=epoch, note=f"epoch {epoch}")
    for epoch in (2, -2):
        member.fetch(0, epoch=epoch, max_wait_ms=NO_WAIT_MS, note=f"epoch {epoch}")
    member.fetch(0, epoch=0, note="anew")
    member.fetch(forgotten=[0], max_wait_ms=NO_WAIT_MS, note="forgets")
    member.fetch(max_wait_ms=NO_WAIT_MS, note="nothing to fetch")
    member.acknowledge((0, 0, [ACCEPT]), note="of a forgotten partition")
    member.acknowledge(epoch=-1, note="the end")
    member.acknowledge(epoch=-1, note="the end again")
    for member_id in ("", "m" * 37):
        SharingMember(talk, group, member_id, member.topics).fetch(0, epoch=0, note=f"{len(member_id)} letters")
        SharingMember(talk, group, member_id, member.topics).acknowledge(epoch=1, note=f"{len(member_id)} letters")


def unknown_places(talk: Conversation) -> None:
    topic, group = filled_topic(talk, "topic", 2), reading_group(talk)
    member = sharing(talk, group, "m", topic)
    member.topics["absent"] = UUID(int=7)
    member.fetch(0, 5, note="an unknown partition")
    member.fetch(0, topic="absent", max_wait_ms=NO_WAIT_MS, note="an unknown topic too")
    member.fetch(max_wait_ms=NO_WAIT_MS, note="again")
    stranger = SharingMember(talk, talk.name("no-group"), "s", {topic: member.topics[topic]})
    stranger.fetch(0, max_wait_ms=NO_WAIT_MS, note="without a group")


def limits_of_fetches(talk: Conversation) -> None:
    topic, group = filled_topic(talk, "topic", 4, 4, 4, 4), reading_group(talk)
    member = sharing(talk, group, "m", topic)
    member.fetch(0, max_records=2, note="the end of a batch")
    member.fetch(max_records=5, batch_size=2, note="two batches, apart")
    member.fetch(max_records=0, note="no records")
    member.fetch(max_bytes=0, min_bytes=0, note="no bytes")
    member.fetch(max_records=3, batch_size=0, note="no batch size")
    member.acknowledge((0, 11, [RELEASE]))
    member.fetch(max_records=3, share_acquire_mode=1, note="strict")
    member.fetch(max_records=2, share_acquire_mode=1, batch_size=1, note="strict, in small batches")
    member.fetch(max_bytes=1, note="one byte")
    member.fetch(max_records=-1, max_wait_ms=NO_WAIT_MS, note="negative")
    member.fetch(max_wait_ms=NO_WAIT_MS, note="the rest")
    member.fetch(share_acquire_mode=2, note="an unknown mode")


SCENARIOS = (
    acquire_and_acknowledge,
    refused_acknowledgements,
    sessions_of_members,
    unknown_places,
    limits_of_fetches,
)

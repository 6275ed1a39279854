"""Scenarios of the states of share partitions, which brokers keep at share coordinators (KIP-932)."""

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.shares.state_requests import ABSENT, ACKNOWLEDGED, ARCHIVED, AVAILABLE, States
from pybroker.base.uuid_text import uuid_text

__all__ = ["SCENARIOS"]


def states_begin_and_end(talk: Conversation) -> None:
    states = States(talk)
    states.read(0, note="no state")
    states.summarize(0, note="no state")
    states.write((0, 0), 1, note="no state")
    states.delete(note="no state")
    states.begin(1, 5)
    states.summarize(-1)
    states.read(0)
    states.read(3)
    states.read(3, note="again")
    states.read(2, note="an older leader")
    states.read(-1, note="no leader")
    states.summarize(3)
    states.summarize(2, note="an older leader")
    states.begin(1, 7, note="the same epoch")
    states.begin(0, 9, note="an older epoch")
    states.begin(2, -1, note="no start offset")
    states.read(0, note="after the state has begun anew")
    states.begin(0, 0, partition=1)
    states.delete()
    states.delete(note="again")
    states.read(3, note="deleted")
    states.read(0, partition=1)


def states_are_written(talk: Conversation) -> None:
    states = States(talk)
    states.begin(1, 0)
    states.write((1, 0), 0, (0, 4, AVAILABLE, 1), (5, 9, ACKNOWLEDGED, 1), count=5)
    states.read(0)
    states.summarize(0)
    states.write((1, 0), -1, (2, 6, ARCHIVED, 2), note="over parts of two batches")
    states.read(0)
    states.write((1, 0), -1, (7, 7, AVAILABLE, 3), (10, 12, AVAILABLE, 1), (20, 20, ACKNOWLEDGED, 1), version=0)
    states.read(0)
    states.summarize(0)
    states.write((1, 0), 6, count=1, note="the start moves")
    states.read(0)
    states.summarize(0)
    states.write((1, 0), 30, note="the start moves over all batches")
    states.read(0)
    states.write((1, 4), 31, (31, 31, AVAILABLE, 1), note="a newer leader")
    states.read(4)
    states.write((1, 3), 32, note="an older leader")
    states.write((0, 4), 32, note="an older epoch")
    states.write((2, 4), 33, (40, 41, AVAILABLE, 1), note="a newer epoch")
    states.write((-1, -1), 34, note="no epochs")
    states.read(4)
    states.summarize(4)
    states.write((1, 4), -1, (50, 51, AVAILABLE, 1), (50, 51, AVAILABLE, 2), (52, 53, AVAILABLE, 2), note="neighbours")
    states.read(4)


def requests_for_wrong_states(talk: Conversation) -> None:
    states = States(talk)
    absent = [ABSENT]
    states.begin(1, 0)
    states.begin(1, 0, partition=9, note="an absent partition")
    states.begin(1, 0, topics=absent, note="an absent topic")
    states.begin(1, 0, topics=[states.topic, *absent], note="one of two topics is absent")
    states.read(0, partition=9, note="an absent partition")
    states.read(0, topics=absent, note="an absent topic")
    states.write((1, 0), 0, partition=9, note="an absent partition")
    states.write((1, 0), 0, topics=absent, note="an absent topic")
    states.delete(partition=9, note="an absent partition")
    states.delete(topics=absent, note="an absent topic")
    states.summarize(0, partition=9, note="an absent partition")
    for group, note in (("", "no group"), (talk.name("other"), "another group")):
        states.begin(1, 0, group=group, note=note)
        states.read(0, group=group, note=note)
        states.write((1, 0), 0, group=group, note=note)
        states.delete(group=group, note=note)
    states.begin(1, 0, partition=-1, note="a negative partition")
    states.read(0, partition=-1, note="a negative partition")
    topic = uuid_text(states.topic)
    for key in (
        f"{states.group}:{topic}:0",
        f"{states.group}:{topic}:9",
        f"{states.group}:{uuid_text(ABSENT)}:0",
        f"{states.group}:{topic}",
        f"{states.group}:{topic}:x",
        f"{states.group}:no-id:0",
        f":{topic}:0",
        states.group,
        "",
    ):
        states.find(key, note=key.replace(topic, "ID"))


SCENARIOS = (
    states_begin_and_end,
    states_are_written,
    requests_for_wrong_states,
)

"""Scenarios of CreatePartitions, ElectLeaders, AlterPartitionReassignments and ListPartitionReassignments."""

from collections.abc import Mapping, Sequence

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import a_group, a_topic, create, metadata, new_topic
from pybroker.protocol.messages import alter_partition_reassignments as ar
from pybroker.protocol.messages import create_partitions as cp
from pybroker.protocol.messages import elect_leaders as el
from pybroker.protocol.messages import list_partition_reassignments as lr

__all__ = ["SCENARIOS"]

NOBODY = 7
"""No broker has this id."""

# -- CreatePartitions


def more(name: str, count: int, *assignments: Sequence[int]) -> cp.CreatePartitionsTopic:
    """Returns a request. `assignments`: the brokers of each new partition; without them the broker chooses."""
    wished = [cp.CreatePartitionsAssignment(broker_ids=list(broker_ids)) for broker_ids in assignments]
    return cp.CreatePartitionsTopic(name=name, count=count, assignments=wished or None)


def grow(
    *topics: cp.CreatePartitionsTopic, timeout_ms: int = 30_000, validate_only: bool = False
) -> cp.CreatePartitionsRequest:
    return cp.CreatePartitionsRequest(topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only)


def create_partitions_in_every_version(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in range(4):
        talk.ask(grow(more(topic, 2 + version)), version)
        talk.ask(grow(more(topic, 2 + version), more(talk.name("unknown"), 1)), version, note="beside a refused one")
        talk.ask(grow(), version, note="none")
    talk.ask(grow(more(topic, 7, [0], [0])), 3)
    talk.ask(metadata(topic), 9)


def create_partitions_only_to_validate(talk: Conversation) -> None:
    topic = a_topic(talk)
    talk.ask(grow(more(topic, 3), validate_only=True, timeout_ms=0), 3)
    talk.ask(grow(more(topic, 3, [0], [0]), validate_only=True), 3)
    talk.ask(grow(more(topic, 2)), 3)
    talk.ask(metadata(topic), 9)


def create_partitions_with_impossible_counts(talk: Conversation) -> None:
    topic = a_topic(talk, partitions=2)
    for version in range(4):
        for count in (2, 1, 0, -1):
            for validate_only in (False, True):
                request = grow(more(topic, count), validate_only=validate_only)
                talk.ask(request, version, note=f"{count} {validate_only}")


def create_partitions_with_an_assignment(talk: Conversation) -> None:
    topic = a_topic(talk)
    talk.ask(grow(more(topic, 2, [0])), 3)
    for version in range(4):
        for wish in (
            more(topic, 3, [NOBODY]),
            more(topic, 3, [-1]),
            more(topic, 4, [0]),
            more(topic, 3, [0], [0]),
            more(topic, 3, [0, 0]),
            more(topic, 3, [0, NOBODY]),
            more(topic, 3, []),
            cp.CreatePartitionsTopic(name=topic, count=3, assignments=[]),
        ):
            brokers = [each.broker_ids for each in wish.assignments or ()]
            talk.ask(grow(wish), version, note=f"{wish.count} {brokers}")
    talk.ask(metadata(topic), 9)


def create_partitions_of_topics_that_are_not_there(talk: Conversation) -> None:
    for version in range(4):
        for name in (talk.name("unknown"), "", "a b", "a/b", "x" * 250):
            talk.ask(grow(more(name, 3)), version, note=repr(name)[:12])
    talk.ask(grow(*(more(name, 3) for name in (talk.name("unknown"), "a/b", "a b"))), 3)


def create_partitions_of_topics_named_twice(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in range(4):
        talk.ask(grow(more(topic, 2), more(topic, 3), more(talk.name("unknown"), 2)), version)
    talk.ask(grow(more(topic, 2), more(topic, 2)), 3)
    talk.ask(grow(more(topic, 2)), 3)


def create_partitions_of_an_internal_topic(talk: Conversation) -> None:
    """The internal topic has three partitions, whichever scenario created it."""
    a_group(talk)
    talk.ask(grow(more("__consumer_offsets", 1)), 3)
    talk.ask(grow(more("__consumer_offsets", 4), validate_only=True), 3)


def create_partitions_without_waiting(talk: Conversation) -> None:
    """Without a timeout the immediate result is not compared, only that the partitions are created."""
    for timeout_ms in (0, -1):
        topic = a_topic(talk, f"in-{timeout_ms}")
        talk.ask(grow(more(topic, 2), timeout_ms=timeout_ms), 3, see=lambda answer: answer["results"][0]["name"])
        talk.until(metadata(topic), 9, lambda answer: len(answer.topics[0].partitions) == 2)


def topics_come_and_go_between_growths(talk: Conversation) -> None:
    topic = a_topic(talk)
    talk.ask(grow(more(topic, 3)), 3)
    talk.ask(create(new_topic(topic)), 4)
    talk.ask(grow(more(topic, 4)), 3)


# -- ElectLeaders


def elect(
    topics: Mapping[str, Sequence[int]] | None, election_type: int = 0, timeout_ms: int = 30_000
) -> el.ElectLeadersRequest:
    asked = None
    if topics is not None:
        asked = [el.TopicPartitions(topic=name, partitions=list(each)) for name, each in topics.items()]
    return el.ElectLeadersRequest(election_type=election_type, topic_partitions=asked, timeout_ms=timeout_ms)


def elect_leaders_in_every_version(talk: Conversation) -> None:
    topic = a_topic(talk, partitions=2)
    for version in range(3):
        for election_type in (0, 1) if version else (0,):
            note = f"type {election_type}"
            talk.ask(elect({topic: [0, 1]}, election_type), version, note=note)
            talk.ask(elect({topic: [0, 1, 9], talk.name("unknown"): [0]}, election_type), version, note=note)
            talk.ask(elect({topic: []}, election_type), version, note=f"no partition, {note}")
            talk.ask(elect({}, election_type), version, note=f"none, {note}")
            talk.ask(elect({"": [0], "a b": [-1]}, election_type), version, note=f"odd names, {note}")
        talk.ask(elect(None), version, note="all", see=without_partitions)


def without_partitions(answer: Json) -> Json:
    """Removes the partitions, which depend on other scenarios."""
    return {**answer, "replicaElectionResults": "not compared"}


def elect_leaders_in_an_unknown_way(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in (1, 2):
        for election_type in (2, 5, -1):
            talk.ask(elect({topic: [0]}, election_type), version, note=f"type {election_type}")
            talk.ask(elect(None, election_type), version, note=f"all, type {election_type}")


def elect_leaders_without_waiting(talk: Conversation) -> None:
    topic = a_topic(talk)
    for timeout_ms in (0, -1):
        talk.ask(elect({topic: [0, 9]}, timeout_ms=timeout_ms), 2, note=f"{timeout_ms} ms")


# -- reassignments


def reassign(
    *partitions: tuple[str, int, Sequence[int] | None], timeout_ms: int = 30_000
) -> ar.AlterPartitionReassignmentsRequest:
    """Returns a request; partitions are (topic, index, replicas); without replicas a reassignment is cancelled."""
    topics: dict[str, list[ar.ReassignablePartition]] = {}
    for topic, index, replicas in partitions:
        wish = ar.ReassignablePartition(partition_index=index, replicas=None if replicas is None else list(replicas))
        topics.setdefault(topic, []).append(wish)
    asked = [ar.ReassignableTopic(name=topic, partitions=each) for topic, each in topics.items()]
    return ar.AlterPartitionReassignmentsRequest(topics=asked, timeout_ms=timeout_ms)


def reassign_partitions(talk: Conversation) -> None:
    topic, unknown = a_topic(talk, partitions=2), talk.name("unknown")
    for replicas in ([0], [NOBODY], [0, NOBODY], [0, 0], [], [-1], None):
        talk.ask(reassign((topic, 0, replicas)), 0, note=str(replicas))
        talk.ask(reassign((topic, 9, replicas)), 0, note=f"{replicas}, unknown partition")
        talk.ask(reassign((unknown, 0, replicas)), 0, note=f"{replicas}, unknown topic")
    talk.ask(reassign((topic, 9, [0]), (unknown, 0, [0]), (topic, 1, [0])), 0, note="known and unknown ones")
    talk.ask(reassign((topic, 0, [NOBODY]), (topic, 0, [0])), 0, note="twice")
    talk.ask(reassign(("", 0, [0]), ("a b", -1, [0])), 0, note="odd names")
    talk.ask(reassign((a_topic(talk, "other"), 0, [0]), timeout_ms=0), 0, note="without waiting")
    talk.ask(reassign(), 0, note="nothing")
    talk.ask(metadata(topic), 9)


def list_reassignments(talk: Conversation) -> None:
    topic = a_topic(talk)
    talk.ask(lr.ListPartitionReassignmentsRequest(topics=None), 0, note="all")
    asked = [
        lr.ListPartitionReassignmentsTopics(name=name, partition_indexes=[0, 9])
        for name in (topic, talk.name("unknown"), "", "a b")
    ]
    talk.ask(lr.ListPartitionReassignmentsRequest(topics=asked), 0)
    talk.ask(lr.ListPartitionReassignmentsRequest(topics=[]), 0, note="none")


SCENARIOS = [
    create_partitions_in_every_version,
    create_partitions_only_to_validate,
    create_partitions_with_impossible_counts,
    create_partitions_with_an_assignment,
    create_partitions_of_topics_that_are_not_there,
    create_partitions_of_topics_named_twice,
    create_partitions_of_an_internal_topic,
    create_partitions_without_waiting,
    topics_come_and_go_between_growths,
    elect_leaders_in_every_version,
    elect_leaders_in_an_unknown_way,
    elect_leaders_without_waiting,
    reassign_partitions,
    list_reassignments,
]

"""The JSON of ``kafka-reassign-partitions``: plans, topics to move. Pure; errors have Kafka's words."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ...base.command_parser import BAD_INPUT, CommandError
from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from .json_input import array_in, field_of, number_in, object_in, parsed_json, text_in

__all__ = [
    "Assignment",
    "GivenPlan",
    "Replica",
    "assignment_text",
    "checked_assignment",
    "read_brokers",
    "read_plan",
    "read_topics",
]

Assignment = Mapping[TopicPartition, Sequence[int]]
"""The replicas of each partition."""
_ANY = "any"
T = TypeVar("T")


class Replica(NamedTuple):
    """The replica of a partition on a broker. Replicas sort by broker first."""

    broker: int
    at: TopicPartition

    def __str__(self) -> str:
        return f"{self.at}-{self.broker}"


@frozen
class GivenPlan:
    """``partitions``: as they stand in the file, so that one may be there twice. ``directories``: where replicas go."""

    partitions: list[tuple[TopicPartition, list[int]]]
    directories: dict[Replica, str]


def read_plan(text: str) -> GivenPlan:
    """The plan of ``--reassignment-json-file``. Raises CommandError."""
    plan = GivenPlan([], {})
    for row in _rows(parsed_json(text), "partitions"):
        at = TopicPartition(text_in(field_of(row, "topic")), number_in(field_of(row, "partition")))
        replicas = [number_in(each) for each in array_in(field_of(row, "replicas"))]
        directories = [text_in(each) for each in array_in(row["log_dirs"])] if "log_dirs" in row else None
        if directories is not None and len(directories) != len(replicas):
            raise CommandError(
                f"Size of replicas list [{', '.join(map(str, replicas))}] is different from size of log dirs list "
                f"[{', '.join(directories)}] for partition {at}",
                BAD_INPUT,
            )
        plan.partitions.append((at, replicas))
        for broker, directory in zip(replicas, directories or (), strict=False):
            if directory != _ANY:
                plan.directories[Replica(broker, at)] = directory
    return plan


def checked_assignment(plan: GivenPlan) -> dict[TopicPartition, list[int]]:
    """The replicas of each partition. Raises CommandError for a plan that cannot be executed."""
    if not plan.partitions:
        raise CommandError("Partition reassignment list cannot be empty", BAD_INPUT)
    if not all(replicas for _, replicas in plan.partitions):
        raise CommandError("Partition replica list cannot be empty", BAD_INPUT)
    if twice := _twice(at for at, _ in plan.partitions):
        names = ",".join(map(str, twice))
        raise CommandError(f"Partition reassignment contains duplicate topic partitions: {names}", BAD_INPUT)
    found = [(at, _twice(replicas)) for at, replicas in plan.partitions]
    texts = [f"{at} contains multiple entries for {','.join(map(str, brokers))}" for at, brokers in found if brokers]
    if texts:
        raise CommandError(f"Partition replica lists may not contain duplicate entries: {'. '.join(texts)}", BAD_INPUT)
    return dict(plan.partitions)


def read_topics(text: str) -> list[str]:
    """The topics of ``--topics-to-move-json-file``. Raises CommandError."""
    topics = [text_in(field_of(row, "topic")) for row in _rows(parsed_json(text), "topics")]
    if twice := _twice(topics):
        raise CommandError(f"List of topics to reassign contains duplicate entries: [{', '.join(twice)}]", BAD_INPUT)
    return topics


def read_brokers(text: str) -> list[int]:
    """The brokers of ``--broker-list``. Raises CommandError."""
    brokers = []
    for part in text.split(","):
        try:
            brokers.append(int(part))
        except ValueError:
            raise CommandError(f'For input string: "{part}"', BAD_INPUT) from None
    if twice := _twice(brokers):
        raise CommandError(f"Broker list contains duplicate entries: [{', '.join(map(str, twice))}]", BAD_INPUT)
    return brokers


def assignment_text(assignment: Assignment) -> str:
    """The assignment as JSON in one line."""
    rows = [
        {"topic": at.topic, "partition": at.partition, "replicas": list(replicas), "log_dirs": [_ANY] * len(replicas)}
        for at, replicas in sorted(assignment.items())
    ]
    return json.dumps({"version": 1, "partitions": rows}, separators=(",", ":"), ensure_ascii=False)


def _rows(document: Any, name: str) -> list[Mapping[str, Any]]:
    fields = object_in(document)
    version = number_in(fields.get("version", 1))
    if version != 1:
        raise CommandError(f"Not supported version field value {version}", BAD_INPUT)
    return [object_in(row) for row in array_in(fields.get(name, []))]


def _twice(values: Iterable[T]) -> list[T]:
    return [value for value, count in Counter(values).items() if count > 1]

"""Judges from counts whether the cluster is healthy. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from ...views.brokers import Directory
from ...views.cluster import Problem, Severity, Verdict

__all__ = ["LITTLE_SPACE", "CaseCount", "ClusterFacts", "GroupProblem", "judge_cluster"]

LITTLE_SPACE = 0.05
"""The share of free space below which a disk is a problem."""
_MOST_PROBLEMS = 20
_NAMED_IN_TEXT = 3


@dataclass(slots=True)
class CaseCount:
    """How many partitions have a problem, and the first of them."""

    count: int = 0
    first: TopicPartition | None = None

    def add(self, topic: str, partition: int) -> None:
        self.count += 1
        if self.first is None:
            self.first = TopicPartition(topic, partition)


@frozen(kw_only=True)
class GroupProblem:
    """A group with a bad verdict, or with a rebalance that waits. ``text``: about the group, one line."""

    group: str
    kind: str
    severity: Severity
    text: str


@dataclass(slots=True, kw_only=True)
class ClusterFacts:
    """The counts that the verdict is made from. Directories and groups are those of this broker."""

    broker_id: int
    has_controller: bool
    has_test_kit: bool = False
    offline: CaseCount = field(default_factory=CaseCount)
    under_min_isr: CaseCount = field(default_factory=CaseCount)
    under_replicated: CaseCount = field(default_factory=CaseCount)
    directories: Sequence[Directory] = ()
    groups: Sequence[GroupProblem] = ()


def judge_cluster(facts: ClusterFacts) -> Verdict:
    """Return the verdict: trouble before warnings, each in the order of `_problems`."""
    problems = sorted(_problems(facts), key=attrgetter("severity"))  # "trouble" comes before "warning"
    if not problems:
        return Verdict(status="healthy", text="healthy", problems=())
    named = [each.text for each in problems[:_NAMED_IN_TEXT]]
    more = len(problems) - len(named)
    text = ", ".join(named) + (f", and {more} more" if more else "")
    return Verdict(status=problems[0].severity, text=text, problems=tuple(problems[:_MOST_PROBLEMS]))


def _problems(facts: ClusterFacts) -> Iterator[Problem]:
    if facts.has_test_kit:
        yield _problem("trouble", "test_kit", "the test kit is on, so that HTTP clients may break this broker")
    if not facts.has_controller:
        yield _problem("trouble", "no_controller", "no controller is elected")
    yield from _of_partitions("trouble", "offline_partitions", facts.offline, "is offline", "are offline")
    yield from _of_partitions(
        "trouble",
        "under_min_isr",
        facts.under_min_isr,
        "has fewer in-sync replicas than min.insync.replicas",
        "have fewer in-sync replicas than min.insync.replicas",
    )
    for directory in facts.directories:
        yield from _of_directory(facts.broker_id, directory)
    for group in facts.groups:
        yield _problem(group.severity, group.kind, group.text, group=group.group)
    yield from _of_partitions(
        "warning", "under_replicated", facts.under_replicated, "lacks a replica", "lack a replica"
    )


def _of_partitions(severity: Severity, kind: str, cases: CaseCount, one: str, several: str) -> Iterator[Problem]:
    if cases.first is None:
        return
    text = f"partition {cases.first} {one}" if cases.count == 1 else f"{cases.count} partitions {several}"
    yield _problem(severity, kind, text, cases.count, place=cases.first)


def _of_directory(broker_id: int, directory: Directory) -> Iterator[Problem]:
    if not directory.is_online:
        text = f"log directory {directory.path} of broker {broker_id} is offline"
        yield _problem("trouble", "offline_log_directory", text, broker_id=broker_id)
    elif directory.free_bytes is not None and directory.total_bytes:
        share = directory.free_bytes / directory.total_bytes
        if share < LITTLE_SPACE:
            text = f"the disk of {directory.path} of broker {broker_id} has {share:.1%} free"
            yield _problem("warning", "disk_almost_full", text, broker_id=broker_id)


def _problem(
    severity: Severity,
    kind: str,
    text: str,
    count: int = 1,
    *,
    place: TopicPartition | None = None,
    group: str | None = None,
    broker_id: int | None = None,
) -> Problem:
    return Problem(
        severity=severity,
        kind=kind,
        text=text,
        count=count,
        topic=None if place is None else place.topic,
        partition=None if place is None else place.partition,
        group=group,
        broker_id=broker_id,
    )

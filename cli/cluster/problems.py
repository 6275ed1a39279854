"""Finds the problems of a cluster in its metadata. Pure."""

from collections.abc import Iterable, Mapping

from ...protocol.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from ..output.columns import counted
from .shapes import ClusterProblem

__all__ = ["problem", "problems_in"]

_SHOWN = 20


def problems_in(metadata: MetadataResponse, min_isr: Mapping[str, int]) -> list[ClusterProblem]:
    """The problems, the worst first. ``min_isr``: min.insync.replicas by topic; 1 for a topic that is not there.

    A partition is counted once, at its worst problem. A broker that has replicas and is not alive is missing. Since
    Kafka 3.7 a partition needs no more replicas in sync than it has.
    """
    alive = {each.node_id for each in metadata.brokers}
    found = []
    if metadata.controller_id not in alive:
        found.append(problem("no controller", "there is no controller", ()))
    replicas = {replica for topic in metadata.topics for each in topic.partitions for replica in each.replica_nodes}
    if missing := sorted(replicas - alive):
        found.append(_counted("broker missing", "broker", "with replicas not alive", map(str, missing)))
    leaderless, too_few, under = [], [], []
    for topic in sorted(metadata.topics, key=lambda topic: topic.name or ""):
        for each in sorted(topic.partitions, key=lambda each: each.partition_index):
            name = f"{topic.name}-{each.partition_index}"
            if each.leader_id not in alive:
                leaderless.append(name)
            elif len(each.isr_nodes) < min(min_isr.get(topic.name or "", 1), len(each.replica_nodes)):
                too_few.append(name)
            elif len(each.isr_nodes) < len(each.replica_nodes):
                under.append(name)
    if leaderless:
        found.append(_counted("no leader", "partition", "without a leader", leaderless))
    if too_few:
        words = "with fewer replicas in sync than min.insync.replicas: writes with acks=all are refused"
        found.append(_counted("under min ISR", "partition", words, too_few))
    if under:
        behind = sorted(_behind(metadata.topics))
        words = f"with a replica that is not in sync, on broker {', '.join(map(str, behind))}"
        found.append(_counted("under-replicated", "partition", words, under))
    return found


def problem(kind: str, what: str, items: Iterable[str]) -> ClusterProblem:
    """A problem with as many items as are shown."""
    every = tuple(items)
    return ClusterProblem(kind=kind, what=what, items=every[:_SHOWN], count=len(every))  # type: ignore[arg-type]


def _counted(kind: str, noun: str, words: str, items: Iterable[str]) -> ClusterProblem:
    every = tuple(items)
    return problem(kind, f"{counted(len(every), noun)} {words}", every)


def _behind(topics: Iterable[MetadataResponseTopic]) -> set[int]:
    """The brokers that have a replica that is not in sync."""
    partitions: Iterable[MetadataResponsePartition] = (each for topic in topics for each in topic.partitions)
    return {replica for each in partitions for replica in each.replica_nodes if replica not in each.isr_nodes}

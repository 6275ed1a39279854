"""Committed offsets of groups, and where the partitions begin and end.

A partition that cannot be asked gets its reason as text.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.committed_offsets import Committed, committed_in
from ...protocol.errors import ErrorCode, error_for
from ...protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ...protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from ...protocol.sentinels import EARLIEST, LATEST

__all__ = [
    "GONE",
    "READ_COMMITTED",
    "Ends",
    "committed_by",
    "ends_of",
    "leaders_of",
    "offsets_at",
]

GONE = "does not exist"
"""The problem of a partition whose topic was deleted."""
READ_COMMITTED = 1
_READ_UNCOMMITTED = 0
_REQUESTS_UNDER_WAY = 50
_ATTEMPTS = 2


@frozen
class Ends:
    """``start`` and ``end`` are None when ``problem`` tells why they are unknown. ``end``: the high watermark."""

    leader: int | None
    start: int | None
    end: int | None
    problem: str | None = None


def committed_by(
    cluster: AdminCluster,
    coordinator: int,
    groups: Sequence[str],
    partitions: Mapping[str, Sequence[int]] | None = None,
) -> dict[str, dict[TopicPartition, Committed]]:
    """The offsets of many groups of one coordinator. ``partitions``: only these, by topic. Raises KafkaError."""
    connection = cluster.connection_to(coordinator)
    topics = None
    if partitions is not None:
        topics = [
            OffsetFetchRequestTopic(name=topic, partition_indexes=list(numbers))
            for topic, numbers in partitions.items()
        ]
    found: dict[str, dict[TopicPartition, Committed]] = {}
    for start in range(0, len(groups), _REQUESTS_UNDER_WAY):
        some = groups[start : start + _REQUESTS_UNDER_WAY]
        for group in some:
            connection.send(OffsetFetchRequest(group_id=group, topics=topics))
        answers = [connection.receive() for _ in some]
        found |= {group: committed_in(group, answer) for group, answer in zip(some, answers, strict=True)}
    return found


def leaders_of(cluster: AdminCluster, topics: Iterable[str]) -> dict[TopicPartition, int | None]:
    """The leader of each partition of the topics that exist and may be seen; None: there is none."""
    names = sorted(set(topics))
    if not names:
        return {}
    return {
        TopicPartition(topic.name or "", each.partition_index): each.leader_id if each.leader_id >= 0 else None
        for topic in cluster.metadata(names).topics
        for each in topic.partitions
    }


def ends_of(cluster: AdminCluster, places: Iterable[TopicPartition]) -> dict[TopicPartition, Ends]:
    """Where the partitions begin and end."""
    wanted = sorted(set(places))
    leaders = leaders_of(cluster, (at.topic for at in wanted))
    starts, _ = offsets_at(cluster, dict.fromkeys(wanted, EARLIEST))
    ends, problems = offsets_at(cluster, dict.fromkeys(wanted, LATEST))
    return {at: Ends(leaders.get(at), starts.get(at), ends.get(at), problems.get(at)) for at in wanted}


def offsets_at(
    cluster: AdminCluster, timestamps: Mapping[TopicPartition, int], isolation_level: int = _READ_UNCOMMITTED
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, str]]:
    """The first offset of each partition at or after its timestamp, -1 when there is none; and why it is unknown."""
    found: dict[TopicPartition, int] = {}
    problems: dict[TopicPartition, str] = {}
    for _ in range(_ATTEMPTS):  # the second is for leaders that have just moved
        missing = [at for at in timestamps if at not in found]
        if not missing:
            break
        leaders = leaders_of(cluster, (at.topic for at in missing))
        by_leader: dict[int, list[TopicPartition]] = defaultdict(list)
        for at in missing:
            leader = leaders.get(at)
            if leader is not None:
                by_leader[leader].append(at)
            else:
                problems[at] = "has no leader" if at in leaders else GONE
        for leader, asked in by_leader.items():
            request = _request({at: timestamps[at] for at in asked}, isolation_level)
            try:
                answer = cluster.ask_broker(leader, request)
            except OSError as error:
                problems |= dict.fromkeys(asked, f"broker {leader}: {error}")
                continue
            _note(answer, found, problems)
    return found, {at: problem for at, problem in problems.items() if at not in found}


def _request(timestamps: Mapping[TopicPartition, int], isolation_level: int) -> ListOffsetsRequest:
    topics: dict[str, list[ListOffsetsPartition]] = defaultdict(list)
    for at, timestamp in timestamps.items():
        topics[at.topic].append(ListOffsetsPartition(partition_index=at.partition, timestamp=timestamp))
    listed = [ListOffsetsTopic(name=name, partitions=partitions) for name, partitions in topics.items()]
    return ListOffsetsRequest(replica_id=-1, isolation_level=isolation_level, topics=listed)


def _note(answer: Any, found: dict[TopicPartition, int], problems: dict[TopicPartition, str]) -> None:
    for topic in answer.topics:
        for each in topic.partitions:
            at = TopicPartition(topic.name, each.partition_index)
            if each.error_code == ErrorCode.NONE:
                found[at] = each.offset
            else:
                problems[at] = str(error_for(each.error_code))

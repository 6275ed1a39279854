"""Reads what the brokers know of a topic: partitions, settings, idempotent producers, groups that read it.

**Limits.** Kafka has no list of the groups of a topic, so all groups are asked for their offsets in it.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.committed_offsets import Committed
from ...protocol.apis import ApiKey
from ...protocol.errors import KafkaError, error_for
from ...protocol.messages.describe_configs import DescribeConfigsResourceResult
from ...protocol.messages.describe_producers import DescribeProducersRequest, ProducerState, TopicRequest
from ...protocol.sentinels import EARLIEST, LATEST
from ..configs.found_settings import SOURCES, found_settings
from ..configs.resources import NamedResource, ResourceKind
from ..groups.described_groups import DescribedGroup, described_by, listed_groups
from ..groups.group_offsets import offsets_by
from ..groups.group_partitions import lag_in, readers_of
from ..groups.partition_offsets import offsets_at
from ..topics.found_topics import named_topics, partitions_of
from ..topics.shapes import Partition
from ..txns.found_transactions import listed
from .shapes import TopicGroup, TopicValue, WritingProducer
from .topic_rules import DEFAULT, TopicEvidence

__all__ = ["topic_evidence"]

_MOST_PRODUCERS = 1_000


def topic_evidence(cluster: AdminCluster, name: str) -> TopicEvidence:
    """The evidence. Raises CommandError when the topic does not exist."""
    (topic,) = named_topics(cluster, [name])
    partitions = partitions_of(topic)
    problems: list[str] = []
    return TopicEvidence(
        topic=name,
        partitions=partitions,
        alive=frozenset(each.node_id for each in cluster.metadata().brokers),
        settings=_settings(cluster, name, problems),
        producers=_producers(cluster, name, partitions, problems),
        groups=_groups(cluster, name, partitions, problems),
        not_told=tuple(dict.fromkeys(problems)),
        now_ms=time.time() * 1000,
    )


@contextmanager
def _noting(what: str, problems: list[str]) -> Iterator[None]:
    """An error of the body becomes a line among the problems."""
    try:
        yield
    except (KafkaError, OSError) as error:
        problems.append(f"{what}: {error}")


def _settings(cluster: AdminCluster, topic: str, problems: list[str]) -> tuple[TopicValue, ...]:
    resource = NamedResource(ResourceKind.TOPIC, topic)
    found: list[DescribeConfigsResourceResult] = []
    with _noting("settings", problems):
        found = found_settings(cluster, [resource])[resource]
    return tuple(
        TopicValue(name=each.name, value=each.value, source=SOURCES.get(each.config_source, DEFAULT)) for each in found
    )


def _producers(
    cluster: AdminCluster, topic: str, partitions: Sequence[Partition], problems: list[str]
) -> tuple[WritingProducer, ...]:
    """The producers that the leaders know, the last to write first."""
    by_leader: dict[int, list[int]] = defaultdict(list)
    for each in partitions:
        if each.leader is not None:
            by_leader[each.leader].append(each.partition)
    states: dict[int, dict[int, ProducerState]] = defaultdict(dict)
    for leader, numbers in sorted(by_leader.items()):
        with _noting("producers", problems):
            if cluster.connection_to(leader).newest_version(ApiKey.DESCRIBE_PRODUCERS) is None:
                problems.append("producers: the brokers are older than Kafka 2.8")
                continue
            request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=numbers)])
            for found in cluster.ask_broker(leader, request).topics:
                for each in found.partitions:
                    if each.error_code:
                        raise error_for(each.error_code)
                    for state in each.active_producers:
                        states[state.producer_id][each.partition_index] = state
    names = _transactional_ids(cluster, states)
    rows = [_producer(producer_id, names.get(producer_id), by_place) for producer_id, by_place in states.items()]
    return tuple(sorted(rows, key=lambda row: -(row.last_written_ms or 0))[:_MOST_PRODUCERS])


def _producer(producer_id: int, name: str | None, states: Mapping[int, ProducerState]) -> WritingProducer:
    last_ms = max(each.last_timestamp for each in states.values())
    return WritingProducer(
        producer_id=producer_id,
        transactional_id=name,
        partitions=tuple(sorted(states)),
        last_written_ms=last_ms if last_ms >= 0 else None,
        open_partitions=tuple(sorted(at for at, each in states.items() if each.current_txn_start_offset >= 0)),
    )


def _transactional_ids(cluster: AdminCluster, producers: Mapping[int, object]) -> dict[int, str]:
    """The transactional ids of producers, where the cluster tells them (Kafka 3.0 or newer)."""
    if not producers:
        return {}
    try:
        return {each.producer_id: each.transactional_id for each in listed(cluster, (), sorted(producers))}
    except (KafkaError, OSError):
        return {}


def _groups(
    cluster: AdminCluster, topic: str, partitions: Sequence[Partition], problems: list[str]
) -> tuple[TopicGroup, ...]:
    groups, failures = listed_groups(cluster)
    problems += [f"groups: {failure}" for failure in failures]
    by_coordinator: dict[int, list[str]] = defaultdict(list)
    for each in groups:
        by_coordinator[each.coordinator].append(each.group)
    described: dict[str, DescribedGroup] = {}
    committed: dict[str, dict[TopicPartition, Committed]] = {}
    numbers = [each.partition for each in partitions]
    for coordinator, names in by_coordinator.items():
        with _noting("groups", problems):
            found, refused = described_by(cluster, coordinator, names)
            described |= found
            problems += [f"groups: {failure}" for failure in refused]
            types = {group.group: group.group_type for group in found.values()}
            committed |= offsets_by(cluster, coordinator, types, {topic: numbers})
    reading = {name: _members(group, topic) for name, group in described.items()}
    used = sorted(name for name in described if reading[name] or committed.get(name))
    if not used:
        return ()
    places = [TopicPartition(topic, number) for number in numbers]
    starts, _ = offsets_at(cluster, dict.fromkeys(places, EARLIEST))
    ends, _ = offsets_at(cluster, dict.fromkeys(places, LATEST))
    return tuple(_group(described[name], reading[name], committed.get(name, {}), starts, ends) for name in used)


def _members(group: DescribedGroup, topic: str) -> int:
    readers = readers_of(group).items()
    return len({member.member_id for at, members in readers if at.topic == topic for member in members})


def _group(
    group: DescribedGroup,
    members: int,
    committed: Mapping[TopicPartition, Committed],
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> TopicGroup:
    lags = [lag_in(group.group_type, each, starts.get(at), ends.get(at)) for at, each in committed.items()]
    known = [each for each in lags if each is not None]
    return TopicGroup(
        group=group.group,
        state=group.state,
        members=members,
        lag=sum(known) if known else None,
        lost_partitions=tuple(
            at.partition
            for at, each in committed.items()
            if at in starts and at in ends and not starts[at] <= each.offset <= ends[at]
        ),
    )

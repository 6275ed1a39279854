"""The clients of topics: groups with committed offsets, and producers that leaders remember."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.committed_offsets import Committed
from ...protocol.sentinels import EARLIEST, LATEST
from ..groups.described_groups import listed_groups
from ..groups.group_partitions import lag_of
from ..groups.partition_offsets import committed_by, offsets_at
from ..txns.found_transactions import active_producers
from .shapes import TopicConsumer, TopicProducer

__all__ = ["consumers_of", "producers_of"]


def consumers_of(
    cluster: AdminCluster, partitions: Mapping[str, Sequence[int]], failures: list[Exception]
) -> dict[str, tuple[TopicConsumer, ...]]:
    """The groups with offsets in these partitions, by topic. ``failures`` gets the errors of brokers; after an error a
    topic without rows is left out.
    """
    groups, unlisted = listed_groups(cluster)
    failures += unlisted
    names: dict[int, list[str]] = defaultdict(list)
    for each in groups:
        names[each.coordinator].append(each.group)
    committed: dict[str, dict[TopicPartition, Committed]] = {}
    for coordinator, some in names.items():
        committed |= committed_by(cluster, coordinator, some, partitions)
    places = {at for offsets in committed.values() for at in offsets}
    starts, _ = offsets_at(cluster, dict.fromkeys(places, EARLIEST))
    ends, _ = offsets_at(cluster, dict.fromkeys(places, LATEST))
    found: dict[str, list[TopicConsumer]] = {topic: [] for topic in partitions}
    for group, offsets in sorted(committed.items()):
        for at, offset in offsets.items():
            found[at.topic].append(
                TopicConsumer(
                    group=group,
                    partition=at.partition,
                    committed=offset.offset,
                    end=ends.get(at),
                    lag=lag_of(offset.offset, starts.get(at), ends.get(at)),
                )
            )
    return {topic: tuple(rows) for topic, rows in found.items() if rows or not unlisted}


def producers_of(
    cluster: AdminCluster, partitions: Iterable[TopicPartition], failures: list[Exception]
) -> dict[str, tuple[TopicProducer, ...]]:
    """The producers of these partitions, by topic. ``failures`` gets the errors of leaders; a topic is left out when
    no leader answers.
    """
    found: dict[str, list[TopicProducer]] = defaultdict(list)
    for at, producers in sorted(active_producers(cluster, partitions, failures).items()):
        found[at.topic] += [
            TopicProducer(
                partition=at.partition,
                producer_id=each.producer_id,
                producer_epoch=each.producer_epoch,
                last_sequence=_known(each.last_sequence),
                last_written_ms=_known(each.last_timestamp),
                transaction_start=_known(each.current_txn_start_offset),
            )
            for each in sorted(producers, key=lambda each: each.producer_id)
        ]
    return {topic: tuple(rows) for topic, rows in found.items()}


def _known(value: int) -> int | None:
    return None if value < 0 else value

"""Carries the offsets of consumer groups to the target cluster, so that their members can go on there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.client_settings import ClientSettings
from ...client.committed_offsets import committed_offsets
from .offset_map import finished_parts, read_runs, translated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NEWEST = (256, 4096)
"""Parts of the map to read first. Groups are seldom far behind, so that the newest ones are enough."""

Offsets = dict[TopicPartition, int]


def carry_group(
    spark: SparkSession,
    offset_map: str,
    group: str,
    source: ClientSettings,
    target: ClientSettings,
    name: Callable[[str], str],
    is_mirrored: Callable[[str], bool],
) -> int:
    """Commits the offsets of a group at the target where it is behind; returns the number of partitions.

    `name` returns the name of a topic at the target. `is_mirrored` returns whether the map can have a topic: partitions
    that it lacks would be looked for in all of it. Raises KafkaError (also if the group has members at the target),
    ConnectionError.
    """
    with AdminCluster(source) as cluster:
        asked = {at: offset for at, offset in _committed(cluster, group).items() if is_mirrored(at.topic)}
    found = {
        TopicPartition(name(at.topic), at.partition): offset
        for at, offset in translated_by_newest(spark, offset_map, asked).items()
    }
    with AdminCluster(target) as cluster:
        there = _committed(cluster, group)
        ahead = {at: offset for at, offset in found.items() if offset > there.get(at, -1)}
        if ahead:
            cluster.commit(group, ahead)
    return len(ahead)


def translated_by_newest(spark: SparkSession, offset_map: str, asked: Mapping[TopicPartition, int]) -> Offsets:
    """Translates offsets to the target like `translated`, but reads no more of the map than is needed."""
    found: Offsets = {}
    left = dict(asked)
    parts = finished_parts(spark, offset_map) if left else []
    for newest in (*(each for each in _NEWEST if each < len(parts)), len(parts)):
        if not left:
            break
        runs = read_runs(spark, offset_map, parts[-newest:])
        if newest < len(parts):
            first = {
                (row[0], row[1]): row[2] for row in runs.groupBy("topic", "partition").min("source_offset").collect()
            }
            known = {at: offset for at, offset in left.items() if offset >= first.get(at, offset + 1)}
        else:
            known = left
        found |= translated(runs, known)
        left = {at: offset for at, offset in left.items() if at not in known}
    return found


def _committed(cluster: AdminCluster, group: str) -> Offsets:
    return {at: each.offset for at, each in committed_offsets(cluster, group).items()}

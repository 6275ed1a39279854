"""``pybroker explain retention``: why a topic still has old records, by settings, offsets and sizes."""

import time
from collections.abc import Iterator

from ...base.command_parser import CommandParser
from ...base.printable import printable
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.cluster import NO_OFFSET
from ...protocol.errors import KafkaError
from ...protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from ...protocol.messages.metadata import MetadataResponseTopic
from ..configs.found_settings import found_settings
from ..configs.resources import NamedResource, ResourceKind
from ..exit_codes import DONE, UNHEALTHY
from ..output.columns import bytes_text
from ..topics.found_topics import EARLIEST, LATEST, named_topics
from ..verb import Call, Verb
from .retention_rules import explained_retention
from .shapes import RetentionExplanation, RetentionPartition

__all__ = ["RETENTION"]

_HOUR_MS = 3_600_000
"""Clocks may differ by so much before a timestamp counts as one of the future."""
_SETTINGS = ("cleanup.policy", "retention.ms", "retention.bytes", "segment.bytes")


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("topic", metavar="TOPIC", help="a topic")


def _run(call: Call) -> int:
    (topic,) = named_topics(call.cluster, [call.options.topic])
    name = topic.name or ""
    resource = NamedResource(ResourceKind.TOPIC, name)
    values = {each.name: each.value or "" for each in found_settings(call.cluster, [resource], _SETTINGS)[resource]}
    policy = values["cleanup.policy"]
    kept_ms, kept_bytes, segment_bytes = (int(values[each]) for each in _SETTINGS[1:])
    partitions = _partitions(call.cluster, topic, kept_ms)
    view = explained_retention(name, policy, kept_ms, kept_bytes, segment_bytes, partitions)
    call.output.documents([view], _lines, name=lambda each: each.topic)
    return DONE if view.is_healthy else UNHEALTHY


def _partitions(cluster: AdminCluster, topic: MetadataResponseTopic, kept_ms: int) -> list[RetentionPartition]:
    name = topic.name or ""
    places = [TopicPartition(name, each) for each in sorted(each.partition_index for each in topic.partitions)]
    now_ms = round(time.time() * 1000)
    starts = cluster.offsets(dict.fromkeys(places, EARLIEST))
    ends = cluster.offsets(dict.fromkeys(places, LATEST))
    future = cluster.offsets(dict.fromkeys(places, now_ms + _HOUR_MS))
    young = cluster.offsets(dict.fromkeys(places, max(now_ms - kept_ms, 0))) if kept_ms >= 0 else {}
    sizes = _sizes(cluster, topic)
    rows = []
    for at in places:
        first_young = young.get(at)
        if first_young == NO_OFFSET:
            first_young = ends[at]
        rows.append(
            RetentionPartition(
                partition=at.partition,
                start_offset=starts[at],
                end_offset=ends[at],
                expired_records=None if first_young is None else max(first_young - starts[at], 0),
                future_offset=None if future[at] == NO_OFFSET else future[at],
                size=sizes.get(at.partition),
            )
        )
    return rows


def _sizes(cluster: AdminCluster, topic: MetadataResponseTopic) -> dict[int, int]:
    """The size of the leader's replica of each partition; without the right to ask: nothing."""
    sizes: dict[int, int] = {}
    for leader in sorted({each.leader_id for each in topic.partitions}):
        led = [each.partition_index for each in topic.partitions if each.leader_id == leader]
        asked = DescribableLogDirTopic(topic=topic.name or "", partitions=led)
        try:
            response = cluster.ask_broker(leader, DescribeLogDirsRequest(topics=[asked]))
        except KafkaError:
            continue
        for directory in response.results:
            for found in directory.topics:
                sizes |= {
                    each.partition_index: each.partition_size for each in found.partitions if not each.is_future_key
                }
    return sizes


def _lines(view: RetentionExplanation) -> Iterator[str]:
    yield printable(view.text)
    for each in view.findings:
        yield printable(f"  {each.text}")
        yield from (printable(f"    try  {remedy}") for remedy in each.remedies)
    for row in view.partitions:
        size = f", {bytes_text(row.size)}" if row.size is not None else ""
        yield f"  partition {row.partition}: offsets {row.start_offset} to {row.end_offset}{size}"


RETENTION = Verb(
    "retention",
    "say how long a topic keeps records, and why old ones are still there; exits with 10 when something pins them",
    _arguments,
    _run,
    row=RetentionExplanation,
)

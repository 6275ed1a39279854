"""The partitions of a topic that one broker of a cluster leads, and a wait until they change."""

import asyncio
from typing import NamedTuple

from ..base.topic_partition import TopicPartition
from ..broker.apis.broker_parts import BrokerParts
from ..broker.library.inspection.high_watermarks import HighWatermarks
from ..broker.library.inspection.topic_logs import readable_end
from ..replication.partition.hosted_partition import HostedPartition

__all__ = ["LedPartitions", "led_here", "until_changed"]


class LedPartitions(NamedTuple):
    """``total``: the number of all partitions, None without such a topic. ``spans``: by partition, its first offset and
    its readable end."""

    total: int | None
    spans: dict[int, tuple[int, int]]


def led_here(parts: BrokerParts, topic: str, *, committed_only: bool) -> LedPartitions:
    """Return what this broker leads now."""
    spans = {
        each.topic_partition.partition: (each.log.log_start_offset, readable_end(each, committed_only=committed_only))
        for each in _hosted(parts, topic)
    }
    return LedPartitions(parts.cache.partition_count(topic), spans)


async def until_changed(
    parts: BrokerParts, topic: str, seen: LedPartitions | None, limit_s: float, *, committed_only: bool
) -> None:
    """Return when `led_here` is other than ``seen``, or after ``limit_s``."""
    with HighWatermarks(parts.partitions, limit_s) as watch:
        while True:
            for each in _hosted(parts, topic):
                watch.watch(each)
            led = led_here(parts, topic, committed_only=committed_only)
            if led != seen:
                return

            def is_other(led: LedPartitions = led) -> bool:
                now = led_here(parts, topic, committed_only=committed_only)
                return (now.total, now.spans.keys()) != (led.total, led.spans.keys())

            moved = asyncio.ensure_future(watch.moved())
            waited = asyncio.ensure_future(parts.waiters.wait(is_other, int(limit_s * 1000)))
            try:
                await asyncio.wait((moved, waited), return_when=asyncio.FIRST_COMPLETED)
            finally:
                moved.cancel()
                waited.cancel()
            if waited.done() and not waited.cancelled() and not waited.result():
                return


def _hosted(parts: BrokerParts, topic: str) -> list[HostedPartition]:
    found = []
    for index in range(parts.cache.partition_count(topic) or 0):
        hosted = parts.partitions.get(TopicPartition(topic, index))
        if hosted is not None and hosted.partition.leader is not None:
            found.append(hosted)
    return found

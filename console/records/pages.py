"""A page of records from a place on, sorted by time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...base.topic_partition import TopicPartition
from ...client.asynchronous.cluster import AsyncCluster
from ...client.fetching.fetches import MAX_PLAIN_BYTES, Fetched, fetch_request, fetched_in
from ...protocol.errors import KafkaError, error_for
from ...protocol.records.batch import RecordBatch
from ...protocol.records.record import Record, read_records
from .masking import Masks
from .places import Bounds, Place, at_text, bounds_of, offsets_at
from .record_json import IN_LISTS, record_json

_PARTITION_BYTES = 128 << 10
_RESPONSE_BYTES = 4 << 20
_MAX_ROUNDS = 16


class Read(NamedTuple):
    """A record with its batch, and what may be shown of its value."""

    partition: int
    batch: RecordBatch
    record: Record
    value: bytes | None

    def order(self) -> tuple[int, int, int]:
        """Records are sorted by this."""
        return self.record.timestamp_ms, self.partition, self.record.offset

    def as_json(self, topic: str) -> dict[str, Any]:
        """The record in the form of lists."""
        return record_json(topic, self.partition, self.batch, self.record, self.value, IN_LISTS)


@dataclass(slots=True)
class _Progress:
    """The records of one partition that were read. The next fetch begins at `position`."""

    position: int
    end: int
    records: list[Read] = field(default_factory=list)

    def is_done(self, limit: int) -> bool:
        return self.position >= self.end or len(self.records) >= limit


async def page_of(
    cluster: AsyncCluster, topic: str, partitions: list[int], place: Place, limit: int, masks: Masks
) -> dict[str, Any]:
    """Returns `{"records", "next", "previous", "ends"}`."""
    bounds = await bounds_of(cluster, topic, partitions)
    starts = await offsets_at(cluster, topic, place, bounds)
    progress = {partition: _Progress(starts[partition], bounds[partition].end) for partition in bounds}
    is_last = place.kind == "last"
    await _read(cluster, topic, progress, place.number if is_last else limit, masks)
    found = sorted((each for part in progress.values() for each in part.records), key=Read.order)
    shown = found[-min(limit, place.number) :] if is_last else found[:limit]
    first, after = _edges(shown, starts, bounds, is_last=is_last)
    step = -(-limit // max(1, len(bounds)))
    earlier = {partition: max(bounds[partition].start, offset - step) for partition, offset in first.items()}
    has_more = any(after[partition] < bound.end for partition, bound in bounds.items())
    has_earlier = any(first[partition] > bound.start for partition, bound in bounds.items())
    return {
        "records": [each.as_json(topic) for each in shown],
        "next": at_text(after) if has_more else None,
        "previous": at_text(earlier) if has_earlier else None,
        "ends": {str(partition): {"start": bound.start, "end": bound.end} for partition, bound in bounds.items()},
    }


def _edges(
    shown: list[Read], starts: Mapping[int, int], bounds: Mapping[int, Bounds], *, is_last: bool
) -> tuple[dict[int, int], dict[int, int]]:
    """The first offset of each partition that the page shows, and the one behind its last."""
    first = {partition: bounds[partition].end if is_last else starts[partition] for partition in bounds}
    after = {partition: bounds[partition].end if is_last else starts[partition] for partition in bounds}
    seen = set()
    for each in shown:
        if is_last and each.partition not in seen:
            seen.add(each.partition)
            first[each.partition] = each.record.offset
        if not is_last:
            after[each.partition] = max(after[each.partition], each.record.offset + 1)
    return first, after


async def _read(cluster: AsyncCluster, topic: str, progress: dict[int, _Progress], limit: int, masks: Masks) -> None:
    for _ in range(_MAX_ROUNDS):
        waiting = [TopicPartition(topic, each) for each, part in progress.items() if not part.is_done(limit)]
        if not waiting:
            return
        led = await cluster.leaders(waiting)
        asked = []
        for leader, led_here in led.items():
            positions = {at: progress[at.partition].position for at in led_here}
            request = fetch_request(positions, partition_bytes=_PARTITION_BYTES, max_bytes=_RESPONSE_BYTES)
            asked.append(cluster.ask_broker(leader, request))
        for response in await asyncio.gather(*asked):
            parts = fetched_in(response)
            is_full = any(fetched.records for fetched in parts)
            for fetched in parts:
                if fetched.error_code:
                    raise error_for(fetched.error_code, f"{fetched.at} cannot be read")
                if is_full and not fetched.records:
                    continue  # the others filled the response
                await asyncio.to_thread(_take, fetched, progress[fetched.at.partition], limit, masks)


def _take(fetched: Fetched, part: _Progress, limit: int, masks: Masks) -> None:
    """Add the records of a response. A broken batch is skipped, because the records behind it can be read."""
    partition, began = fetched.at.partition, part.position
    for batch in fetched.batches():
        try:
            for record in read_records(batch, MAX_PLAIN_BYTES):
                if part.position <= record.offset < part.end and not part.is_done(limit):
                    part.records.append(Read(partition, batch, record, masks.masked(record.value)))
                    part.position = record.offset + 1
        except KafkaError:
            pass
        if part.is_done(limit):
            return
        part.position = max(part.position, batch.next_offset)
    if part.position == began:
        part.position = part.end  # nothing came although there should be records: they were compacted

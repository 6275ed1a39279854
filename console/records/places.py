"""Places in a topic: `earliest`, `latest`, `-100`, `offset:5`, `time:2026-11-25T08:00`, `at:0=5,2=90`."""

from __future__ import annotations

from collections.abc import Mapping

from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from ...client.asynchronous.cluster import AsyncCluster
from ...client.record_filter.syntax import time_ms_of
from ...protocol.sentinels import EARLIEST, LATEST
from ..http.replies import HttpProblem

MAX_PARTITIONS = 256
_MAX_LAST = 10_000
_MAX_OFFSET = (1 << 63) - 1


@frozen
class Place:
    """`kind`: earliest, latest, last, offset, time or at. `number`: of last, offset and time. `offsets`: of at."""

    kind: str
    number: int = 0
    offsets: tuple[tuple[int, int], ...] = ()


@frozen
class Bounds:
    """The first offset of a partition's log, and the one behind its last."""

    start: int
    end: int


def parse_place(text: str) -> Place:
    """Raises HttpProblem."""
    kind, colon, rest = text.partition(":")
    if text in ("earliest", "latest"):
        return Place(text)
    if text.startswith("-") and _is_number(text[1:]) and 1 <= int(text[1:]) <= _MAX_LAST:
        return Place("last", int(text[1:]))
    if colon and kind == "offset" and _is_number(rest):
        return Place("offset", int(rest))
    if colon and kind == "time":
        time_ms = int(rest) if _is_number(rest) else time_ms_of(rest)
        if time_ms is not None and time_ms >= 0:
            return Place("time", time_ms)
    if colon and kind == "at":
        pairs = [pair.split("=") for pair in rest.split(",")]
        if len(pairs) <= MAX_PARTITIONS and all(len(pair) == 2 and all(map(_is_number, pair)) for pair in pairs):
            return Place("at", 0, tuple((int(partition), int(offset)) for partition, offset in pairs))
    raise HttpProblem(
        400, "a place is earliest, latest, -100 (the last 100), offset:5, time:2026-11-25T08:00, or at:0=5,1=7"
    )


def at_text(offsets: Mapping[int, int]) -> str | None:
    """Returns a place with an offset for each partition; None without partitions."""
    pairs = ",".join(f"{partition}={offset}" for partition, offset in sorted(offsets.items()))
    return f"at:{pairs}" if pairs else None


def parse_partitions(text: str | None, there: list[int]) -> list[int]:
    """Returns the chosen partitions, all if `text` is None. Raises HttpProblem."""
    if text is None or text in ("", "all"):
        return there[:MAX_PARTITIONS]
    parts = text.split(",")
    if len(parts) > MAX_PARTITIONS or not all(map(_is_number, parts)):
        raise HttpProblem(400, f"partitions are numbers with commas, at most {MAX_PARTITIONS}")
    chosen = sorted({int(part) for part in parts})
    missing = [partition for partition in chosen if partition not in there]
    if missing:
        raise HttpProblem(404, f"there is no partition {missing[0]}", "UNKNOWN_TOPIC_OR_PARTITION")
    return chosen


async def bounds_of(cluster: AsyncCluster, topic: str, partitions: list[int]) -> dict[int, Bounds]:
    """Start and end of each partition; partitions without a leader are left out."""
    asked = [TopicPartition(topic, partition) for partition in partitions]
    starts = await cluster.offsets(dict.fromkeys(asked, EARLIEST), partial=True)
    ends = await cluster.offsets(dict.fromkeys(asked, LATEST), partial=True)
    if asked and not ends:
        await cluster.offsets(dict.fromkeys(asked, LATEST))  # raises what is wrong with all of them
    return {at.partition: Bounds(starts[at], max(ends[at], starts[at])) for at in asked if at in starts and at in ends}


async def offsets_at(cluster: AsyncCluster, topic: str, place: Place, bounds: Mapping[int, Bounds]) -> dict[int, int]:
    """The offset of a place in each partition, within its bounds."""
    if place.kind == "time":
        asked = dict.fromkeys((TopicPartition(topic, partition) for partition in bounds), place.number)
        found = await cluster.offsets(asked, partial=True)
        wanted = {at.partition: offset for at, offset in found.items() if offset >= 0}
    elif place.kind == "offset":
        wanted = dict.fromkeys(bounds, place.number)
    elif place.kind == "at":
        wanted = dict(place.offsets)
    elif place.kind == "last":
        wanted = {partition: bound.end - place.number for partition, bound in bounds.items()}
    else:
        wanted = {} if place.kind == "latest" else dict.fromkeys(bounds, 0)
    return {
        partition: max(bound.start, min(wanted.get(partition, bound.end), bound.end))
        for partition, bound in bounds.items()
    }


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= _MAX_OFFSET

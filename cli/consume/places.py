"""Where reading begins and ends: ``start``, ``end``, ``-10``, ``500``, ``@2026-11-25T08:00``, ``@-15m``, ``+100``."""

import re
import time
from collections.abc import Callable, Iterable, Mapping

from ...base.command_parser import BAD_INPUT, CommandError
from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.cluster import NO_OFFSET
from ...client.fetching.partition_reader import NO_END
from ...client.record_filter.syntax import time_ms_of
from ...protocol.sentinels import EARLIEST, LATEST
from ..exit_codes import NOT_THERE
from ..topics.found_topics import named_topics
from .last_records import starts_of_last

__all__ = ["Place", "chosen_partitions", "ends_of", "parse_start", "parse_until", "starts_of"]

_PARTITIONS = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?")
_OFFSET = re.compile(r"\d{1,18}")
_AGO = re.compile(r"-(\d{1,9})(ms|s|m|h|d)")
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_NAMED = 3
"""A line names so many partitions."""
_START = "must be start, end, an offset, -10 (the last 10), or @TIME such as @2026-11-25T08:00 or @-15m"
_UNTIL = "must be end, +10 (10 offsets further), or @TIME such as @2026-11-25T08:00 or @-15m"


@frozen
class Place:
    """`kind`: start, end, last, offset, time or further. `number`: the count, offset or time in ms."""

    kind: str
    number: int = 0


def parse_start(text: str) -> Place:
    """The place of ``--offset``. Raises CommandError."""
    if text in ("start", "beginning", "earliest"):
        return Place("start")
    if text in ("end", "latest"):
        return Place("end")
    if text.startswith("@"):
        return Place("time", _time_ms(text, "--offset", _START))
    if _OFFSET.fullmatch(text.removeprefix("-")):
        return Place("last", -int(text)) if text.startswith("-") else Place("offset", int(text))
    raise CommandError(f"--offset {text}: {_START}", BAD_INPUT)


def parse_until(text: str) -> Place:
    """The place of ``--until``. Raises CommandError."""
    if text in ("end", "latest"):
        return Place("end")
    if text.startswith("@"):
        return Place("time", _time_ms(text, "--until", _UNTIL))
    if text.startswith("+") and _OFFSET.fullmatch(text[1:]):
        return Place("further", int(text[1:]))
    raise CommandError(f"--until {text}: {_UNTIL}", BAD_INPUT)


def chosen_partitions(cluster: AdminCluster, texts: Iterable[str]) -> list[TopicPartition]:
    """The partitions of ``T``, ``T:P`` and ``T:P-P``. Raises CommandError."""
    wanted = []
    for text in texts:
        topic, colon, partitions = text.partition(":")
        found = _PARTITIONS.fullmatch(partitions)
        if not topic or (colon and not found):
            raise CommandError(f"{text}: must be TOPIC, TOPIC:PARTITION or TOPIC:FIRST-LAST", BAD_INPUT)
        wanted.append((topic, None if found is None else range(int(found[1]), int(found[2] or found[1]) + 1)))
    chosen = []
    for (topic, asked), known in zip(wanted, named_topics(cluster, [topic for topic, _ in wanted]), strict=True):
        there = sorted(each.partition_index for each in known.partitions)
        if asked is not None and (not asked or asked[0] not in there or asked[-1] not in there):
            last = there[-1] if there else "none"
            raise CommandError(
                f"topic {topic} has no partitions {asked.start}-{asked.stop - 1}; last: {last}", NOT_THERE
            )
        chosen += [TopicPartition(topic, each) for each in (there if asked is None else asked)]
    return list(dict.fromkeys(chosen))


def starts_of(
    cluster: AdminCluster,
    partitions: Iterable[TopicPartition],
    place: Place,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[TopicPartition, int]:
    """The first offset to read in each partition; it is within the partition's log.

    ``tell`` gets a line about an offset that is outside of logs.
    """
    partitions = list(partitions)
    firsts = cluster.offsets(dict.fromkeys(partitions, EARLIEST))
    if place.kind == "start":
        return firsts
    lasts = cluster.offsets(dict.fromkeys(partitions, LATEST))
    if place.kind == "time":
        wanted: Mapping[TopicPartition, int] = _at_time(cluster, partitions, place.number, lasts)
    elif place.kind == "last":
        return starts_of_last(cluster, firsts, lasts, place.number, tell)
    elif place.kind == "offset":
        wanted = dict.fromkeys(partitions, place.number)
        _tell_outside(place.number, firsts, lasts, tell)
    else:
        wanted = lasts
    return {at: max(firsts[at], min(wanted[at], lasts[at])) for at in partitions}


def _tell_outside(
    offset: int, firsts: Mapping[TopicPartition, int], lasts: Mapping[TopicPartition, int], tell: Callable[[str], None]
) -> None:
    outside = [f"{at} ({firsts[at]} to {last})" for at, last in lasts.items() if not firsts[at] <= offset <= last]
    if outside:
        more = f" and {len(outside) - _NAMED:,} more" if len(outside) > _NAMED else ""
        named = ", ".join(outside[:_NAMED])
        tell(f"offset {offset} is out of range in {named}{more}; reading begins at the nearest offset that is there")


def ends_of(
    cluster: AdminCluster, starts: Mapping[TopicPartition, int], place: Place | None
) -> dict[TopicPartition, int]:
    """The offset behind the last to read in each partition; NO_END without a place."""
    if place is None:
        return dict.fromkeys(starts, NO_END)
    if place.kind == "further":
        return {at: min(start + place.number, NO_END) for at, start in starts.items()}
    lasts = cluster.offsets(dict.fromkeys(starts, LATEST))
    return lasts if place.kind == "end" else _at_time(cluster, list(starts), place.number, lasts)


def _at_time(
    cluster: AdminCluster, partitions: list[TopicPartition], time_ms: int, lasts: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    found = cluster.offsets(dict.fromkeys(partitions, time_ms))
    return {at: lasts[at] if offset == NO_OFFSET else offset for at, offset in found.items()}


def _time_ms(text: str, option: str, allowed: str) -> int:
    rest = text[1:]
    if ago := _AGO.fullmatch(rest):
        return max(0, time.time_ns() // 1_000_000 - int(ago[1]) * _UNIT_MS[ago[2]])
    if _OFFSET.fullmatch(rest):
        return int(rest)
    found = time_ms_of(rest)
    if found is None or found < 0:
        raise CommandError(f"{option} {text}: {allowed}", BAD_INPUT)
    return found

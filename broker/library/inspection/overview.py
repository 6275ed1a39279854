"""The state of a running broker in lines of text: topics with offsets, groups with lag and last events.

Names come from clients, so control characters are escaped; each list and each line has a bound.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from ....base.printable import printable
from ....base.topic_partition import TopicPartition
from ...apis.broker_parts import BrokerParts
from ...coordinator.group.base import GroupBase
from ...coordinator.group.timeline import GroupEvent

__all__ = [
    "clock_text",
    "events_text",
    "group_lines",
    "joined_topic_lines",
    "lag_of_group",
    "led_partitions",
    "line",
    "topic_lines",
]

_MOST_LINES = 60
_MOST_PARTITIONS = 300
_MOST_EVENTS = 8
_LONGEST_LINE = 240


def line(text: str) -> str:
    """Return the text as one line that can be printed, cut to 240 characters."""
    text = printable(text)
    return text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 1] + "\N{HORIZONTAL ELLIPSIS}"


def clock_text(time_ms: int) -> str:
    """Return the time of day, in local time with milliseconds."""
    return f"{time.strftime('%H:%M:%S', time.localtime(time_ms / 1000))}.{time_ms % 1000:03d}"


def topic_lines(parts: BrokerParts) -> list[str]:
    """Return a line for each partition, internal topics last and only where they have records."""
    return joined_topic_lines([led_partitions(parts)])


def led_partitions(parts: BrokerParts) -> dict[TopicPartition, str]:
    """Return the offsets of the first 300 partitions as this broker knows them, internal topics last.

    The text is empty for a partition that another broker leads, or none.
    """
    return {at: _offsets_text(parts, at) for at in islice(_partitions(parts), _MOST_PARTITIONS)}


def joined_topic_lines(of_brokers: Iterable[Mapping[TopicPartition, str]]) -> list[str]:
    """Return a line for each partition from what `led_partitions` returned on each broker of a cluster."""
    texts: dict[TopicPartition, str] = {}
    for found in of_brokers:
        for at, text in found.items():
            texts[at] = text or texts.get(at, "")
    shown = {at: text for at, text in texts.items() if not (at.topic.startswith("__") and _is_empty(text))}
    return _bounded(
        f"{at}: {shown[at] or 'led by no broker that answered'}" for at in sorted(shown, key=_internal_last)
    )


def _partitions(parts: BrokerParts) -> Iterator[TopicPartition]:
    for topic in sorted(parts.cache.topics, key=lambda name: (name.startswith("__"), name)):
        for index in range(parts.cache.partition_count(topic) or 0):
            yield TopicPartition(topic, index)


def _internal_last(at: TopicPartition) -> tuple[bool, TopicPartition]:
    return at.topic.startswith("__"), at


def _is_empty(text: str) -> bool:
    return text in ("", "offsets 0 to 0")


def _offsets_text(parts: BrokerParts, at: TopicPartition) -> str:
    hosted = parts.partitions.get(at)
    if hosted is None or hosted.partition.leader is None:
        return ""
    log, high_watermark = hosted.log, hosted.partition.high_watermark
    held = "" if log.log_end_offset == high_watermark else f" (committed to {high_watermark})"
    return f"offsets {log.log_start_offset} to {log.log_end_offset}{held}"


def group_lines(parts: BrokerParts) -> list[str]:
    """Return the groups that this broker coordinates: state, members, lag of each partition, last events."""
    groups = sorted(parts.coordinators.groups.registry.groups(), key=lambda group: group.group_id)
    return _bounded(text for group in groups for text in _lines_of_group(parts, group))


def _lines_of_group(parts: BrokerParts, group: GroupBase) -> Iterator[str]:
    members = ", ".join(islice(group.client_ids(), _MOST_EVENTS))
    yield f"{group.group_id}: {group.state_name}, generation {group.generation_id}, {group.member_count} members"
    if members:
        yield f"    members: {members}"
    for at, record in sorted(group.offsets.committed.items())[:_MOST_LINES]:
        yield f"    {at}: committed {record.value.offset}, {_lag_text(parts, at, record.value.offset)}"
    for event in group.timeline.events()[-_MOST_EVENTS:]:
        yield f"    {_event_text(event)}"


def _lag_text(parts: BrokerParts, at: TopicPartition, committed: int) -> str:
    lag = _lag_of(parts, at, committed)
    return "lag unknown" if lag is None else f"lag {lag}"


def _lag_of(parts: BrokerParts, at: TopicPartition, committed: int) -> int | None:
    """Return the records from the committed offset to the high watermark; None when the partition is not here."""
    hosted = parts.partitions.get(at)
    if hosted is None:
        return None
    return max(hosted.partition.high_watermark - max(committed, hosted.log.log_start_offset), 0)


def lag_of_group(parts: BrokerParts, group_id: str, topic: str | None) -> int:
    """Return how many records the group has not read, by its committed offsets. Raises LookupError without any."""
    group = parts.coordinators.groups.registry.get(group_id)
    committed = {} if group is None else group.offsets.committed
    lags = [
        _lag_of(parts, at, record.value.offset)
        for at, record in committed.items()
        if topic is None or at.topic == topic
    ]
    known = [lag for lag in lags if lag is not None]
    if not known:
        where = "" if topic is None else f" for topic {topic!r}"
        raise LookupError(f"group {group_id!r} has committed no offsets{where}")
    return sum(known)


def events_text(group: GroupBase) -> str:
    """Return the last events of a group in one line."""
    return line("; ".join(_event_text(event) for event in group.timeline.events()[-_MOST_EVENTS:]) or "none")


def _event_text(event: GroupEvent) -> str:
    text = f"{clock_text(event.time_ms)} {event.kind.value}: {event.text}"
    if event.times > 1:
        text += f" ({event.times} times)"
    course = event.course
    if course is None:
        return text
    if course.outcome is None:
        return f"{text} (not over)"
    waited = "" if course.waited_for is None else f", waited {course.waited_ms} ms for {course.waited_for.client_id}"
    return f"{text} ({course.outcome.value} after {course.duration_ms} ms{waited})"


def _bounded(lines: Iterator[str]) -> list[str]:
    found: list[str] = []
    for text in lines:
        if len(found) == _MOST_LINES:
            found.append("\N{HORIZONTAL ELLIPSIS} more lines are left out")
            break
        found.append(line(text))
    return found

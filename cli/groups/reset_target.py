"""Reads where a group is to continue (``--to``) and which partitions are meant (``--topics``). Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from ...base.command_parser import BAD_INPUT, CommandError
from ...base.topic_partition import TopicPartition
from ...protocol.sentinels import EARLIEST, LATEST
from .describe_groups import ranges
from .lag_bound import seconds_in

__all__ = ["ResetTarget", "clamped", "reset_target", "selected_partitions", "topics_in"]

_MAX_OFFSET = (1 << 63) - 1
_NUMBER = re.compile(r"[+-]?\d{1,19}")
_PARTITIONS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class ResetTarget:
    """One of the three is given. ``timestamp``: in milliseconds, or EARLIEST or LATEST."""

    timestamp: int | None = None
    offset: int | None = None
    shift: int | None = None


def reset_target(text: str, now_ms: int) -> ResetTarget | None:
    """Where to continue; None when the text is neither a word, a number nor a time, so it must be a file.

    Raises CommandError for a number that is no offset.
    """
    if text == "earliest":
        return ResetTarget(timestamp=EARLIEST)
    if text == "latest":
        return ResetTarget(timestamp=LATEST)
    if _NUMBER.fullmatch(text):
        number = int(text)
        if abs(number) > _MAX_OFFSET:
            raise CommandError(f"--to {text}: no offset is so large", BAD_INPUT)
        return ResetTarget(shift=number) if text[0] in "+-" else ResetTarget(offset=number)
    if text.startswith("@") and text[1:].isascii() and text[1:].isdigit() and len(text) <= 19:
        return ResetTarget(timestamp=int(text[1:]))
    ago_s = seconds_in(text)
    if ago_s is not None:
        return ResetTarget(timestamp=max(0, now_ms - round(ago_s * 1000)))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return ResetTarget(timestamp=max(0, round(moment.timestamp() * 1000)))


def selected_partitions(text: str, there: Iterable[TopicPartition]) -> list[TopicPartition]:
    """The partitions that ``a:0-3,b`` names: some of ``a``, all of ``b``. Raises CommandError for a missing one."""
    known: dict[str, set[int]] = {}
    for at in there:
        known.setdefault(at.topic, set()).add(at.partition)
    chosen: set[TopicPartition] = set()
    for item in text.split(","):
        topic, colon, numbers = item.strip().partition(":")
        if topic not in known:
            raise CommandError(f"--topics {item.strip()}: there is no topic {topic}", BAD_INPUT)
        partitions = _numbers(item.strip(), numbers, known[topic]) if colon else known[topic]
        chosen |= {TopicPartition(topic, number) for number in partitions}
    return sorted(chosen)


def topics_in(text: str) -> list[str]:
    """The topics that a selection names."""
    return [item.strip().partition(":")[0] for item in text.split(",")]


def _numbers(item: str, text: str, known: set[int]) -> set[int]:
    matched = _PARTITIONS.fullmatch(text)
    if matched is None:
        raise CommandError(f"--topics {item}: write TOPIC, TOPIC:PARTITION or TOPIC:FIRST-LAST", BAD_INPUT)
    first, last = int(matched[1]), int(matched[2] or matched[1])
    missing = [number for number in (first, last) if number not in known]
    if missing or first > last:
        raise CommandError(f"--topics {item}: the partitions are {ranges(sorted(known))}", BAD_INPUT)
    return set(range(first, last + 1))


def clamped(offset: int, start: int, end: int) -> tuple[int, str | None]:
    """The offset in the log that is nearest to the one wanted, and what was done to it."""
    if offset < start:
        return start, f"{offset} is below the start"
    return (end, f"{offset} is above the end") if offset > end else (offset, None)

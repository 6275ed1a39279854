"""Reads where a group is to continue (``--to``) and which partitions are meant (``--topics``). Pure."""

import re
import time
from collections.abc import Callable, Iterable

from ...base.command_parser import BAD_INPUT, CommandError
from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from ...protocol.sentinels import EARLIEST, LATEST
from ..reading.moments import moment_ms
from ..reading.partitions import TopicPart, topic_part
from .number_ranges import ranges

__all__ = ["ResetTarget", "clamped", "reset_target", "selected_partitions", "topics_in"]

_MAX_OFFSET = (1 << 63) - 1
_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")


@frozen
class ResetTarget:
    """One of the three is given. ``timestamp``: in milliseconds, or EARLIEST or LATEST."""

    timestamp: int | None = None
    offset: int | None = None
    shift: int | None = None


def reset_target(text: str, clock: Callable[[], float] = time.time) -> ResetTarget | None:
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
    try:
        return ResetTarget(timestamp=max(0, moment_ms(text, clock)))
    except CommandError:
        return None


def selected_partitions(text: str, there: Iterable[TopicPartition]) -> list[TopicPartition]:
    """The partitions that ``a:0-3,b`` names: some of ``a``, all of ``b``. Raises CommandError for a missing one."""
    known: dict[str, set[int]] = {}
    for at in there:
        known.setdefault(at.topic, set()).add(at.partition)
    chosen: set[TopicPartition] = set()
    for part in _parts(text):
        if part.topic not in known:
            raise CommandError(f"--topics {text}: there is no topic {part.topic}", BAD_INPUT)
        numbers = known[part.topic] if part.partitions is None else part.partitions
        if not numbers <= known[part.topic]:
            raise CommandError(
                f"--topics {text}: the partitions of {part.topic} are {ranges(sorted(known[part.topic]))}", BAD_INPUT
            )
        chosen |= {TopicPartition(part.topic, number) for number in numbers}
    return sorted(chosen)


def topics_in(text: str) -> list[str]:
    """The topics that a selection names."""
    return [part.topic for part in _parts(text)]


def _parts(text: str) -> list[TopicPart]:
    return [topic_part(item.strip()) for item in text.split(",")]


def clamped(offset: int, start: int, end: int) -> tuple[int, str | None]:
    """The offset in the log that is nearest to the one wanted, and what was done to it."""
    if offset < start:
        return start, f"{offset} is below the start"
    return (end, f"{offset} is above the end") if offset > end else (offset, None)

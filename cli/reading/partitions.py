"""Partitions as ``TOPIC``, ``TOPIC:3`` or ``TOPIC:0-3,7``."""

import re
from typing import NamedTuple

from ...base.command_parser import BAD_INPUT, CommandError

__all__ = ["TopicPart", "topic_part"]

_PARTS = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7}))?", re.ASCII)
_MOST = 1_000_000


class TopicPart(NamedTuple):
    """Some partitions of a topic; None: all."""

    topic: str
    partitions: frozenset[int] | None

    def __contains__(self, partition: object) -> bool:
        return self.partitions is None or partition in self.partitions


def topic_part(text: str) -> TopicPart:
    """Return the partitions that the text names. Raises CommandError."""
    topic, colon, parts = text.partition(":")
    if not colon:
        return TopicPart(topic, None)
    numbers: set[int] = set()
    for part in parts.split(","):
        found = _PARTS.fullmatch(part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if not first <= last < _MOST:
            raise CommandError(f"{text}: must be TOPIC, TOPIC:PARTITION or TOPIC:FIRST-LAST", BAD_INPUT)
        numbers.update(range(first, last + 1))
    return TopicPart(topic, frozenset(numbers))

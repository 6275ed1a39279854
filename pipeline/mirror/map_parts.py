"""The parts of a map of offsets: directories with the runs of one micro-batch, or of several that were merged.

batch=<20 digits>              one micro-batch
batch=<20 digits>-<20 digits>  all micro-batches between the two, inclusive; readers ignore the parts it was made of

**Why**: each micro-batch adds a part, and a reader opens every part. **How**: WIDTH parts of similar size become one,
so that a map has few parts of each size, and each run is written again only a few times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

WIDTH = 16
_MOST_MERGED = 4096
"""Parts merged at once: a map that was never merged catches up within a few micro-batches."""
_NAME = re.compile(r"batch=(\d{20})(?:-(\d{20}))?")


class MapPart(NamedTuple):
    """The part with the micro-batches `first` to `last`."""

    first: int
    last: int

    @property
    def name(self) -> str:
        return f"batch={self.first:020d}" + (f"-{self.last:020d}" if self.last > self.first else "")

    @property
    def level(self) -> int:
        """How often WIDTH parts became one."""
        level, span = 0, self.last - self.first + 1
        while span >= WIDTH:
            level, span = level + 1, span // WIDTH
        return level


def parts_named(names: Iterable[str]) -> list[MapPart]:
    """Returns the parts with these names of directories, oldest first; a merged part before those it was made of."""
    found = [MapPart(int(match[1]), int(match[2] or match[1])) for name in names if (match := _NAME.fullmatch(name))]
    return sorted(found, key=lambda part: (part.first, -part.last))


def current_parts(parts: Iterable[MapPart]) -> list[MapPart]:
    """Returns the parts that are not in a merged one. `parts`: ordered like those of `parts_named`."""
    found: list[MapPart] = []
    for part in parts:
        if not found or part.last > found[-1].last:
            found.append(part)
    return found


def next_merges(parts: Sequence[MapPart], before: int) -> Iterator[list[MapPart]]:
    """Yields current parts that should become one. `before`: a micro-batch that may be written again, and its
    successors, are not merged.
    """
    for _, group in groupby((part for part in parts if part.last < before), key=lambda part: part.level):
        if len(found := list(group)) >= WIDTH:
            yield found[:_MOST_MERGED]


def merged_part(parts: Sequence[MapPart]) -> MapPart:
    """Returns the part that holds the runs of these parts."""
    return MapPart(parts[0].first, parts[-1].last)

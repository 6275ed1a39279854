"""The sources of samples, by series.

**How.** A part of the broker adds, for a row of the table, a function that reads the samples from the part's state. The
function runs at each scrape, on the event loop. If it is a generator, the scrape advances it in slices with other work
of the loop between them; so it iterates over a copy (``list(…)``) of a collection that may change. A slice may end
after each step. A step yields a sample, many of them as `Lines`, or None where there is no sample yet.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from .series.series import Detail, Series

__all__ = ["Family", "Lines", "Pace", "Registry", "Sample", "Samples", "ScrapeWalk", "Source", "Step", "in_steps"]

Sample = tuple[str, float]
"""The text behind the series' name (labels, for a histogram or summary also a suffix) and the value."""


class Lines(list[str]):
    """Samples of one series as text: each is the labels, a space and the value in digits.

    Sources with very many samples give these, because a step for each sample would take longer than all the rest.
    """


Step = Sample | Lines | None
Samples = Callable[[], Iterable[Step]]

Pace = Callable[[], Awaitable[None]]
"""Lets other work of the loop run, if the slice has ended. A walk awaits it every few steps."""


class ScrapeWalk(Protocol):
    """A walk over state that several series need. It runs at the beginning of a scrape."""

    async def collect(self, pace: Pace) -> None: ...

    def release(self) -> list[list[Any]]:
        """Forget what the walk found, because no scrape is under way. Returns it, so that it is freed bit by bit."""


class Source(NamedTuple):
    """A function that gives samples, and the detail of these samples."""

    detail: Detail
    samples: Samples


class Family(NamedTuple):
    """A series with all its sources, coarse ones first."""

    series: Series
    sources: list[Source]


class Registry:
    """Sources of samples. Several sources of one series are concatenated."""

    def __init__(self) -> None:
        self._families: dict[str, Family] = {}
        self.walks: list[ScrapeWalk] = []

    def add(self, series: Series, samples: Samples, detail: Detail | None = None) -> None:
        """Add a source. ``detail``: of its samples, if coarser than the series' (the total without label ``topic``)."""
        family = self._families.setdefault(series.name, Family(series, []))
        family.sources.append(Source(series.detail if detail is None else detail, samples))
        family.sources.sort(key=lambda source: source.detail)

    def add_value(self, series: Series, value: Callable[[], float]) -> None:
        """Add a source of one sample without labels."""
        self.add(series, lambda: [("", value())], Detail.BROKER)

    def add_walk(self, walk: ScrapeWalk) -> None:
        self.walks.append(walk)

    def families(self) -> Iterator[Family]:
        """The families of coarse detail first and those that no board reads last, so that a limit meets these; then in
        the order they were added."""
        yield from sorted(self._families.values(), key=lambda family: (family.series.detail, family.series.is_rare))


T = TypeVar("T")


def in_steps(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items in pieces, for sources that give `Lines`."""
    return (items[first : first + size] for first in range(0, len(items), size))

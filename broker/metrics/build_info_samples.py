"""The sample that tells which version of the program runs."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from .labels import labels
from .registry import Pace, Registry, Sample
from .series.table import series_named

__all__ = ["BuildInfoSamples"]


class BuildInfoSamples:
    """``read``: gives the versions; asked once, at the first scrape, because it is slow."""

    def __init__(self, registry: Registry, read: Callable[[], Awaitable[Mapping[str, str]]]) -> None:
        self._read = read
        self._text: str | None = None
        registry.add_walk(self)
        registry.add(series_named("pybroker_build_info"), self._samples)

    async def collect(self, pace: Pace) -> None:
        if self._text is None:
            found = await self._read()
            self._text = labels(version=found["version"], kafka_version=found["kafka"], python_version=found["python"])

    def release(self) -> list[list[Any]]:
        """The text stays."""
        return []

    def _samples(self) -> Iterator[Sample]:
        if self._text is not None:
            yield self._text, 1

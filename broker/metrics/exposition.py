"""Writes all samples as Prometheus' text format 0.0.4 or as OpenMetrics 1.0.

**Why.** A scrape of 100,000 series is 10 MB of text, and the event loop must not wait for it.
**How.** The text is made in slices of 0.25 ms; other work of the loop runs between them.
**Limits.** Beyond the limit of series, whole sources of samples are left out: the finest detail goes first, of it the
series that no board reads, and samples of the broker itself always stay.
"""

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Collection
from itertools import islice
from typing import Any

from ...base.quiet_lines import QUIET
from .registry import Lines, Registry, ScrapeWalk, Source, Step
from .selection import Selection
from .series.series import Detail, Kind, Series

__all__ = ["OPEN_METRICS", "TEXT", "Exposition", "content_type_for"]

logger = logging.getLogger(__name__)

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

SLICE_S = 0.00025
_FREED_AT_A_TIME = 500
_PIECE_CHARACTERS = 32 * 1024
_SHOWN_NAMES = 6


def content_type_for(accept: str) -> str:
    """`OPEN_METRICS` if the request's header ``Accept`` names it, else `TEXT`."""
    return OPEN_METRICS if "application/openmetrics-text" in accept else TEXT


class Exposition:
    """The text of one registry. ``dropped``: series that the last scrape left out; ``failed``: sources that raised."""

    def __init__(self, registry: Registry, selection: Selection, dropped: Series, failed: Series) -> None:
        self._registry = registry
        self._selection = selection
        self._rows = dropped, failed
        self.dropped = 0
        self.failed = 0
        self._under_way = 0  # scrapes whose text is being read

    async def text(self, content_type: str) -> AsyncIterator[bytes]:
        """Write one scrape, in pieces of some KiB."""
        self._under_way += 1
        try:
            async for piece in self._text(content_type == OPEN_METRICS):
                yield piece
        finally:
            self._under_way -= 1
            if not self._under_way:
                await _free([found for walk in self._registry.walks for found in walk.release()])

    async def _text(self, is_open: bool) -> AsyncIterator[bytes]:
        scrape = _Scrape(self._selection.max_series)
        for walk in self._registry.walks:
            await scrape.collect(walk)
        for series, sources in self._registry.families():
            wanted = [source for source in sources if self._selection.includes(series, source.detail)]
            header = _header(series, is_open)
            for source in wanted:
                pieces = await scrape.pieces(series, source)
                if pieces:
                    yield header
                    header = b""
                for piece in pieces:
                    yield piece
                    await scrape.pace()  # a client that reads fast would take all pieces in one turn of the loop
        self._note(scrape)
        for series, value in zip(self._rows, (self.dropped, self.failed), strict=True):
            if self._selection.includes(series, Detail.BROKER):
                yield _header(series, is_open) + f"{series.name} {value}\n".encode()
        if is_open:
            yield b"# EOF\n"

    def _note(self, scrape: "_Scrape") -> None:
        if scrape.dropped and not self.dropped:
            logger.warning(
                "/metrics left out %d series (%s): pybroker.metrics.max.series is %d. Raise it, or leave out series "
                "by pybroker.metrics.detail or pybroker.metrics.exclude",
                scrape.dropped,
                _shown(scrape.dropped_names),
                self._selection.max_series,
            )
        self.dropped, self.failed = scrape.dropped, scrape.failed


class _Scrape:
    """Progress of one scrape: the series left until the limit, and the end of the present slice."""

    def __init__(self, max_series: int) -> None:
        self._left = max_series
        self._slice_ends = time.perf_counter() + SLICE_S
        self.dropped = 0
        self.dropped_names: dict[str, None] = {}
        self.failed = 0

    async def collect(self, walk: ScrapeWalk) -> None:
        """Run a walk. After an error its sources give what they have."""
        try:
            await walk.collect(self.pace)
        except Exception:
            logger.exception("the samples of %s were not read", type(walk).__name__, extra=QUIET)
            self.failed += 1

    async def pieces(self, series: Series, source: Source) -> list[bytes]:
        """The lines of a source; none if they exceed the limit, or if the source raised an error."""
        text = _Text(series.name, self._left if source.detail else math.inf)
        now_s = time.perf_counter
        try:
            for step in source.samples():
                text.add(step)
                if now_s() >= self._slice_ends:
                    await self.pace()
        except Exception:
            logger.exception("the samples of %s were not read", series.name, extra=QUIET)
            self.failed += 1
            return []
        if text.count > text.limit:
            self.dropped += text.count
            self.dropped_names[series.name] = None
            return []
        self._left -= text.count
        return text.pieces()

    async def pace(self) -> None:
        """Let the loop turn if the slice has ended."""
        if time.perf_counter() >= self._slice_ends:
            await asyncio.sleep(0)
            self._slice_ends = time.perf_counter() + SLICE_S


class _Text:
    """The lines of one source. Beyond the limit they are only counted."""

    __slots__ = ("_ends", "_lines", "_name", "_pieces", "_size", "count", "limit")

    def __init__(self, name: str, limit: float) -> None:
        self._name = name
        self._ends = f"\n{name}"
        self._lines: list[str] = []
        self._size = 0
        self._pieces: list[bytes] = []
        self.count = 0
        self.limit = limit

    def add(self, step: Step) -> None:
        if step is None:
            return
        if isinstance(step, Lines):
            if not step:
                return
            self.count += len(step)
            line = f"{self._name}{self._ends.join(step)}\n"
        else:
            self.count += 1
            labels, value = step
            digits = str(value)
            line = f"{self._name}{labels} {digits if digits[-1].isdigit() else _special(value)}\n"
        self._lines.append(line)
        self._size += len(line)
        if self._size >= _PIECE_CHARACTERS:
            self._end_piece()

    def pieces(self) -> list[bytes]:
        self._end_piece()
        return self._pieces

    def _end_piece(self) -> None:
        if self.count > self.limit:
            self._pieces.clear()
        elif self._lines:
            self._pieces.append("".join(self._lines).encode())
        self._lines.clear()
        self._size = 0


async def _free(lists: list[list[Any]]) -> None:
    """Empty the lists between turns of the loop: to free ten thousand texts at once takes milliseconds."""
    for each in lists:
        while each:
            del each[-_FREED_AT_A_TIME:]
            await asyncio.sleep(0)


def _header(series: Series, is_open: bool) -> bytes:
    name, kind = series.name, str(series.kind)
    if is_open and series.kind is Kind.COUNTER:
        name = name.removesuffix("_total")
    return f"# HELP {name} {series.help}\n# TYPE {name} {kind}\n".encode()


def _shown(names: Collection[str]) -> str:
    more = len(names) - _SHOWN_NAMES
    return ", ".join([*islice(names, _SHOWN_NAMES), *([f"{more} more names"] if more > 0 else [])])


def _special(value: float) -> str:
    """The text of a value that is no number in digits."""
    if isinstance(value, bool):
        return str(int(value))
    if math.isnan(value):
        return "NaN"
    return "+Inf" if value > 0 else "-Inf"

"""Runs a streaming query to its end: progress on the terminal, a clean stop on SIGTERM and Ctrl-C."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..topics.stream_position import offsets_of

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

_LOOK_EVERY_S = 0.5


class StopRequest:
    """Remembers whether the user asked the job to stop."""

    def __init__(self) -> None:
        self.is_made = False

    @contextmanager
    def listening(self) -> Iterator[StopRequest]:
        """Within this context, SIGTERM and SIGINT request a stop."""

        def ask(number: int, frame: FrameType | None) -> None:
            self.is_made = True

        before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def watch(query: StreamingQuery, stop: StopRequest, on_progress: Callable[[Any], None]) -> bool:
    """Waits for the end of the query; returns True if it was stopped before the end. Calls `on_progress` for each
    report.

    Raises the exception that the query failed with.
    """
    reported = None
    while True:
        ended = query.awaitTermination(_LOOK_EVERY_S)
        progress = query.lastProgress
        if progress is not None and (progress.runId, progress.timestamp) != reported:
            reported = (progress.runId, progress.timestamp)
            on_progress(progress)
        if ended:
            return False
        if stop.is_made:
            query.stop()
            return True


def progress_line(progress: Any, rows: int) -> str:
    """Returns the progress line of a micro-batch: rows, rows a second, and records still to be read."""
    behind = sum(lag_of(source.endOffset, source.latestOffset) for source in progress.sources)
    rate = rows / max(progress.batchDuration / 1000, 0.001)
    return f"batch {progress.batchId}: {rows:,} rows, {rate:,.0f} a second, {behind:,} behind"


def lag_of(end: str | None, latest: str | None) -> int:
    """Returns the number of records between two positions; Spark passes each as JSON or None."""
    if not end or not latest or "null" in (end, latest):
        return 0
    ends = offsets_of(json.loads(end))
    return sum(max(offset - ends.get(at, 0), 0) for at, offset in offsets_of(json.loads(latest)).items())

"""Runs a streaming query to its end: progress on the terminal, a clean stop on SIGTERM and Ctrl-C."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..options.partition_json import PartitionNumbers
from ..topics.stream_position import offsets_of
from .command import say

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

    from ..topics.source_lag import Lag

_LOOK_EVERY_S = 0.5
_WORKER_WAS_LATE = "Python worker failed to connect back"
_MOST_FAILURES = 10
"""Late Python processes in a row before the job fails."""


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


def watch(
    start: Callable[[], StreamingQuery],
    stop: StopRequest,
    on_progress: Callable[[Any], None],
    on_look: Callable[[], None] = lambda: None,
) -> bool:
    """Starts a query and waits for its end; returns True if it was stopped before the end. Calls `on_progress` for each
    report, and `on_look` twice a second, also between micro-batches.

    Spark waits ten seconds for a Python process on the driver, and no setting changes that. On a busy machine this
    can be too short, so such a query is started again. Raises the exception that the query failed with.
    """
    failures = 0

    def report(progress: Any) -> None:
        nonlocal failures
        failures = 0
        on_progress(progress)

    while True:
        try:
            return _watched(start(), stop, report, on_look)
        except Exception as error:
            failures += 1
            if _WORKER_WAS_LATE not in str(error) or failures == _MOST_FAILURES:
                raise
        if stop.is_made:
            return True
        say("Spark waited ten seconds for a Python process, because this machine is busy; the query starts again")


def _watched(
    query: StreamingQuery, stop: StopRequest, on_progress: Callable[[Any], None], on_look: Callable[[], None]
) -> bool:
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
        on_look()


def progress_line(progress: Any, rows: int, lag: Lag) -> str:
    """Returns the progress line of a micro-batch: rows, rows a second, and what is still to be read."""
    rate = rows / max(progress.batchDuration / 1000, 0.001)
    return f"batch {progress.batchId}: {rows:,} rows, {rate:,.0f} a second, {lag.words}"


def reached_offsets(progress: Any) -> PartitionNumbers:
    """Returns the offsets at which the micro-batch of a report ended. Spark passes them as JSON, or None."""
    ends = [json.loads(source.endOffset) for source in progress.sources if source.endOffset]
    return {at: offset for end in ends if end for at, offset in offsets_of(end).items()}

"""Runs Spark actions to their end: progress on the terminal, a clean stop on SIGTERM and Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from pyspark.util import InheritableThread

from .command import JobError, say
from .query_watch import StopRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

_LOOK_EVERY_S = 0.2
LOOKS_BETWEEN_LINES = 25


def watch_action(
    spark: SparkSession, action: Callable[[], None], stop: StopRequest, on_progress: Callable[[], None], every: int
) -> bool:
    """Runs `action` and calls `on_progress` after every `every` checks; returns True if the action was stopped.

    Raises what the action raises. A stop cancels all Spark jobs of the session.
    """
    failure: list[Exception] = []
    ended = Event()

    def run() -> None:
        try:
            action()
        except Exception as error:
            failure.append(error)
        finally:
            ended.set()

    thread = InheritableThread(target=run, daemon=True)
    thread.start()
    looks = 0
    while not ended.wait(_LOOK_EVERY_S):
        looks += 1
        if stop.is_made:
            # Repeatedly: between two Spark jobs of one action there is no job to cancel.
            spark.sparkContext.cancelAllJobs()
        elif looks % every == 0:
            on_progress()
    thread.join()
    if failure and not stop.is_made:
        raise failure[0]
    return bool(failure)


def watch_work(
    spark: SparkSession,
    work: Callable[[], T],
    on_progress: Callable[[], None] | None = None,
    every: int = LOOKS_BETWEEN_LINES,
) -> T:
    """Returns the result of `work`. Raises what `work` raises, and JobError when it was stopped and has no result.

    `on_progress` reports progress; by default the progress of Spark's stages is reported.
    """
    found: list[T] = []
    with StopRequest().listening() as stop:
        if watch_action(
            spark, lambda: found.append(work()), stop, on_progress or (lambda: _report_stages(spark)), every
        ):
            raise JobError("stopped before the job was finished")
    return found[0]


def _report_stages(spark: SparkSession) -> None:
    if spark.sparkContext.getConf().get("spark.ui.showConsoleProgress") == "true":
        return  # Spark shows a bar for each stage
    tracker = spark.sparkContext.statusTracker()
    for each in tracker.getActiveStageIds():
        info = tracker.getStageInfo(each)
        if info is not None:
            say(f"stage {info.stageId}: {info.numCompletedTasks:,} of {info.numTasks:,} tasks")

"""Tests of how a job watches its query, without Spark."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from pybroker.pipeline.jobs.query_watch import StopRequest, watch

LATE = RuntimeError("[STREAM_FAILED] terminated with exception: Python worker failed to connect back.")


class Query:
    """A query that makes a number of progress reports, and then ends or fails."""

    def __init__(self, reports: int, error: Exception | None = None) -> None:
        self._left = reports
        self._error = error
        self.lastProgress: Any = None

    def awaitTermination(self, timeout: float) -> bool:  # noqa: N802 (Spark's name)
        if self._left > 0:
            self._left -= 1
            self.lastProgress = SimpleNamespace(runId=id(self), timestamp=self._left)
            return False
        if self._error is not None:
            raise self._error
        return True


def watched(queries: Sequence[Query], reports: list[Any], stop: StopRequest | None = None) -> bool:
    left = iter(queries)
    starting: Any = lambda: next(left)  # noqa: E731
    return watch(starting, stop or StopRequest(), reports.append)


def test_query_starts_again_when_a_python_process_of_spark_is_late(capsys: pytest.CaptureFixture[str]) -> None:
    reports: list[Any] = []
    assert watched([Query(0, LATE), Query(1, LATE), Query(2)], reports) is False
    assert len(reports) == 3
    assert capsys.readouterr().err.count("the query starts again") == 2


def test_query_that_never_gets_its_python_process_fails() -> None:
    queries = [Query(0, LATE) for _ in range(100)]
    with pytest.raises(RuntimeError, match="failed to connect back"):
        watched(queries, [])


def test_other_failures_of_a_query_are_raised_at_once() -> None:
    with pytest.raises(RuntimeError, match="no such topic"):
        watched([Query(0, RuntimeError("no such topic")), Query(0)], [])


def test_query_does_not_start_again_after_a_request_to_stop() -> None:
    stop = StopRequest()
    stop.is_made = True
    assert watched([Query(0, LATE)], [], stop) is True


def test_caller_is_called_twice_a_second_although_the_query_reports_nothing_new() -> None:
    looks: list[Any] = []
    query = Query(3)
    query.lastProgress = None
    awaited = query.awaitTermination

    def await_termination(timeout: float) -> bool:
        has_ended = awaited(timeout)
        query.lastProgress = None
        return has_ended

    query.awaitTermination = await_termination  # type: ignore[method-assign]
    starting: Any = lambda: query  # noqa: E731
    assert watch(starting, StopRequest(), looks.append, lambda: looks.append("look")) is False
    assert looks == ["look"] * 3

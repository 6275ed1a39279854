"""Gathers the figures of topics as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import measures
from .figures_page import Figures, bytes_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def topic_figures(frame: DataFrame, *, now_ms: int, late_ms: int, file_bytes: dict[str, int] | None = None) -> Figures:
    """Returns all figures of a frame of rows, which is read once. `file_bytes`: bytes of each
    topic's files, if known."""
    rows = measures.slim_rows(frame).persist()
    try:
        volumes = _listed(measures.volumes(rows), "topic", "partition")
        first = min((each["first_ms"] for each in volumes), default=0)
        last = max((each["last_ms"] for each in volumes), default=0)
        step_ms = measures.bucket_ms(first, last)
        return {
            "volumes": volumes,
            "stepMs": step_ms,
            "rates": _listed(measures.rates(rows, step_ms), "topic", "ms"),
            "sizes": _listed(measures.value_sizes(rows), "topic"),
            "keys": _listed(measures.key_counts(rows), "topic"),
            "busiestKeys": _listed(measures.busiest_keys(rows), "topic", "rank"),
            "disorder": _listed(measures.disorder(rows, now_ms, late_ms), "topic", "partition"),
            "lateMs": late_ms,
            "compression": [
                {"topic": topic, "record_bytes": raw, "file_bytes": stored, "gain": raw / stored}
                for topic, stored in sorted((file_bytes or {}).items())
                if stored and (raw := sum(bytes_of(each) for each in volumes if each["topic"] == topic))
            ],
        }
    finally:
        rows.unpersist()


def _listed(frame: DataFrame, *order: str) -> list[dict[str, Any]]:
    """Returns the rows of a small frame as dicts, with keys as text."""
    found = [row.asDict() for row in frame.collect()]
    for each in found:
        if "key" in each:
            each["key"] = bytes(each["key"]).decode("utf-8", "backslashreplace")
    return sorted(found, key=lambda each: tuple(each[name] for name in order))

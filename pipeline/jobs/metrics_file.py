"""The progress of a job as a file in Prometheus' text format, for the textfile collector of its node exporter."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

_PREFIX = "pybroker_pipeline_"
_HELP = {
    "rows_total": ("counter", "Rows that this run of the job wrote."),
    "dead_letters_total": ("counter", "Rows among them whose values can't be decoded."),
    "batches_total": ("counter", "Batches that this run of the job finished."),
    "batch_seconds": ("gauge", "Duration of the last batch."),
    "lag_records": ("gauge", "Records of the source that are still to be read."),
    "lag_seconds": ("gauge", "Age of the oldest record that is still to be read."),
    "last_progress_timestamp_seconds": ("gauge", "Time of the last report."),
    "running": ("gauge", "1 while the job runs, 0 after its end."),
}


class Progress(NamedTuple):
    """The figures that a job reports. None: not known, or without a meaning for this job."""

    rows: int
    batches: int
    batch_seconds: float | None = None
    lag_records: int | None = None
    lag_seconds: float | None = None
    dead_letters: int | None = None


class MetricsFile:
    """Writes the file. `path` None: nothing is written. `target`: what the job writes, as a label.

    `last`, `reported_s`: the last report, and when it was.
    At the end of its context, also by an exception, the last report is repeated as that of a job that has ended.
    """

    def __init__(self, path: Path | None, job: str, target: str) -> None:
        self._path = path
        self._labels = f'pipeline="{_escaped(job)}",target="{_escaped(target)}"'
        self.last = Progress(0, 0)
        self.reported_s = 0.0

    def report(self, progress: Progress, *, is_running: bool = True) -> None:
        """Replaces the file, so that no reader sees half of it. Raises OSError."""
        self.last, self.reported_s = progress, time.time()
        if self._path is None:
            return
        unfinished = self._path.with_name(f".{self._path.name}.unfinished")
        unfinished.write_text(self._text(progress, is_running, self.reported_s), encoding="utf-8")
        os.replace(unfinished, self._path)

    def __enter__(self) -> MetricsFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.report(self.last, is_running=False)
        except OSError:
            if kind is None:  # otherwise the job's own failure is what the user must see
                raise

    def _text(self, progress: Progress, is_running: bool, now_s: float) -> str:
        values = {
            "rows_total": progress.rows,
            "dead_letters_total": progress.dead_letters,
            "batches_total": progress.batches,
            "batch_seconds": progress.batch_seconds,
            "lag_records": progress.lag_records,
            "lag_seconds": 0 if progress.lag_records == 0 else progress.lag_seconds,
            "last_progress_timestamp_seconds": round(now_s, 3),
            "running": int(is_running),
        }
        lines = []
        for name, value in values.items():
            if value is not None:
                kind, what = _HELP[name]
                lines += [f"# HELP {_PREFIX}{name} {what}", f"# TYPE {_PREFIX}{name} {kind}"]
                lines.append(f"{_PREFIX}{name}{{{self._labels}}} {value}")
        return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

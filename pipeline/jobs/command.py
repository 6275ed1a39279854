"""The subcommands of `pybroker-pipeline`, and how one is run. The module of a job is imported when it runs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module

from ..options.spark_needed import TOO_OLD

__all__ = ["BAD_INPUT", "FAILED", "JobError", "failure_line", "main", "on_terminal", "report_error", "run_job", "say"]

FAILED, BAD_INPUT = 1, 2

_JOBS = {
    "archive": ("archive_command", "write topics into Parquet tables, each record exactly once"),
    "check-archive": ("check_archive_command", "compare an archive table with its manifest"),
    "compact-archive": ("compact_archive_command", "merge small files of an archive table into larger ones"),
    "replay": ("replay_command", "write rows of an archive table back into topics, each row once"),
    "mirror": ("mirror_command", "copy topics to another cluster, each record once, with a map of offsets"),
    "audit": ("audit_command", "check log directories and compare replicas"),
    "report": ("report_command", "report sizes, rates, keys and late records of topics"),
    "py-files": ("py_files_command", "write what spark-submit needs to run these jobs"),
}

_MODULES_OF_EXTRAS = {
    "spark": ("confluent_kafka", "matplotlib", "numba", "numpy", "py4j", "pyarrow", "pyspark"),
    "delta": ("deltalake",),
    "iceberg": ("pyiceberg", "sqlalchemy"),
    "avro": ("fastavro",),
    "protobuf": ("google", "grpc_tools"),
}
_EXTRA_OF = {module: extra for extra, modules in _MODULES_OF_EXTRAS.items() for module in modules}

_ERASE_LINE = "\r\033[K"
_RAISED = re.compile(r"[A-Za-z_][\w.]*: ")

_DESCRIPTION = "Spark jobs for topics and log directories. For the options of a job: pybroker-pipeline JOB --help"


class JobError(Exception):
    """A job failed; the message is one line for the user's terminal."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def failure_line(error: Exception) -> str:
    """Returns one line about a Spark failure: the exception at the end of the last Python traceback in its text, else
    the JVM's exception, else its first line. The name is left out if the exception is one of this package.
    """
    lines = [line.rstrip() for line in str(error).splitlines() if line.strip()]
    raised = [line.partition(": ")[2] if line.startswith("pybroker.") else line for line in _raised(lines)]
    thrown = [line.removeprefix(": ") for line in lines if line.startswith(": ")]  # the format of Py4J's messages
    return (raised[-1:] or thrown or lines or [type(error).__name__])[0].strip()


def _raised(lines: Sequence[str]) -> Iterator[str]:
    """Yields the last line of each Python traceback, except those of Py4J, which repeat the JVM's exception."""
    is_inside = False
    for line in lines:
        if "Traceback" in line:
            is_inside = True
        elif is_inside and _RAISED.match(line):
            is_inside = False
            if not line.startswith("py4j."):
                yield line


def on_terminal() -> bool:
    """Returns whether the user sees standard error on a terminal that can show Spark's progress bars."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def say(line: str) -> None:
    """Writes a line to standard error, on a terminal in place of a progress bar of Spark."""
    print(f"{_ERASE_LINE if on_terminal() else ''}{line}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code: 0 done, 1 failed or faults found, 2 bad arguments."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help"):
        print(_usage())
        return 0 if given else BAD_INPUT
    try:
        return run_job(given)
    except JobError as error:
        return report_error(error)


def run_job(given: Sequence[str]) -> int:
    """Runs one job with its arguments; returns its exit code. Raises JobError."""
    name, *arguments = given
    if name not in _JOBS:
        raise JobError(f"unknown job '{name}'; the jobs are {', '.join(_JOBS)}", BAD_INPUT)
    try:
        code: int = import_module(f".{_JOBS[name][0]}", __package__).run(arguments)
    except ModuleNotFoundError as error:
        extra = _EXTRA_OF.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        if error.name == "pyspark.sql.datasource":
            raise JobError(TOO_OLD) from None
        raise JobError(
            f"{error.name} is not installed; install the extra '{extra}': pip install 'pybroker[{extra}]'"
        ) from None
    return code


def report_error(error: JobError) -> int:
    """Prints why a job failed; returns its exit code."""
    say(f"pybroker-pipeline: {error}")
    return error.exit_code


def _usage() -> str:
    jobs = "\n".join(f"  {name:<16} {what}" for name, (_, what) in _JOBS.items())
    return f"usage: pybroker-pipeline JOB ...\n\n{_DESCRIPTION}\n\njobs:\n{jobs}"

"""``pybroker-pipeline``: which subcommands there are. Each is imported when it is run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

__all__ = ["BAD_INPUT", "FAILED", "JobError", "failure_line", "main", "run_job", "say", "tell"]

FAILED, BAD_INPUT = 1, 2

_JOBS = {
    "archive": ("archive_command", "topics into Parquet tables, each record exactly once"),
    "check-archive": ("check_archive_command", "whether the manifest and the data of such a table agree"),
    "compact-archive": ("compact_archive_command", "small files of such a table into larger ones"),
    "replay": ("replay_command", "rows of such a table back into topics, each once"),
    "mirror": ("mirror_command", "topics to another cluster, each record once, offsets mapped"),
    "audit": ("audit_command", "whether log directories are sound and replicas agree"),
    "report": ("report_command", "how much topics have, when, how large, for which keys, how late"),
}

_OF_THE_EXTRA = ("confluent_kafka", "matplotlib", "numba", "numpy", "py4j", "pyarrow", "pyspark")

_DESCRIPTION = "Jobs on Spark for topics and log directories. JOB --help tells more."


class JobError(Exception):
    """Why a job could not do its work, in a line for the person at the terminal."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def failure_line(error: Exception) -> str:
    """What Spark says, in a line: what a task of ours raised, what the JVM threw, or how its own message begins."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line.partition(": ")[2] for line in lines if line.startswith("pybroker.") and ": " in line]
    thrown = [line.removeprefix(": ") for line in lines if line.startswith(": ")]  # Py4J's way to put it
    return (raised or thrown or lines or [type(error).__name__])[0]


def say(line: str) -> None:
    """To the person at the terminal."""
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code: 0 done, 1 failed or something is wrong, 2 bad arguments."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help"):
        print(_usage())
        return 0 if given else BAD_INPUT
    try:
        return run_job(given)
    except JobError as error:
        return tell(error)


def run_job(given: Sequence[str]) -> int:
    """The job of that name with these arguments; returns its exit code. Raises JobError."""
    name, *arguments = given
    if name not in _JOBS:
        raise JobError(f"there is no job '{name}'; there are {', '.join(_JOBS)}", BAD_INPUT)
    try:
        code: int = import_module(f".{_JOBS[name][0]}", __package__).run(arguments)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _OF_THE_EXTRA:
            raise
        raise JobError(
            f"{error.name} is not installed; the extra 'spark' brings it: pip install 'pybroker[spark]'"
        ) from None
    return code


def tell(error: JobError) -> int:
    """Says why a job could not do its work; returns its exit code."""
    say(f"pybroker-pipeline: {error}")
    return error.exit_code


def _usage() -> str:
    jobs = "\n".join(f"  {name:<16} {what}" for name, (_, what) in _JOBS.items())
    return f"usage: pybroker-pipeline JOB ...\n\n{_DESCRIPTION}\n\njobs:\n{jobs}"

"""``pybroker-pipeline``: which subcommands there are. Each is imported when it is run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

__all__ = ["BAD_INPUT", "FAILED", "JobError", "JobParser", "main"]

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

_DESCRIPTION = "Jobs on Spark for topics and log directories. JOB --help tells more."


class JobError(Exception):
    """Why a job could not do its work, in a line for the person at the terminal."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class JobParser(argparse.ArgumentParser):
    """What all jobs share: `--master` and `--conf`. Raises JobError for bad arguments."""

    def __init__(self, job: str, description: str) -> None:
        formatter = argparse.RawDescriptionHelpFormatter
        name = f"pybroker-pipeline {job}"
        super().__init__(prog=name, description=description, formatter_class=formatter, allow_abbrev=False)
        self.add_argument(
            "--master", help="Spark's master; by default what Spark's own configuration says, or local[*]"
        )
        self.add_argument(
            "--conf", metavar="NAME=VALUE", action="append", default=[], help="a setting of Spark's; may be repeated"
        )

    def error(self, message: str) -> NoReturn:
        raise JobError(f"{message} ({self.prog} --help tells more)", BAD_INPUT)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code: 0 done, 1 failed or something is wrong, 2 bad arguments."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help"):
        print(_usage())
        return 0 if given else BAD_INPUT
    try:
        if given[0] not in _JOBS:
            raise JobError(f"there is no job '{given[0]}'; there are {', '.join(_JOBS)}", BAD_INPUT)
        module = import_module(f".{_JOBS[given[0]][0]}", __package__)
        code: int = module.run(given[1:])
        return code
    except JobError as error:
        print(f"pybroker-pipeline: {error}", file=sys.stderr)
        return error.exit_code


def _usage() -> str:
    jobs = "\n".join(f"  {name:<16} {what}" for name, (_, what) in _JOBS.items())
    return f"usage: pybroker-pipeline JOB ...\n\n{_DESCRIPTION}\n\njobs:\n{jobs}"

"""Command line arguments that several jobs share, and the source options they produce."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from ..options.options import listed_names
from .command import BAD_INPUT, JobError

_INTERVAL = re.compile(
    r"(\s*\d+(\.\d+)?\s+(micro|milli)?seconds?|\s*\d+\s+(minute|hour|day|week)s?)+\s*", re.IGNORECASE
)

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TABLE_FORMATS = ("parquet", "delta", "iceberg")


class JobParser(argparse.ArgumentParser):
    """An argument parser with `--master` and `--conf` for a job with a Spark session. Raises JobError for bad
    arguments.
    """

    def __init__(self, job: str, description: str, *, with_session: bool = True) -> None:
        formatter = argparse.RawDescriptionHelpFormatter
        name = f"pybroker-pipeline {job}"
        super().__init__(prog=name, description=description, formatter_class=formatter, allow_abbrev=False)
        if with_session:
            self.add_argument("--master", help="Spark master URL (default: Spark's own configuration, or local[*])")
            self.add_settings("--conf", "a Spark setting; may be repeated")

    def error(self, message: str) -> NoReturn:
        raise JobError(f"{message} (see {self.prog} --help)", BAD_INPUT)

    def add_settings(self, flag: str, what: str) -> None:
        """Adds a flag that may be repeated; its value is a list of (name, value) pairs."""
        self.add_argument(flag, metavar="NAME=VALUE", action="append", default=[], type=setting, help=what)

    def add_connection(self, side: str, of: str = "") -> None:
        """Adds a flag for further options of the `side` and one for a file of connection settings (read by
        `given_options`). `of`: prefix of the flags, for a job with two sides.
        """
        self.add_settings(f"--{of}option", f"another option of the {side}, such as kafka.request.timeout.ms=60000")
        self.add_argument(
            f"--{of}command-config",
            metavar="FILE",
            type=connection_file,
            default={},
            help=f"connection settings of the {side}, as for Kafka's tools; keeps passwords out of the command line",
        )

    def add_topics(self) -> None:
        """Adds the arguments that select topics (read by `source_options`)."""
        topics = self.add_mutually_exclusive_group(required=True)
        topics.add_argument("--topics", type=names, metavar="A,B", help="read all partitions of these topics")
        topics.add_argument(
            "--pattern", metavar="REGEX", help="read all topics with a matching name, including topics created later"
        )

    def add_pace(self, does: str, *, every: str, max_records: int | None = None) -> None:
        """Adds the arguments for batch size and interval (read by `source_options`); `does` is the job's verb in the
        help text.
        """
        self.add_argument("--available-now", action="store_true", help=f"{does} the records that exist now, then exit")
        self.add_argument(
            "--every",
            type=interval,
            default=every,
            metavar="TIME",
            help=f"interval between micro-batches (default {every})",
        )
        most = "maximum number of records in one micro-batch" + (f" (default {max_records})" if max_records else "")
        self.add_argument("--max-records", type=positive(int), default=max_records, metavar="N", help=most)
        self.add_argument("--group", help="consumer group at the source in which the job stores its progress")

    def add_output(self, flag: str, what: str) -> None:
        """Adds an argument for a file that the job writes at its end."""
        self.add_argument(flag, metavar="FILE", type=output_file, help=what)

    def add_metrics(self) -> None:
        """Adds `--metrics-file`."""
        what = "keep the job's progress in this file, in Prometheus' text format"
        self.add_output("--metrics-file", what)

    def add_compression(self) -> None:
        """Adds `--compression`: the codec of written batches, one of CODECS."""
        self.add_argument(
            "--compression", choices=CODECS, default="none", help="compression of the written batches (default none)"
        )


def setting(text: str) -> tuple[str, str]:
    """Parses NAME=VALUE. Raises ArgumentTypeError."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text} must be NAME=VALUE")
    return name.strip(), value


def names(text: str) -> tuple[str, ...]:
    """Parses a list like `A,B`. Raises ArgumentTypeError if it has no name."""
    if not (found := listed_names(text)):
        raise argparse.ArgumentTypeError(f"'{text}' has no name")
    return found


def connection_file(text: str) -> dict[str, str]:
    """Returns the options of a file of connection settings. Raises ArgumentTypeError."""
    from ...client.given_options import OptionError
    from ...client.settings_file import connection_options

    try:
        return {f"kafka.{name}": value for name, value in connection_options(Path(text)).items()}
    except OptionError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def given_options(options: argparse.Namespace, of: str = "") -> dict[str, str]:
    """Returns the options of the flags of `add_connection`; `--option` overrides the file."""
    given = vars(options)
    return {**given[f"{of}command_config"], **dict(given[f"{of}option"])}


def positive(kind: type[int] | type[float]) -> Any:
    """Returns an argument type that accepts numbers above 0."""

    def number(text: str) -> float:
        if not (found := kind(text)) > 0:
            raise argparse.ArgumentTypeError(f"{text} must be greater than 0")
        return found

    return number


def interval(text: str) -> str:
    """Checks an interval in the form of Spark's triggers, such as `90 seconds`. Raises ArgumentTypeError."""
    if not _INTERVAL.fullmatch(text):
        raise argparse.ArgumentTypeError(f"must be like '10 seconds', not '{text}'")
    return text


def output_file(text: str) -> Path:
    """Returns the path if the file can be created or replaced, so that a wrong path fails before hours of work. Raises
    ArgumentTypeError.
    """
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a directory")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"can't write {path.name}: there is no directory {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text} can't be written")
    return path


def output_directory(text: str) -> Path:
    """Returns the path if the directory exists or can be created, with its parents. Raises ArgumentTypeError."""
    path = Path(text)
    there = next(each for each in (path, *path.absolute().parents) if each.exists())
    if not there.is_dir():
        raise argparse.ArgumentTypeError(f"{there} is not a directory")
    if not os.access(there, os.W_OK):
        raise argparse.ArgumentTypeError(f"{there} can't be written to")
    return path


def source_options(
    options: argparse.Namespace, servers: str, wanted: Mapping[str, str], further: Mapping[str, str]
) -> dict[str, str]:
    """Returns the source options from the arguments of `add_topics` and `add_pace` and from the job's own `wanted`
    options.

    Options in `further`, which the user set by `--option`, override all others.
    """
    found = {
        "kafka.bootstrap.servers": servers,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": options.max_records,
        "subscribe": None if options.topics is None else ",".join(options.topics),
        "subscribePattern": options.pattern,
        "commitOffsetsToGroup": options.group,
        **wanted,
    }
    return {name: str(value) for name, value in found.items() if value is not None} | dict(further)

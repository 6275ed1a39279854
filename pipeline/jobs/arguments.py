"""Arguments that jobs share, and the options of a source that they mean."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from .command import BAD_INPUT, JobError

_INTERVAL = re.compile(
    r"(\s*\d+(\.\d+)?\s+(micro|milli)?seconds?|\s*\d+\s+(minute|hour|day|week)s?)+\s*", re.IGNORECASE
)

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class JobParser(argparse.ArgumentParser):
    """What all jobs share: `--master` and `--conf`. Raises JobError for bad arguments."""

    def __init__(self, job: str, description: str) -> None:
        formatter = argparse.RawDescriptionHelpFormatter
        name = f"pybroker-pipeline {job}"
        super().__init__(prog=name, description=description, formatter_class=formatter, allow_abbrev=False)
        self.add_argument(
            "--master", help="Spark's master; by default what Spark's own configuration says, or local[*]"
        )
        self.add_settings("--conf", "a setting of Spark's; may be repeated")

    def error(self, message: str) -> NoReturn:
        raise JobError(f"{message} ({self.prog} --help tells more)", BAD_INPUT)

    def add_settings(self, flag: str, what: str) -> None:
        """A flag that may be repeated: a list of pairs of name and value."""
        self.add_argument(flag, metavar="NAME=VALUE", action="append", default=[], type=setting, help=what)

    def add_topics(self) -> None:
        """Which topics a query reads (`source_options`)."""
        topics = self.add_mutually_exclusive_group(required=True)
        topics.add_argument("--topics", metavar="A,B", help="all partitions of these topics")
        topics.add_argument("--pattern", metavar="REGEX", help="of all topics with such a name, also of those to come")

    def add_pace(self, does: str, *, every: str, max_records: int | None = None) -> None:
        """How a query goes through topics (`source_options`); `does` is what it does to them."""
        self.add_argument("--available-now", action="store_true", help=f"{does} what is there and end")
        self.add_argument(
            "--every", type=interval, default=every, metavar="TIME", help=f"how often to begin a micro-batch ({every})"
        )
        most = "the most of one" + (f" ({max_records})" if max_records else "")
        self.add_argument("--max-records", type=positive(int), default=max_records, metavar="N", help=most)
        self.add_argument("--group", help="a consumer group at the source that shows how far the job is")

    def add_output(self, flag: str, what: str) -> None:
        """A file that the job writes at its end."""
        self.add_argument(flag, metavar="FILE", type=output_file, help=what)

    def add_compression(self) -> None:
        """The codec of what is written, by its name in CODECS."""
        self.add_argument("--compression", choices=CODECS, default="none", help="of the batches that are written")


def setting(text: str) -> tuple[str, str]:
    """NAME=VALUE. Raises ArgumentTypeError."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text} must be NAME=VALUE")
    return name.strip(), value


def positive(kind: type[int] | type[float]) -> Any:
    """A type of arguments: numbers above 0."""

    def number(text: str) -> float:
        if not (found := kind(text)) > 0:
            raise argparse.ArgumentTypeError(f"{text} is not above 0")
        return found

    return number


def interval(text: str) -> str:
    """A time as Spark's triggers have it, `90 seconds`. Raises ArgumentTypeError."""
    if not _INTERVAL.fullmatch(text):
        raise argparse.ArgumentTypeError(f"must be like '10 seconds', not '{text}'")
    return text


def output_file(text: str) -> Path:
    """A file that can be made or replaced, found out before hours of work. Raises ArgumentTypeError."""
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a directory")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no directory {path.parent} to write {path.name} into")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text} can't be written")
    return path


def output_directory(text: str) -> Path:
    """The same, for a directory that is made with those above it that are missing. Raises ArgumentTypeError."""
    path = Path(text)
    there = next(each for each in (path, *path.absolute().parents) if each.exists())
    if not there.is_dir():
        raise argparse.ArgumentTypeError(f"{there} is no directory")
    if not os.access(there, os.W_OK):
        raise argparse.ArgumentTypeError(f"{there} can't be written to")
    return path


def source_options(
    options: argparse.Namespace, servers: str, wanted: Mapping[str, str], further: Mapping[str, str]
) -> dict[str, str]:
    """The options of the source that `add_topics` and `add_pace` mean: beside those that the job wants.

    Those that the user gave by themselves, `further`, count more.
    """
    found = {
        "kafka.bootstrap.servers": servers,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": options.max_records,
        "subscribe": options.topics,
        "subscribePattern": options.pattern,
        "commitOffsetsToGroup": options.group,
        **wanted,
    }
    return {name: str(value) for name, value in found.items() if value is not None} | dict(further)

"""``kafka-storage``: shows the log directories of a broker, and makes random cluster ids (Kafka: StorageTool).

**Limits.** A pybroker prepares its log directories itself when it starts. So ``format`` checks what Kafka's script
checks and prints the same lines, but it writes only the users of ``--add-scram``, and the broker chooses its cluster id
itself.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn
from uuid import UUID, uuid4

from ...base.uuid_text import uuid_text
from ...config.config import Config
from ...config.config_error import ConfigError
from ...config.load import unchecked_config
from ...config.properties import read_properties

__all__ = ["storage_command"]

_META = "meta.properties"
_ABOUT = "The Kafka storage tool."
_RELEASE = "3.9-IV0"
_LEGACY_FORMAT = (
    "The kafka configuration file appears to be for a legacy cluster. Formatting is only supported for clusters in "
    "KRaft mode."
)
_LEGACY_DIRECTORIES = (
    "The kafka configuration file appears to be for a cluster in KRaft mode, but the directories are formatted for "
    "legacy mode."
)
_KRAFT_DIRECTORIES = (
    "The kafka configuration file appears to be for a legacy cluster, but the directories are formatted for a cluster "
    "in KRaft mode."
)
_MISSING = re.compile(r"the following arguments are required: ([^,]*)")
_UNKNOWN = re.compile(r"unrecognized arguments: (\S+)")
_RESERVED = (UUID(int=0), UUID(int=1))
_OF_LEGACY_MODE, _OF_KRAFT = "0", "1"
_SCRAM_VALUE = re.compile(r"(SCRAM-SHA-(?:256|512))=\[(.*)\]")
_SCRAM_FIELDS = ("name", "password", "iterations")


class _RefusedError(Exception):
    """Why the script ends with 1. One line."""


class _ScramUser(NamedTuple):
    """``iterations``: None: the default of pybroker."""

    mechanism: str
    name: str
    password: str
    iterations: str | None


def _scram_user(text: str) -> _ScramUser:
    """The user in a value of ``--add-scram``. Raises _RefusedError, without the password."""
    found = _SCRAM_VALUE.fullmatch(text)
    if found is None:
        raise _RefusedError("--add-scram: must be like SCRAM-SHA-256=[name=alice,password=alice-secret]")
    fields = dict(part.partition("=")[::2] for part in found[2].split(","))
    for name in fields:
        if name not in _SCRAM_FIELDS:
            raise _RefusedError(f"--add-scram: {name!r} cannot be given, only {', '.join(_SCRAM_FIELDS)}")
    for name in ("name", "password"):
        if not fields.get(name):
            raise _RefusedError(f"--add-scram: {name} is missing")
    return _ScramUser(found[1], fields["name"], fields["password"], fields.get("iterations"))


class _Parser(argparse.ArgumentParser):
    """Its errors have the words of argparse4j."""

    def error(self, message: str) -> NoReturn:
        if missing := _MISSING.match(message):
            message = f"argument {missing[1]} is required"
        if unknown := _UNKNOWN.match(message):
            message = f"unrecognized arguments: '{unknown[1]}'"
        message = message.removeprefix("argument command: ")
        raise _RefusedError(f"{self.format_usage()}{self.prog}: error: {message}")


def storage_command(arguments: Sequence[str]) -> int:
    """The script; returns its exit code."""
    try:
        options = _parser().parse_args(arguments)
        if options.command is None:
            _parser().error("too few arguments")
        if options.command == "random-uuid":
            print(_random_uuid())
            return 0
        config = unchecked_config(options.config)
        return _info(config) if options.command == "info" else _format(config, options)
    except (_RefusedError, ConfigError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _parser() -> _Parser:
    parser = _Parser("kafka-storage", description=_ABOUT)
    commands = parser.add_subparsers(dest="command")
    info = commands.add_parser("info", help="Get information about the Kafka log directories on this node.")
    formatting = commands.add_parser("format", help="Format the Kafka log directories on this node.")
    commands.add_parser("random-uuid", help="Print a random UUID.")
    for each in (info, formatting):
        each.add_argument("--config", "-c", type=Path, required=True, help="The Kafka configuration file to use.")
    add = formatting.add_argument
    add("--cluster-id", "-t", required=True, help="The cluster ID to use; the broker chooses its own.")
    add("--add-scram", "-S", action="append", default=[], help="A SCRAM user: MECHANISM=[name=N,password=P].")
    add("--ignore-formatted", "-g", action="store_true", help="Pass over directories that are formatted.")
    add("--release-version", "-r", help="Taken without effect.")
    add("--feature", "-f", action="append", help="Taken without effect.")
    voters = formatting.add_mutually_exclusive_group()
    voters.add_argument("--standalone", "-s", action="store_true", help="Taken without effect.")
    voters.add_argument("--no-initial-controllers", "-N", action="store_true", help="Taken without effect.")
    voters.add_argument("--initial-controllers", "-I", help="Taken without effect.")
    return parser


def _random_uuid() -> str:
    """A random id as Kafka makes them: none is reserved, and none begins like an option."""
    while True:
        made = uuid4()
        text = uuid_text(made)
        if made not in _RESERVED and not text.startswith("-"):
            return text


def _format(config: Config, options: argparse.Namespace) -> int:
    if config.kraft_node is None:
        raise _RefusedError(_LEGACY_FORMAT)
    users = [_scram_user(each) for each in options.add_scram]
    directories = sorted(config.log_dirs)
    unformatted = [each for each in directories if not (Path(each) / _META).exists()]
    for directory in directories:
        _check_cluster_id(Path(directory) / _META, options.cluster_id)
    if not options.ignore_formatted and len(unformatted) < len(directories):
        formatted = next(each for each in directories if each not in unformatted)
        raise _RefusedError(
            f"Log directory {formatted} is already formatted. Use --ignore-formatted to ignore this directory and "
            "format the others."
        )
    for user in users:
        _set_user(user, config.log_dirs[0])
    if not unformatted:
        print("All of the log directories are already formatted.")
    for directory in sorted(unformatted, key=lambda each: each == config.log_dirs[0]):
        kind = "metadata" if directory == config.log_dirs[0] else "data"
        print(f"Formatting {kind} directory {directory} with metadata.version {_RELEASE}.")
    return 0


def _set_user(user: _ScramUser, directory: str) -> None:
    """Make the user as ``pybroker user set`` does, in the directory of a broker that is stopped."""
    command = [sys.executable, "-m", "pybroker", "user", "set", user.name, "--place", directory]
    command += ["--mechanism", user.mechanism, *(("--iterations", user.iterations) if user.iterations else ())]
    done = subprocess.run(command, input=f"{user.password}\n", capture_output=True, text=True, check=False)
    if done.returncode:
        raise _RefusedError(done.stderr.strip())


def _check_cluster_id(file: Path, wanted: str) -> None:
    """Raises _RefusedError for a directory of another KRaft cluster. A pybroker's cluster id is not the given one."""
    told = _properties(file) if file.exists() else {}
    known = told.get("cluster.id")
    if told.get("version") == _OF_KRAFT and known != wanted:
        raise _RefusedError(f"Invalid cluster.id in: {file}. Expected {wanted}, but read {known}")


def _info(config: Config) -> int:
    found: list[str] = []
    problems: list[str] = []
    known: dict[str, str] = {}
    for directory in sorted(config.log_dirs):
        if not os.path.isdir(directory):
            what = "is not a directory" if os.path.exists(directory) else "does not exist"
            problems.append(f"{directory} {what}")
            continue
        found.append(directory)
        file = Path(directory) / _META
        if not file.exists():
            problems.append(f"{directory} is not formatted.")
            continue
        told = _properties(file)
        problems += _mismatches(known, told) if known else ()
        known = known or told
    is_kraft = config.kraft_node is not None
    if is_kraft and known.get("version") == _OF_LEGACY_MODE:
        problems.append(_LEGACY_DIRECTORIES)
    elif not is_kraft and known.get("version") == _OF_KRAFT:
        problems.append(_KRAFT_DIRECTORIES)
    _print_list("log directory" if len(found) == 1 else "log directories", found)
    if known:
        print(f"Found metadata: {{{', '.join(f'{name}={known[name]}' for name in sorted(known))}}}\n")
    _print_list("problem" if len(problems) == 1 else "problems", problems)
    return 1 if problems else 0


def _properties(file: Path) -> dict[str, str]:
    return {each.name: each.value for each in read_properties(file).values()}


def _print_list(title: str, lines: Sequence[str]) -> None:
    if lines:
        print(f"Found {title}:", *(f"  {each}" for each in lines), "", sep="\n")


def _mismatches(first: dict[str, str], other: dict[str, str]) -> Iterator[str]:
    """The problem of two directories that belong to different clusters or brokers."""
    if first.get("cluster.id") != other.get("cluster.id"):
        yield "Mismatched cluster IDs between storage directories."
    elif _node_id(first) != _node_id(other):
        yield "Mismatched node IDs between storage directories."


def _node_id(properties: dict[str, str]) -> str | None:
    return properties.get("node.id", properties.get("broker.id"))

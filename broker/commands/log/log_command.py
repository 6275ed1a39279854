"""``pybroker log``: prints, checks and summarises the files of log directories."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ....base.command_parser import BAD_INPUT, FAILED, CommandError, CommandParser

__all__ = ["log_command"]


class _Tool(NamedTuple):
    summary: str
    run: Callable[[Sequence[str]], int]


def _dump(arguments: Sequence[str]) -> int:
    from .dump_command import dump_command

    return dump_command(arguments)


def _verify(arguments: Sequence[str]) -> int:
    from .verify_command import verify_command

    return verify_command(arguments)


def _stat(arguments: Sequence[str]) -> int:
    from .stat_command import stat_command

    return stat_command(arguments)


_TOOLS: Mapping[str, _Tool] = {
    "dump": _Tool("print the contents of files, in the format of kafka-dump-log or as JSON", _dump),
    "verify": _Tool("check that the files are sound", _verify),
    "stat": _Tool("summarise each partition: size, segments, records, offsets, times", _stat),
}


def log_command(arguments: Sequence[str]) -> int:
    """The command; returns its exit code. Raises CommandError."""
    if arguments and arguments[0] in _TOOLS:
        return _run(_TOOLS[arguments[0]], arguments[1:])
    parser = CommandParser(
        "pybroker log",
        "Reads the log directories of a broker, pybroker or Apache Kafka, running or stopped. Changes nothing.",
        usage=f"pybroker log {{{','.join(_TOOLS)}}} [options] PATH...",
        epilog="\n".join(
            [
                "tools (see pybroker log TOOL --help):",
                *(f"  {name:<8} {_TOOLS[name].summary}" for name in _TOOLS),
            ]
        ),
    )
    parser.add_argument("tool", metavar="TOOL", nargs="?", choices=tuple(_TOOLS), help=", ".join(_TOOLS))
    parser.parse_known_args([each for each in arguments if each.startswith("-")])
    given = [each for each in arguments if not each.startswith("-")]
    wrong = f"{given[0]}: unknown tool" if given else "a tool is missing"
    raise CommandError(f"{wrong}; tools: {', '.join(_TOOLS)} (see pybroker log --help)", BAD_INPUT)


def _run(tool: _Tool, arguments: Sequence[str]) -> int:
    try:
        return tool.run(arguments)
    except BrokenPipeError:  # the reader (``| head``) is gone; Python must not flush again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        reason = error.strerror or str(error)
        where = f"{error.filename}: " if error.filename else ""
        missing = isinstance(error, FileNotFoundError)
        raise CommandError(f"{where}{reason}", BAD_INPUT if missing else FAILED) from error

"""``pybroker log``: what stands in log directories, whether it is sound, and how much it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..command_parser import BAD_INPUT, FAILED, CommandError, CommandParser

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
    "dump": _Tool("print what stands in files and directories, as kafka-dump-log does or as JSON", _dump),
    "verify": _Tool("check that what stands there is sound", _verify),
    "stat": _Tool("sum up sizes, segments, records, offsets and times of each partition", _stat),
}


def log_command(arguments: Sequence[str]) -> int:
    """The command; returns its exit code. Raises CommandError."""
    if arguments and arguments[0] in _TOOLS:
        return _run(_TOOLS[arguments[0]], arguments[1:])
    parser = CommandParser(
        "pybroker log",
        "Looks into the log directories of a broker, pybroker's or Apache Kafka's, running or stopped.",
        usage=f"pybroker log {{{','.join(_TOOLS)}}} [options] PATH...",
        epilog="\n".join(
            [
                "tools (pybroker log TOOL --help tells more):",
                *(f"  {name:<8} {_TOOLS[name].summary}" for name in _TOOLS),
            ]
        ),
    )
    parser.add_argument("tool", metavar="TOOL", nargs="?", help=", ".join(_TOOLS))
    options, _ = parser.parse_known_args(arguments)
    wrong = "which tool" if options.tool is None else f"{options.tool}: there is no such tool"
    raise CommandError(f"{wrong}: {', '.join(_TOOLS)}? (pybroker log --help tells more)", BAD_INPUT)


def _run(tool: _Tool, arguments: Sequence[str]) -> int:
    try:
        return tool.run(arguments)
    except BrokenPipeError:  # ``| head`` has read enough; Python must not try to flush again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        reason = error.strerror or str(error)
        where = f"{error.filename}: " if error.filename else ""
        missing = isinstance(error, FileNotFoundError)
        raise CommandError(f"{where}{reason}", BAD_INPUT if missing else FAILED) from error

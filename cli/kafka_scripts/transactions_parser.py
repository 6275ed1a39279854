"""The arguments of ``kafka-transactions``: a command with its own options, as argparse4j reads them."""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from .script_parser import VERSION, UsageError

__all__ = ["parsed_options", "transactions_parser"]

_ABOUT = (
    "This tool is used to analyze the transactional state of producers in the cluster. It can be used to detect and "
    "recover from hanging transactions."
)
_NO_NUMBER = r"""argument \1: could not convert '\2' to Integer (For input string: "\2")"""
_HELP = {
    "list": "list transactions",
    "describe": "describe the state of an active transactional-id",
    "describe-producers": "describe the states of active producers for a topic partition",
    "abort": "abort a hanging transaction (requires administrative privileges)",
    "find-hanging": "find hanging transactions",
}


_WORDS = (
    (re.compile(r"the following arguments are required: (--[\w-]+).*"), r"argument \1 is required"),
    (re.compile(r"argument COMMAND: (invalid choice: .*)"), r"\1"),
    (re.compile(r"argument (--[\w-]+): invalid int value: '(.*)'", re.DOTALL), _NO_NUMBER),
    (re.compile(r"unrecognized arguments: (.*)", re.DOTALL), r"unrecognized arguments: '\1'"),
)
"""Errors of argparse, and of argparse4j."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        for pattern, words in _WORDS:
            if found := pattern.fullmatch(message):
                message = found.expand(words)
        raise UsageError(f"{self.format_usage()}{self.prog}: error: {message}\n")


def transactions_parser(commands: Iterable[str]) -> argparse.ArgumentParser:
    """A parser for these commands."""
    parser = _Parser(prog="kafka-transactions.sh", description=_ABOUT)
    parser.add_argument("-v", "--version", action="store_true", help="show the version and exit")
    parser.add_argument("--command-config", metavar="FILE", type=Path, help="properties of the admin client")
    parser.add_argument("--bootstrap-server", metavar="host:port", help="brokers to connect to; must be given")
    places = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND", parser_class=_Parser)
    added = {name: places.add_parser(name, help=_HELP[name], prog="kafka-transactions.sh") for name in commands}
    added["list"].add_argument("--duration-filter", type=int, help="only transactions open for longer, in ms")
    added["describe"].add_argument("--transactional-id", required=True, help="transactional id")
    for name in ("describe-producers", "abort"):
        added[name].add_argument("--topic", required=True, help="topic name")
        added[name].add_argument("--partition", type=int, required=True, help="partition number")
    for name in ("describe-producers", "find-hanging"):
        added[name].add_argument("--broker-id", type=int, help="only what this broker knows")
    for name in ("start-offset", "producer-id", "producer-epoch", "coordinator-epoch"):
        added["abort"].add_argument(f"--{name}", type=int, help=f"{name.replace('-', ' ')} of the transaction")
    added["find-hanging"].add_argument("--topic", help="topic name to limit search to")
    added["find-hanging"].add_argument("--partition", type=int, help="partition number")
    added["find-hanging"].add_argument(
        "--max-transaction-timeout", type=int, default=15, help="minutes without writes, at least (15)"
    )
    return parser


def parsed_options(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace | None:
    """The options. None after the version or the help was printed. Raises UsageError."""
    try:
        options = parser.parse_args(arguments)
    except SystemExit:  # after the help
        return None
    if options.version:
        sys.stdout.write(f"{VERSION}\n")
        return None
    if options.command is None:
        parser.error("too few arguments")
    if options.bootstrap_server is None:
        parser.error("argument --bootstrap-server is required")
    return options

"""Parses arguments as Kafka's scripts do (jopt-simple), with the same first line of an error, and exit code 1."""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

from ...base.command_parser import BAD_INPUT, CommandError

__all__ = [
    "VERSION",
    "ScriptParser",
    "UsageError",
    "check_required",
    "check_together",
    "check_without",
    "is_given",
    "number_given",
]

VERSION = "3.9.1"
"""The version of Apache Kafka whose scripts these are like."""
_NO_VALUE = re.compile(r"argument --([\w-]+): expected (?:one|at least one) argument")
_WRONG_VALUE = re.compile(r"argument --([\w-]+): invalid \S+ value: (.*)", re.DOTALL)


class UsageError(Exception):
    """Why the arguments are refused. The help follows it."""


class ScriptParser(argparse.ArgumentParser):
    """Options begin with two dashes and may be abbreviated."""

    def __init__(self, script: str, description: str) -> None:
        super().__init__(prog=f"{script}.sh", description=description, add_help=False)
        self.add_argument("--help", action="store_true", help="Print usage information.")
        self.add_argument("--version", action="store_true", help="Display Kafka version.")

    def error(self, message: str) -> NoReturn:
        if missing := _NO_VALUE.match(message):
            raise UsageError(f"Option {missing[1]} requires an argument")
        if wrong := _WRONG_VALUE.match(message):
            raise UsageError(f"Cannot parse argument {wrong[2]} of option {wrong[1]}")
        raise UsageError(message)

    def parsed(self, arguments: Sequence[str], *, may_be_empty: bool = False) -> argparse.Namespace | None:
        """The options. None after the version was printed. Raises UsageError, also when help is wanted."""
        options, unknown = self.parse_known_args(arguments)
        if unknown:
            name = unknown[0].partition("=")[0].lstrip("-")
            raise UsageError(f"{name} is not a recognized option" if unknown[0].startswith("-") else unknown[0])
        if options.help or not (arguments or may_be_empty):
            raise UsageError(str(self.description))
        if options.version:
            sys.stdout.write(f"{VERSION}\n")
            return None
        return options

    def refuse(self, reason: UsageError) -> int:
        """Print why the arguments are refused, and the help; returns the exit code."""
        sys.stderr.write(f"{reason}\n{self.format_help()}")
        return 1


def check_required(options: argparse.Namespace, names: Iterable[str]) -> None:
    """Raises UsageError for the first of these options that is missing."""
    for name in names:
        if getattr(options, name.replace("-", "_")) is None:
            raise UsageError(f'Missing required argument "[{name}]"')


def check_together(options: argparse.Namespace, action: str, forbidden: Iterable[str]) -> None:
    """Raises UsageError for an option that the action does not take."""
    for name in _given(options, forbidden):
        raise UsageError(f'Option "[{name}]" can\'t be used with option "[{action}]"')


def check_without(options: argparse.Namespace, option: str, forbidden: Iterable[str]) -> None:
    """As `check_together`; Kafka's scripts other than ``kafka-topics`` name the options in this order."""
    for name in _given(options, forbidden):
        raise UsageError(f'Option "[{option}]" can\'t be used with option "[{name}]"')


def _given(options: argparse.Namespace, names: Iterable[str]) -> list[str]:
    return [name for name in names if is_given(options, name)]


def number_given(options: argparse.Namespace, name: str) -> int:
    """The value of an option that some of Kafka's scripts read late. Raises CommandError unless it is a number."""
    text: str = getattr(options, name.replace("-", "_"))
    try:
        return int(text)
    except ValueError:
        raise CommandError(f"Cannot parse argument '{text}' of option {name}", BAD_INPUT) from None


def is_given(options: argparse.Namespace, name: str) -> bool:
    """Whether the option is there, also when its value is 0."""
    value = getattr(options, name.replace("-", "_"))
    return value is not None and value is not False and value != []

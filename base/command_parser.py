"""The argument parser and the error that all commands share, and their exit codes."""

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import NoReturn

__all__ = ["BAD_INPUT", "FAILED", "CommandError", "CommandParser", "named_values", "parser_of"]

FAILED, BAD_INPUT = 1, 2
_NO_NUMBER = re.compile(r"invalid (\w+) value: (.*)", re.DOTALL)
"""The words of argparse for a text that the function in ``type`` takes for no number; they name the function."""


class CommandError(Exception):
    """Why a command failed, as one line for the user."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class _FoundParserError(Exception):
    """Raised in place of parsing, so that a command gets no further."""

    def __init__(self, parser: "CommandParser") -> None:
        super().__init__()
        self.parser = parser


_is_sought = ContextVar("is_sought", default=False)


class CommandParser(argparse.ArgumentParser):
    """Raises CommandError for bad input, where argparse would print the usage and exit."""

    def __init__(
        self, prog: str, description: str | None = None, *, usage: str | None = None, epilog: str | None = None
    ) -> None:
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def parse_known_args(  # type: ignore[override]  # no command has a namespace of its own
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        if _is_sought.get():
            raise _FoundParserError(self)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        message = _NO_NUMBER.sub(_needs_number, message)
        raise CommandError(f"{message} (see {self.prog} --help)", BAD_INPUT)


def _needs_number(found: re.Match[str]) -> str:
    try:
        is_whole = found[1] == "int" or float(found[2].strip("'")) is not None
    except ValueError:
        is_whole = False
    return f"must be a {'whole ' if is_whole else ''}number, not {found[2]}"


def parser_of(command: Callable[[Sequence[str]], object], arguments: Sequence[str]) -> CommandParser | None:
    """The parser that a command would read these arguments with; None if it refuses them before. The command must do
    nothing before it parses, because it is called.
    """
    token = _is_sought.set(True)
    try:
        command(arguments)
    except _FoundParserError as found:
        return found.parser
    except CommandError:
        return None
    finally:
        _is_sought.reset(token)
    return None


def named_values(pairs: Iterable[str], option: str = "") -> dict[str, str]:
    """Values by name of texts NAME=VALUE; the last value of a name wins. ``option``: for the text of a CommandError."""
    values = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise CommandError(f"{option} {pair}: must be NAME=VALUE".lstrip(), BAD_INPUT)
        values[name.strip()] = value
    return values

"""The argument parser and the error that all commands share, and their exit codes."""

import argparse
from collections.abc import Iterable
from typing import NoReturn

__all__ = ["BAD_INPUT", "FAILED", "CommandError", "CommandParser", "named_values"]

FAILED, BAD_INPUT = 1, 2


class CommandError(Exception):
    """Why a command failed, as one line for the user."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


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

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message} (see {self.prog} --help)", BAD_INPUT)


def named_values(pairs: Iterable[str], option: str = "") -> dict[str, str]:
    """Values by name of texts NAME=VALUE; the last value of a name wins. ``option``: for the text of a CommandError."""
    values = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise CommandError(f"{option} {pair}: must be NAME=VALUE".lstrip(), BAD_INPUT)
        values[name.strip()] = value
    return values

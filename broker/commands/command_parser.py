"""What the subcommands of ``pybroker`` share: how arguments are read, how one ends that could not do its work."""

import argparse
from collections.abc import Iterable
from typing import NoReturn

__all__ = ["BAD_INPUT", "FAILED", "CommandError", "CommandParser", "parse_overrides"]

FAILED, BAD_INPUT = 1, 2


class CommandError(Exception):
    """Why a command could not do its work, in one plain line for the person at the terminal."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class CommandParser(argparse.ArgumentParser):
    """Raises CommandError for bad input, in place of printing how the command is used."""

    def __init__(self, prog: str, description: str, *, usage: str | None = None, epilog: str | None = None) -> None:
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message} ({self.prog} --help tells more)", BAD_INPUT)


def parse_overrides(pairs: Iterable[str]) -> dict[str, str]:
    """What ``--override NAME=VALUE``, again and again, says; the last one of a name counts. Raises CommandError."""
    overrides = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise CommandError(f"--override {pair}: must be NAME=VALUE", BAD_INPUT)
        overrides[name.strip()] = value
    return overrides

"""Reads a new password: from a file, from standard input, or from a person who types it twice."""

import getpass
import sys
from pathlib import Path

from ...base.command_parser import BAD_INPUT, CommandError

__all__ = ["new_password"]


def new_password(file: Path | None = None) -> str:
    """The first line of the file, of standard input, or what a person types. Raises CommandError."""
    if file is not None:
        try:
            password = file.read_text().partition("\n")[0].rstrip("\r")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"--password-file {file} cannot be read: {error}", BAD_INPUT) from None
    elif not sys.stdin.isatty():
        password = sys.stdin.readline().rstrip("\r\n")
    else:
        password = getpass.getpass("Password: ")
        if getpass.getpass("The same again: ") != password:
            raise CommandError("the two passwords differ; nothing was changed", BAD_INPUT)
    if not password:
        raise CommandError("the password is empty; nothing was changed", BAD_INPUT)
    return password

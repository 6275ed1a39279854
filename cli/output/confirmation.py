"""Asks before something is lost."""

import sys

from ...base.command_parser import BAD_INPUT, FAILED, CommandError
from ...base.printable import printable

__all__ = ["confirm"]


def confirm(question: str) -> None:
    """Ask a person. Raises CommandError without a yes, and when there is no terminal to ask on."""
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        raise CommandError("there is no terminal to ask on; give --yes to do it without a question", BAD_INPUT)
    sys.stderr.write(f"{printable(question)} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandError("nothing was changed", FAILED)

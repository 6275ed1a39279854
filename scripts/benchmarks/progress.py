"""Prints progress lines to standard error, apart from the table on standard output."""

import sys

__all__ = ["progress"]


def progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

"""Lines about what is being measured, beside the table on standard output."""

import sys

__all__ = ["progress"]


def progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

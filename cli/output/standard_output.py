"""Tells failures of standard output, such as a full disk, from those of everything else."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["OutputError", "discard_output", "guarded_output"]


class OutputError(Exception):
    """Standard output cannot be written; `is_reader_gone`: its reader, such as ``| head``, has seen enough."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output cannot be written: {error.strerror}")
        self.is_reader_gone = isinstance(error, BrokenPipeError)


@contextmanager
def guarded_output() -> Iterator[None]:
    """Within it, and at its end, writing to standard output raises OutputError in place of OSError.

    An output that is no file of the system stays as it is.
    """
    before = sys.stdout
    if not isinstance(before, io.TextIOWrapper) or not isinstance(_raw_of(before), io.FileIO):
        yield
        return
    before.flush()
    raw = _RawOutput(before.fileno(), "w", closefd=False)
    sys.stdout = io.TextIOWrapper(
        raw if before.buffer is _raw_of(before) else io.BufferedWriter(raw),  # -u: no buffer
        encoding=before.encoding,
        errors=before.errors,
        line_buffering=before.line_buffering,
        write_through=before.write_through,
    )
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OutputError:
        discard_output()
        raise
    finally:
        sys.stdout = before


def discard_output() -> None:
    """Discard what is still buffered: Python must not write to it again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _raw_of(stream: io.TextIOWrapper) -> object:
    return getattr(stream.buffer, "raw", stream.buffer)


class _RawOutput(io.FileIO):
    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OutputError(error) from error

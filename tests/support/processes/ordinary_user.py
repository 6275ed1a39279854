"""Runs a function without the power of root to use files whatever their permissions are."""

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

import pytest

__all__ = ["as_ordinary_user"]

Result = TypeVar("Result")

_VERSION_3 = 0x20080522


def as_ordinary_user(function: Callable[[], Result]) -> Result:
    """Returns or raises what `function` does, in a thread that has no capabilities if this process is root's."""
    if os.geteuid():
        return function()
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux takes the power of root from a single thread")
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            _drop_capabilities()
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _drop_capabilities() -> None:
    """For this thread, and for the threads that it starts."""
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    library = ctypes.CDLL(None, use_errno=True)
    if library.capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "capset failed")

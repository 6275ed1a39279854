"""Callbacks of several who wait for the same thing: where one fails, the others are called all the same."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec

__all__ = ["call_apart"]

Arguments = ParamSpec("Arguments")


def call_apart(callback: Callable[Arguments, object], *arguments: Arguments.args, **named: Arguments.kwargs) -> None:
    """Call it on the running loop. What it raises goes where the loop's own callbacks' errors go, and no further: it is
    a bug, of one who waits and not of those behind."""
    try:
        callback(*arguments, **named)
    except Exception as error:
        asyncio.get_running_loop().call_exception_handler({"message": "a callback failed", "exception": error})

"""Calls callbacks so that the failure of one does not keep the others from being called."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec

__all__ = ["call_isolated"]

Arguments = ParamSpec("Arguments")


def call_isolated(callback: Callable[Arguments, object], *arguments: Arguments.args, **named: Arguments.kwargs) -> None:
    """Call `callback` on the running event loop. An exception goes to the loop's exception handler, as a bug."""
    try:
        callback(*arguments, **named)
    except Exception as error:
        asyncio.get_running_loop().call_exception_handler({"message": "a callback failed", "exception": error})

"""Collects exceptions of callbacks that reached the running loop's handler."""

import asyncio
from typing import Any

__all__ = ["loop_errors", "on_purpose"]


def loop_errors() -> list[str]:
    """A list to which the texts of further errors are added."""
    texts: list[str] = []

    def note(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        texts.append(str(context["exception"]))

    asyncio.get_running_loop().set_exception_handler(note)
    return texts


def on_purpose(*_: object) -> None:
    """A callback that fails."""
    raise ValueError("on purpose")

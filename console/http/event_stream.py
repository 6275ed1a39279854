"""A reply of server-sent events, which ends when its reader goes away or does not read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .json_text import json_text

SLOW_READER_S = 60.0
PING = b": ping\n\n"


def event(name: str, data: Any) -> bytes:
    """Returns one event."""
    return event_of_json(name, json_text(data))


def event_of_json(name: str, data: str) -> bytes:
    """Returns one event. `data` is JSON in ASCII, so it has no line ends."""
    return f"event: {name}\ndata: {data}\n\n".encode("ascii")


class EventStream(Response):
    """Sends the events that an iterator yields. A send waits while the reader's buffers are full."""

    def __init__(self, events: AsyncIterator[bytes]) -> None:
        super().__init__(media_type="text/event-stream")
        del self.headers["content-length"]
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        sending = asyncio.ensure_future(self._send_events(send))
        watching = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait([sending, watching], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, watching):
                task.cancel()
            for task in (sending, watching):
                with suppress(asyncio.CancelledError, OSError, TimeoutError):
                    await task

    async def _send_events(self, send: Send) -> None:
        async with aclosing(self._events) as events:  # type: ignore[type-var]
            async for each in events:
                async with asyncio.timeout(SLOW_READER_S):
                    await send({"type": "http.response.body", "body": each, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

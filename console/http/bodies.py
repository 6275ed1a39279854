"""Reads the JSON bodies of requests, with bounds on their size and time."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.requests import ClientDisconnect, Request

from .replies import HttpProblem

MAX_BODY_BYTES = 2 << 20
_BODY_S = 20.0


async def json_body(request: Request) -> dict[str, Any]:
    """Returns the object in the body; an empty body is an empty object. Raises HttpProblem."""
    try:
        async with asyncio.timeout(_BODY_S):
            body = await _body(request)
    except TimeoutError:
        raise HttpProblem(408, "the request's body did not arrive in time") from None
    except ClientDisconnect:
        raise HttpProblem(400, "the request's body is cut off") from None
    if not body:
        return {}
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise HttpProblem(400, "the request's body is not JSON") from None
    if not isinstance(value, dict):
        raise HttpProblem(400, "the request's body must be a JSON object")
    return value


async def _body(request: Request) -> bytes:
    pieces = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > MAX_BODY_BYTES:
            raise HttpProblem(413, f"the request's body is larger than {MAX_BODY_BYTES} bytes")
        pieces.append(piece)
    return b"".join(pieces)


def text_field(body: dict[str, Any], name: str) -> str:
    """Returns a text that must be given and not empty. Raises HttpProblem."""
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise HttpProblem(400, f"'{name}' must be given as a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise HttpProblem(400, f"'{name}' is not valid Unicode") from None
    return value


def number_field(body: dict[str, Any], name: str, least: int, most: int) -> int | None:
    """Returns a whole number, None if it is null or missing. Raises HttpProblem."""
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise HttpProblem(400, f"'{name}' must be a whole number from {least} to {most}")
    return value

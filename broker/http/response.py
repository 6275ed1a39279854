"""An HTTP response, as handlers return it."""

import json
from collections.abc import AsyncIterator
from typing import Any, Self

from ...base.frozen import frozen
from .http_error import HttpError

__all__ = ["JSON", "TEXT", "HttpResponse"]

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"


@frozen
class HttpResponse:
    """``body``: bytes, or an iterator whose pieces are sent one by one, each when the client has taken the one before.

    An iterator that has ``aclose`` is closed when the client goes away.
    """

    status: int = 200
    body: bytes | AsyncIterator[bytes] = b""
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def json(cls, value: Any, status: int = 200) -> Self:
        """``value``: small, because it is encoded on the event loop. Half surrogate pairs become escapes."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return cls(status, text.encode(errors="backslashreplace") + b"\n")

    @classmethod
    def of_error(cls, error: HttpError) -> Self:
        """``{"error": text}``."""
        body = json.dumps({"error": error.text}).encode() + b"\n"
        return cls(error.status, body, headers=error.headers)

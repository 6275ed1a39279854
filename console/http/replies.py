"""Replies as JSON, and the status of each kind of error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from itertools import islice
from typing import Any

from starlette.responses import Response, StreamingResponse

from ...client.connection import TlsError
from ...client.given_options import OptionError
from ...protocol.client import UnsupportedApiError
from ...protocol.errors import ErrorCode, KafkaError
from .json_text import json_text

_NOT_FOUND = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.OFFSET_OUT_OF_RANGE,
    ErrorCode.BROKER_NOT_AVAILABLE,
}
_FORBIDDEN = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
}
_CONFLICT = {ErrorCode.NON_EMPTY_GROUP, ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}
_UNAVAILABLE = {ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.REQUEST_TIMED_OUT}
_MAX_CHARACTERS = 500
_ITEMS_AT_ONCE = 100


class HttpProblem(Exception):  # noqa: N818 (an error of the request, as HTTP calls it)
    """A request that is answered with an error of this status."""

    def __init__(self, status: int, text: str, code: str | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.code = code


def json_reply(value: Any, status: int = 200) -> Response:
    """Returns JSON in ASCII; a text from a record may have lone surrogates, which UTF-8 has not."""
    return Response(json_text(value), status, media_type="application/json")


def list_reply(view: dict[str, Any], items: Iterable[Any]) -> Response:
    """Returns the JSON of `view` with the member `items`. Items are made and sent in parts: a list may be long."""
    return StreamingResponse(_list_pieces(view, iter(items)), media_type="application/json")


async def _list_pieces(view: dict[str, Any], items: Iterable[Any]) -> AsyncIterator[str]:
    head = json_text(view)[:-1] + ("," if view else "") + '"items":['
    while part := list(islice(items, _ITEMS_AT_ONCE)):
        yield head + json_text(part)[1:-1]
        head = ","
        await asyncio.sleep(0)
    yield "]}" if head == "," else f"{head}]}}"


def problem_of(error: Exception) -> HttpProblem | None:
    """Returns how an error is answered; None for a bug of ours."""
    if isinstance(error, HttpProblem):
        return error
    if isinstance(error, KafkaError):
        return HttpProblem(_status_of(error), _line(error), ErrorCode(error.code).name)
    if isinstance(error, TimeoutError):
        return HttpProblem(504, _line(error))
    if isinstance(error, ConnectionError | TlsError | OptionError):
        return HttpProblem(502, _line(error))
    if isinstance(error, UnsupportedApiError):
        return HttpProblem(501, _line(error))
    return None


def error_reply(problem: HttpProblem) -> Response:
    """Returns `{"error", "code"}`."""
    return json_reply({"error": str(problem), "code": problem.code}, problem.status)


def _status_of(error: KafkaError) -> int:
    if error.code in _FORBIDDEN:
        return 403
    if error.code in _NOT_FOUND:
        return 404
    if error.code in _CONFLICT:
        return 409
    return 502 if error.retriable or error.code in _UNAVAILABLE else 400


def _line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"

"""Reads the requests to a test kit: bodies in JSON, arguments of acts, numbers in the query. Refuses with one line."""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import isinf
from typing import Any

from ..faults.fault_setter import FaultT
from ..faults.words import MAX_INT64, WordError, unknown_word
from ..http.http_error import HttpError
from ..http.request import HttpRequest
from .act_error import ActError, UnknownTopicError

__all__ = [
    "arguments",
    "body_of",
    "check_query",
    "check_writer",
    "fault_of",
    "refusals_as_http",
    "shape_of",
    "wish_of",
]

_DEFAULT_WAIT_MS = 10_000
_MAX_WAIT_MS = 60_000
_MAX_NUMBER = 1_000_000_000
_MOST_DIGITS = 20
_TYPES: Mapping[Any, tuple[type, ...]] = {str: (str,), int: (int,), float: (int, float)}
_JSON_TYPES = {str: "string", int: "integer", float: "number"}
_TYPE_NAMES = {str: "a text", int: "a whole number", float: "a number"}


def check_writer(request: HttpRequest) -> None:
    """Raises HttpError for a request that a web page sent: its reader did not choose to send it."""
    if "origin" in request.headers:
        raise HttpError(400, "requests of web pages are refused")


def check_query(request: HttpRequest, *known: str) -> None:
    for name in request.query:
        if name not in known:
            raise HttpError(400, unknown_word("parameter", name, known))


def body_of(request: HttpRequest) -> Mapping[str, Any]:
    """The JSON object of a request; empty without a body. Its texts are whole Unicode, its numbers finite."""
    check_writer(request)
    check_query(request)
    if not request.body:
        return {}
    try:
        body = json.loads(request.body, parse_constant=_refuse_constant, parse_float=_finite)
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise HttpError(400, "a text in the body has half of a surrogate pair, which is no character") from error
    except _TooLargeError as error:
        raise HttpError(400, "a number in the body is too large") from error
    except (ValueError, RecursionError) as error:
        raise HttpError(400, "the body is not JSON") from error
    if not isinstance(body, dict):
        raise HttpError(400, "the body is not a JSON object")
    return body


class _TooLargeError(ValueError):
    """A number has no value in floating point."""


def _finite(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise _TooLargeError
    return number


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def arguments(method: Callable[..., Any], body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body, checked against the parameters of an act. Raises ValueError."""
    parameters = inspect.signature(method, eval_str=True).parameters
    for name in body:
        if name not in parameters:
            raise ValueError(unknown_word("argument", name, parameters))
    for name, parameter in parameters.items():
        if name not in body:
            if parameter.default is parameter.empty:
                raise ValueError(f"{name} is missing")
            continue
        kinds = [each for each in _TYPES if each in (parameter.annotation, *_options(parameter.annotation))]
        value = body[name]
        if isinstance(value, bool) or not any(isinstance(value, _TYPES[kind]) for kind in kinds):
            expected = " or ".join(_TYPE_NAMES[kind] for kind in kinds)
            raise ValueError(WordError(name, expected, value).in_json({}))
        if isinstance(value, int | float) and abs(value) > MAX_INT64:
            raise ValueError(f"{name} is too large")
    return body


def _line_of(error: ValueError) -> str:
    """The line of an error, with values as they are in JSON."""
    return error.in_json({}) if isinstance(error, WordError) else str(error)


@contextmanager
def refusals_as_http() -> Iterator[None]:
    """Raises HttpError for what an act or a move of the clock refuses or cannot do."""
    try:
        yield
    except UnknownTopicError as error:
        raise HttpError(404, str(error)) from error
    except (ActError, TimeoutError) as error:
        raise HttpError(503, str(error)) from error
    except ValueError as error:
        raise HttpError(400, _line_of(error)) from error


def fault_of(faults: Iterable[FaultT], request: HttpRequest) -> FaultT:
    """The fault whose id is in the path of a request. Raises HttpError when there is none."""
    given = request.params["id"]
    for fault in faults:
        if str(fault.id) == given:
            return fault
    raise HttpError(404, "there is no such fault")


def shape_of(method: Callable[..., Any]) -> tuple[dict[str, list[str]], list[str]]:
    """The JSON types of an act's arguments by name, and the names of those that must be given."""
    parameters = inspect.signature(method, eval_str=True).parameters
    types = {
        name: [_JSON_TYPES[kind] for kind in _TYPES if kind in (each.annotation, *_options(each.annotation))]
        for name, each in parameters.items()
    }
    return types, [name for name, each in parameters.items() if each.default is each.empty]


def wish_of(request: HttpRequest) -> tuple[int, float] | None:
    """For how many firings of a fault the request waits, and how many seconds; None: it does not wait."""
    if "fired" not in request.query:
        return None
    count = _number(request, "fired", 1, _MAX_NUMBER)
    return count, _number(request, "timeout_ms", _DEFAULT_WAIT_MS, _MAX_WAIT_MS) / 1000


def _options(annotation: Any) -> tuple[Any, ...]:
    return getattr(annotation, "__args__", ())


def _number(request: HttpRequest, name: str, default: int, most: int) -> int:
    text = request.query.get(name)
    if text is None:
        return default
    if not text.isdecimal() or len(text) > _MOST_DIGITS or not 1 <= int(text) <= most:
        raise HttpError(400, f"{name} is a whole number from 1 to {most}")
    return int(text)

"""From a request's bytes to its answer's: decode, ask the handler, encode; and the one place where errors become codes.

An answer that a handler gives at once costs no task. What it gives later (an awaitable) is a task of the connection's.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from struct import Struct
from typing import Any

from ...controller.tree.metadata_store import ConnectionLossError, SessionExpiredError, StoreWriteError
from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.codec import DecodeError, EncodeError, Message, decode_prefix, encode_parts
from ...protocol.errors import ErrorCode, KafkaError, KafkaStorageError, NotControllerError, UnknownServerError
from ..network.protocol_sniffing import Offence
from ..network.request import CloseConnectionError, LaterReply, Reply, ReplyPart, Request
from .context import EncodedAnswer, Handler, RequestContext
from .failures import failure_needs_request, failure_response
from .shortcut import HasShortcut, Shortcut
from .unsupported_version import unsupported_version_response

__all__ = ["Dispatcher"]

logger = logging.getLogger(__name__)

PLAIN_RESPONSE_HEADER = Struct(">i")  # correlation id
FLEXIBLE_RESPONSE_HEADER = Struct(">ib")  # correlation id, no tagged fields
_NO_FRAME = bytearray()

MAX_REQUEST_ELEMENTS = 100_000
"""Default of ``pybroker.request.max.elements``."""


class Route:
    """What one version of one API is served by."""

    __slots__ = (
        "handler",
        "header",
        "is_named_in_failures",
        "key",
        "request_type",
        "shortcut",
        "version",
        "works_with_frame",
    )

    def __init__(self, key: ApiKey, version: int, handler: Handler) -> None:
        spec = API_SPECS[key]
        self.key = key
        self.version = version
        self.handler = handler
        self.request_type = spec.request_type()
        self.header = response_header(key, version)
        self.works_with_frame = key is ApiKey.PRODUCE  # its records are views of it
        self.is_named_in_failures = failure_needs_request(key)
        self.shortcut: Shortcut | None = None
        served_by: object = handler
        if isinstance(served_by, HasShortcut):
            self.shortcut = served_by.shortcut(version)


def response_header(key: ApiKey, version: int) -> Struct:
    return FLEXIBLE_RESPONSE_HEADER if API_SPECS[key].response_header_version(version) else PLAIN_RESPONSE_HEADER


class Dispatcher:
    """The network layer's handler. ``handlers`` is the table of all APIs that are served.

    ``max_elements``: how many elements the arrays of a request may have together.
    """

    def __init__(self, handlers: Mapping[ApiKey, Handler], max_elements: int = MAX_REQUEST_ELEMENTS) -> None:
        self._max_elements = max_elements
        self._handlers = handlers
        self._routes: dict[tuple[int, int], Route] = {}

    def __call__(self, request: Request) -> Reply:
        """The answer's parts, or what they can be awaited from.

        Raises CloseConnectionError for what cannot be answered: an API or version that is not served, a broken body.
        """
        route = self._routes.get((request.api_key, request.api_version)) or self._find_route(request)
        if route is None:
            return too_new_api_versions(request)
        shortcut = route.shortcut
        if shortcut is not None:
            try:
                answer = shortcut.answer(request)
            except CloseConnectionError:
                raise
            except Exception as error:
                answer = self._failure(route, request, None, error)
            if type(answer) is bytes:
                return [answer]
            if answer is not None:
                return self._reply(route, request, None, None, answer)
        message = self._decode(route, request)
        context = RequestContext.of(request)
        try:
            answer = route.handler(context, message)
        except CloseConnectionError:
            raise
        except Exception as error:
            answer = self._failure(route, request, message, error)
        return self._reply(route, request, context, message, answer)

    def _decode(self, route: Route, request: Request) -> Message:
        try:
            message, _ = decode_prefix(
                route.request_type, request.frame, route.version, request.header_size, self._max_elements
            )
        except DecodeError as error:
            raise CloseConnectionError(
                f"{describe(request)} could not be decoded: {error}", Offence.UNDECODABLE
            ) from error
        return message

    def _reply(
        self, route: Route, request: Request, context: RequestContext | None, message: Message | None, answer: Any
    ) -> Reply:
        """``context`` and ``message`` are None when a shortcut has answered."""
        if isinstance(answer, Message | EncodedAnswer):
            return self._encode(route, request, message, answer)
        if answer is None:
            return None
        if context is not None:
            request.abandon, context.abandon = context.abandon, None
        if not route.works_with_frame:
            request.frame = _NO_FRAME  # it may be large, and wait for as long as its client likes
        asked = message if route.is_named_in_failures else None
        if isinstance(answer, asyncio.Future):
            return LaterReply(answer, partial(self._settle, request, route, asked, answer.result))
        return self._answer_later(request, route, asked, answer)

    def _find_route(self, request: Request) -> Route | None:
        """Remembers the route; None when ApiVersions is asked for in a version that is not served (KIP-511)."""
        try:
            key = ApiKey(request.api_key)
            handler = self._handlers[key]
        except (ValueError, KeyError) as error:
            raise CloseConnectionError(f"API {request.api_key} is not served", Offence.NOT_SERVED) from error
        spec = API_SPECS[key]
        if not spec.min_version <= request.api_version <= spec.max_version:
            if key is ApiKey.API_VERSIONS:
                return None
            raise CloseConnectionError(
                f"{describe(request)} is not served: {spec.min_version} to {spec.max_version} are", Offence.NOT_SERVED
            )
        route = Route(key, request.api_version, handler)
        self._routes[key, request.api_version] = route
        return route

    def _settle(
        self, request: Request, route: Route, message: Message | None, result: Callable[[], Any]
    ) -> list[ReplyPart] | None:
        """The answer's parts, of a result or of what asking for it raises. Raises CloseConnectionError."""
        try:
            response = result()
        except CloseConnectionError:
            raise
        except Exception as error:
            response = self._failure(route, request, message, error)
        return None if response is None else self._encode(route, request, message, response)

    async def _answer_later(
        self, request: Request, route: Route, message: Message | None, answer: Awaitable[Any]
    ) -> list[ReplyPart] | None:
        try:
            response = await answer
        except CloseConnectionError:
            raise
        except Exception as error:
            response = self._failure(route, request, message, error)
        return None if response is None else self._encode(route, request, message, response)

    def _failure(self, route: Route, request: Request, message: Message | None, error: Exception) -> Any:
        if message is None and route.is_named_in_failures:  # a shortcut has answered
            message = self._decode(route, request)
        return failure_response(route.key, route.version, message, as_kafka_error(error, request))

    def _encode(
        self, route: Route, request: Request, message: Message | None, response: Message | EncodedAnswer
    ) -> list[ReplyPart]:
        if route.shortcut is not None and message is not None:  # else the shortcut has answered
            route.shortcut.learn(request, message, response)
        try:
            return encode_answer(route, request, response)
        except EncodeError as error:
            failed = self._failure(route, request, message, error)
            return encode_answer(route, request, failed)


def encode_answer(route: Route, request: Request, response: Message | EncodedAnswer) -> list[ReplyPart]:
    parts: list[ReplyPart]
    if isinstance(response, EncodedAnswer):
        parts = [*response.parts]
    else:
        parts = encode_parts(response, route.version)  # type: ignore[assignment]
    header = route.header
    if header is PLAIN_RESPONSE_HEADER:
        parts.insert(0, header.pack(request.correlation_id))
    else:
        parts.insert(0, header.pack(request.correlation_id, 0))
    return parts


def too_new_api_versions(request: Request) -> list[ReplyPart]:
    header = PLAIN_RESPONSE_HEADER.pack(request.correlation_id)
    return [header, *encode_parts(unsupported_version_response(), 0)]  # type: ignore[list-item]


def as_kafka_error(error: Exception, request: Request) -> KafkaError:
    """What nobody expected is logged with its traceback, and harms no other request."""
    if isinstance(error, KafkaError) and not isinstance(error, EncodeError):
        return error
    if isinstance(error, ConnectionLossError | SessionExpiredError):
        # Whether it was done nobody knows; clients look for the controller and try again.
        logger.warning("%s of client %s failed: %s", describe(request), request.client_id, error)
        return NotControllerError("The metadata store is out of reach.")
    if isinstance(error, StoreWriteError):  # the store has said why
        return KafkaStorageError("The metadata store cannot be written.")
    logger.error(
        "%s of client %s at %s failed", describe(request), request.client_id, request.connection, exc_info=error
    )
    return UnknownServerError(ErrorCode.UNKNOWN_SERVER_ERROR.name)


def describe(request: Request) -> str:
    try:
        name = ApiKey(request.api_key).name
    except ValueError:
        name = f"API {request.api_key}"
    return f"{name} v{request.api_version}"

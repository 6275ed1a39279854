"""The dispatcher: decodes each request, calls the handler of its API, and encodes the response.

Every request from a socket passes here. Requests that this broker sends to itself as the controller call handlers
directly (`ClusterLinks`). Steps: 1. the API and version are looked up; 2. the body is decoded, by the API's own codec
where that knows such requests, else by the general one; 3. the handler is called; 4. an error becomes the error codes
of the response; 5. the response is given its throttle time and encoded. A response that is there at once costs no
task; the connection awaits one that comes later. The gate (`broker/network/admission/gate.py`) admits and times.
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
from ..network.offender_log import Violation
from ..network.request import CloseConnectionError, LaterReply, Reply, ReplyPart, Request
from .context import Authorizer, EncodedResponse, Handler, RequestContext
from .error_counts import count_errors, error_places
from .failures import failure_needs_request, failure_response
from .request_codec import HasRequestCodec, RequestCodec
from .served_versions import OWN_VERSIONS, ServedVersions
from .throttling import Throttling

__all__ = ["Dispatcher"]

logger = logging.getLogger(__name__)

PLAIN_RESPONSE_HEADER = Struct(">i")  # correlation id
FLEXIBLE_RESPONSE_HEADER = Struct(">ib")  # correlation id, no tagged fields
_NO_FRAME = bytearray()
_RESPONSES = (Message, EncodedResponse)

MAX_REQUEST_ELEMENTS = 100_000
"""Default of ``pybroker.request.max.elements``."""


class Route:
    """How requests of one version of one API are served."""

    __slots__ = (
        "codec",
        "encoded_responses",
        "error_places",
        "errors",
        "failure_needs_request",
        "follower_requests",
        "handler",
        "has_throttle_time",
        "header",
        "key",
        "name",
        "request_type",
        "requests",
        "version",
        "works_with_frame",
    )

    def __init__(self, key: ApiKey, version: int, handler: Handler) -> None:
        spec = API_SPECS[key]
        self.key = key
        self.name = spec.name
        self.version = version
        self.handler = handler
        self.request_type = spec.request_type()
        self.header = response_header(key, version)
        self.works_with_frame = key is ApiKey.PRODUCE  # its records are views of it
        self.failure_needs_request = failure_needs_request(key)
        self.has_throttle_time = any(
            field.name == "throttle_time_ms" and version in field.versions
            for field in spec.response_type().SCHEMA.fields
        )
        self.requests = 0
        """How many were decoded."""
        self.follower_requests = 0
        """How many of them, once answered, were fetches of followers."""
        self.errors: dict[int, int] = {}
        """How often each error code was in a response, without those of ``encoded_responses``."""
        self.encoded_responses = 0
        """Responses that the handler encoded itself, with the code NONE once."""
        self.error_places = error_places(spec.response_type())
        self.codec: RequestCodec | None = None
        served_by: object = handler
        if isinstance(served_by, HasRequestCodec):
            self.codec = served_by.request_codec(version)


def response_header(key: ApiKey, version: int) -> Struct:
    return FLEXIBLE_RESPONSE_HEADER if API_SPECS[key].response_header_version(version) else PLAIN_RESPONSE_HEADER


class Dispatcher:
    """The network layer's handler. ``handlers`` is the table of all APIs that are served.

    ``max_elements``: how many elements the arrays of a request may have together. ``authorizer``: asked by handlers
    through their context; None: everybody may do everything. ``throttling``: the quotas of clients; None: there are
    none. ``versions``: a request of another API or version closes its connection.
    """

    def __init__(
        self,
        handlers: Mapping[ApiKey, Handler],
        max_elements: int = MAX_REQUEST_ELEMENTS,
        authorizer: Authorizer | None = None,
        throttling: Throttling | None = None,
        versions: ServedVersions = OWN_VERSIONS,
    ) -> None:
        self._versions = versions
        self._authorizer = authorizer
        self._throttling = throttling
        self._max_elements = max_elements
        self._handlers = handlers
        self._routes: dict[tuple[int, int], Route] = {}
        self.counts_errors = False
        """Whether the error codes of responses are counted."""

    def __call__(self, request: Request) -> Reply:
        """The parts of the response, or an object they can be awaited from.

        Raises CloseConnectionError for a request that cannot be answered: its API or version is not served, or its body
        cannot be decoded.
        """
        if self._throttling is not None and self._throttling.time.has_limits:
            return self._throttling.measured(request, self._handle)
        return self._handle(request)

    @property
    def handlers(self) -> Mapping[ApiKey, Handler]:
        """The table of all APIs that are served."""
        return self._handlers

    def routes(self) -> list[Route]:
        """Each version of each API that clients have requested."""
        return list(self._routes.values())

    def request_count(self) -> int:
        """How many requests were decoded."""
        return sum([route.requests for route in self._routes.values()])

    def _handle(self, request: Request) -> Reply:
        route = self._routes.get((request.api_key, request.api_version)) or self._find_route(request)
        if route is None:
            return self._too_new_api_versions(request)
        message = None if route.codec is None else route.codec.decode(request)
        if message is None:
            message = self._decode(route, request)
        route.requests += 1
        context = RequestContext.of(request, self._authorizer)
        try:
            response = route.handler(context, message)
        except CloseConnectionError:
            raise
        except Exception as error:
            response = self._failure(route, request, message, error)
        if response is None or isinstance(response, _RESPONSES):
            return self._finish(route, request, message, response)
        return self._reply_later(route, request, context, message, response)

    def _decode(self, route: Route, request: Request) -> Message:
        try:
            message, _ = decode_prefix(
                route.request_type, request.frame, route.version, request.header_size, self._max_elements
            )
        except DecodeError as error:
            raise CloseConnectionError(
                f"{describe(request)} could not be decoded: {error}", Violation.UNDECODABLE
            ) from error
        return message

    def _reply_later(
        self, route: Route, request: Request, context: RequestContext, message: Any, response: Awaitable[Any]
    ) -> LaterReply | Awaitable[list[ReplyPart] | None]:
        """Keep no more of the request than its response needs: it may wait for as long as its client likes."""
        request.abandon, context.abandon = context.abandon, None
        if not route.works_with_frame:
            request.frame = _NO_FRAME
        kept = message if route.failure_needs_request else None
        if isinstance(response, asyncio.Future):
            return LaterReply(response, partial(self._settle, request, route, kept, response.result))
        return self._await_response(request, route, kept, response)

    def _find_route(self, request: Request) -> Route | None:
        """Remembers the route; None for an ApiVersions request of a version that is not served (KIP-511)."""
        try:
            key = ApiKey(request.api_key)
            handler, versions = self._handlers[key], self._versions.accepted[key]
        except (ValueError, KeyError) as error:
            raise CloseConnectionError(f"API {request.api_key} is not served", Violation.NOT_SERVED) from error
        if request.api_version not in versions:
            if key is ApiKey.API_VERSIONS:
                return None
            raise CloseConnectionError(
                f"{describe(request)} is not served: {versions.first} to {versions.last} are", Violation.NOT_SERVED
            )
        route = Route(key, request.api_version, handler)
        self._routes[key, request.api_version] = route
        return route

    def _too_new_api_versions(self, request: Request) -> list[ReplyPart]:
        header = PLAIN_RESPONSE_HEADER.pack(request.correlation_id)
        return [header, *encode_parts(self._versions.too_new_api_versions(), 0)]  # type: ignore[list-item]

    def _settle(
        self, request: Request, route: Route, message: Any, result: Callable[[], Any]
    ) -> list[ReplyPart] | None:
        """The parts of the response that ``result`` returns, or of the error it raises. Raises CloseConnectionError."""
        try:
            response = result()
        except CloseConnectionError:
            raise
        except Exception as error:
            response = self._failure(route, request, message, error)
        return self._finish(route, request, message, response)

    async def _await_response(
        self, request: Request, route: Route, message: Any, awaitable: Awaitable[Any]
    ) -> list[ReplyPart] | None:
        try:
            response = await awaitable
        except CloseConnectionError:
            raise
        except Exception as error:
            response = self._failure(route, request, message, error)
        return self._finish(route, request, message, response)

    def _finish(
        self, route: Route, request: Request, message: Any, response: Message | EncodedResponse | None
    ) -> list[ReplyPart] | None:
        """The parts of the response; None sends nothing. Every request that is carried out ends here, and here its
        client is throttled: the response goes out at once, and then the connection is not read for a time (KIP-219).
        """
        if self._throttling is not None and self._throttling.quotas.has_limits:
            self._throttling.finish(route.key, request, has_response=response is not None)
        if request.is_from_follower:
            route.follower_requests += 1
        if request.throttle_time_ms:
            request.connection.throttle(request.throttle_time_ms / 1000)
            request.connection.throttled_ms += request.throttle_time_ms
        return None if response is None else self._encode(route, request, message, response)

    def _failure(self, route: Route, request: Request, message: Any, error: Exception) -> Any:
        return failure_response(route.key, route.version, message, as_kafka_error(error, request))

    def _encode(
        self, route: Route, request: Request, message: Any, response: Message | EncodedResponse
    ) -> list[ReplyPart]:
        """Header and body. Every response is encoded here, and says here for how long its client is throttled."""
        if route.header is PLAIN_RESPONSE_HEADER:
            header = PLAIN_RESPONSE_HEADER.pack(request.correlation_id)
        else:
            header = FLEXIBLE_RESPONSE_HEADER.pack(request.correlation_id, 0)
        if isinstance(response, EncodedResponse):
            body = response.encode_body(request.throttle_time_ms)
            if response.errors is None:
                route.encoded_responses += 1
            elif self.counts_errors:
                for code, count in response.errors.items():
                    route.errors[code] = route.errors.get(code, 0) + count
            return [header + body]
        if route.codec is not None and isinstance(message, route.request_type):
            route.codec.learn(request, message, response)
        if self.counts_errors:
            count_errors(route.error_places, response, route.errors)
        try:
            return [header, *encode_message(route, request.throttle_time_ms, response)]
        except EncodeError as error:
            failed = self._failure(route, request, message, error)
            return [header, *encode_message(route, request.throttle_time_ms, failed)]


def encode_message(route: Route, throttle_time_ms: int, response: Any) -> list[ReplyPart]:
    if throttle_time_ms and route.has_throttle_time:
        response.throttle_time_ms = throttle_time_ms
    return encode_parts(response, route.version)  # type: ignore[return-value]


def as_kafka_error(error: Exception, request: Request) -> KafkaError:
    """The error to answer with. An unexpected exception is logged with its traceback, and harms no other request."""
    if isinstance(error, KafkaError) and not isinstance(error, EncodeError):
        return error
    if isinstance(error, ConnectionLossError | SessionExpiredError):
        # The write may or may not have been done; clients look for the controller and try again.
        logger.warning("%s of client %s failed: %s", describe(request), request.client_id, error)
        return NotControllerError("The metadata store is out of reach.")
    if isinstance(error, StoreWriteError):  # the store has logged why
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

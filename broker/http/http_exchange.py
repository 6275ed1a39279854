"""Serves the requests of one HTTP connection, one after the other, by h11.

Imported by a worker when the first client connects, because h11 takes some milliseconds.
**Limits.** GET and HEAD without a body; methods that a route takes, with a body of `_MAX_BODY_BYTES`; a head of
`_MAX_HEAD_BYTES`. The wire gives a client a deadline between requests, for each head with its body, and for each piece
of a response. Requests that were sent ahead wait in the read buffer.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from typing import Any

import h11

from .encoding import Encoder
from .http_error import HttpError
from .request import HttpRequest
from .response import HttpResponse
from .router import only_served
from .wire import Wire

__all__ = ["HttpExchange"]

logger = logging.getLogger(__name__)

_MAX_HEAD_BYTES = 8 * 1024
_MAX_BODY_BYTES = 64 * 1024
_WITHOUT_BODY = frozenset(("GET", "HEAD"))
_ALWAYS = (
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
)
_REASONS = {
    200: "OK", 201: "Created", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed",
    413: "Content Too Large", 421: "Misdirected Request", 431: "Request Header Fields Too Large",
    500: "Internal Server Error", 501: "Not Implemented", 503: "Service Unavailable",
}  # fmt: skip

Answer = Callable[[HttpRequest, ExitStack], Awaitable[HttpResponse]]


class HttpExchange:
    """``answer`` returns the response to a request, and adds to the stack what ends when the response is sent; it may
    raise HttpError. ``turn`` returns when this request may take the time of the event loop. ``refused`` is told the
    status of each refusal. ``now_s``: a stopwatch. ``methods``: those that are served.
    """

    def __init__(
        self,
        wire: Wire,
        answer: Answer,
        encoder: Encoder,
        turn: Callable[[], Awaitable[None]],
        refused: Callable[[int], None],
        now_s: Callable[[], float],
        methods: Callable[[], frozenset[str]],
    ) -> None:
        self._protocol = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD_BYTES)
        self._wire = wire
        self._answer = answer
        self._encoder = encoder
        self._turn = turn
        self._refused = refused
        self._now_s = now_s
        self._methods = methods
        self.idle_since_s: float | None = now_s()
        """The time since which the client has no request under way; None while one is answered."""

    @property
    def has_unread(self) -> bool:
        """Whether the client has sent something behind the request that is answered."""
        return bool(self._protocol.trailing_data[0])

    async def serve(self) -> None:
        """Serve until one side ends the connection. Raises ConnectionResetError when the client went away."""
        is_open = True
        while is_open:
            is_open = await self._serve_one()

    async def _serve_one(self) -> bool:
        """Serve one request; False: no other may follow on this connection."""
        try:
            event, body = await self._next_request()
        except h11.RemoteProtocolError as error:
            refusal = HttpError(error.error_status_hint, f"not a valid request: {error}")
            self._refused(refusal.status)
            await self._send(None, HttpResponse.of_error(refusal))
            return False
        if event is None:
            return False
        self.idle_since_s = None
        await self._turn()
        with ExitStack() as until_sent:
            await self._send(event, await self._respond(event, body, until_sent))
        self.idle_since_s = self._now_s()
        if self._protocol.our_state is not h11.DONE or self._protocol.their_state is not h11.DONE:
            return False
        self._protocol.start_next_cycle()
        return True

    async def _next_request(self) -> tuple[h11.Request | None, bytes]:
        """The next request with its body, once its end was received; None at the end of the connection.

        A body that is refused is not read to its end, so that the connection is closed after the response.
        """
        self._wire.start_deadline()
        head: h11.Request | None = None
        body = bytearray()
        has_begun = bool(self._protocol.trailing_data[0])
        while True:
            event = self._protocol.next_event()
            if event is h11.NEED_DATA:
                if head is not None and self._protocol.they_are_waiting_for_100_continue:
                    await self._write(self._protocol.send(h11.InformationalResponse(status_code=100, headers=[])))
                received = await self._wire.read()
                if received and not has_begun:
                    has_begun = True
                    self._wire.start_deadline()
                self._protocol.receive_data(received)
            elif isinstance(event, h11.Request):
                head = event
                if _has_body(head) and _method_of(head) not in self._methods() - _WITHOUT_BODY:
                    break
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > _MAX_BODY_BYTES:
                    break
            elif isinstance(event, h11.EndOfMessage):
                break
            else:  # the end of the connection
                head = None
                break
        self._wire.end_deadline()
        return head, bytes(body)

    async def _respond(self, event: h11.Request, body: bytes, until_sent: ExitStack) -> HttpResponse:
        try:
            method = _method_of(event)
            methods = self._methods()
            if method not in methods:
                raise only_served(methods)
            if method in _WITHOUT_BODY and _has_body(event):
                raise HttpError(413, "a request must not have a body")
            if len(body) > _MAX_BODY_BYTES:
                raise HttpError(413, f"a body has at most {_MAX_BODY_BYTES} bytes")
            headers = {name.decode("ascii"): value.decode("latin-1") for name, value in event.headers}
            request = HttpRequest.of_target(method, event.target.decode("ascii"), headers, body)
            response = await self._answer(request, until_sent)
            return await self._encoder.encode(request, response)
        except HttpError as error:
            self._refused(error.status)
            return HttpResponse.of_error(error)
        except Exception:
            logger.exception("the HTTP request %s could not be answered", _shown(event))
            return HttpResponse.of_error(HttpError(500, "the broker failed to answer; its log says why"))

    async def _send(self, event: h11.Request | None, response: HttpResponse) -> None:
        headers = [*_ALWAYS, ("Content-Type", response.content_type), *response.headers]
        body = response.body
        if isinstance(body, bytes):
            headers.append(("Content-Length", str(len(body))))
        reason = _REASONS.get(response.status, "")
        must_close = event is None or self._protocol.their_state is not h11.DONE
        if must_close:
            headers.append(("Connection", "close"))
        head = h11.Response(status_code=response.status, headers=headers, reason=reason)
        await self._write(self._protocol.send(head))
        is_head = event is not None and event.method == b"HEAD"
        if isinstance(body, bytes):
            if body and not is_head:
                await self._write_data(body)
        else:
            await self._send_pieces(body, is_head)
        await self._write(self._protocol.send(h11.EndOfMessage()))

    async def _send_pieces(self, pieces: AsyncIterator[bytes], is_head: bool) -> None:
        try:
            if not is_head:
                async for piece in pieces:
                    if piece:  # an empty chunk would end the body
                        await self._write_data(piece)
        finally:
            close = getattr(pieces, "aclose", None)
            if close is not None:
                await close()

    async def _write_data(self, data: bytes) -> None:
        for part in self._protocol.send_with_data_passthrough(h11.Data(data=data)) or ():
            await self._write(part)

    async def _write(self, data: Any) -> None:
        if data:
            await self._wire.write(data)


def _method_of(event: h11.Request) -> str:
    return event.method.decode("ascii")


def _has_body(event: h11.Request) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip(b"0"))
        for name, value in event.headers
    )


def _shown(event: h11.Request) -> str:
    return repr(event.target[:200])[2:-1]

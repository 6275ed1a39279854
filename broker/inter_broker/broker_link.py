"""A client connection to another broker, opened when it is first needed and opened again after it broke.

Several requests may be under way at once. When the connection breaks, all of them fail, and their senders decide what
to do: nobody knows whether the other broker carried them out.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol, TypeAlias

from ...base.closing import AsyncClosable
from ...base.frozen import frozen
from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.client import ClientConnection, ConnectionFailed, Event
from ...protocol.codec import Message
from ..metadata.address import Address
from ..network.socket_states import reset_at_close
from ..network.transport import Transport
from ..security.sasl.own_login import renewal_delay_ms

__all__ = ["Ask", "BrokerLink", "Link", "LinkSecurity", "LogIn"]

Ask: TypeAlias = Callable[[Message, int], Awaitable[Any]]
"""``(request, version) -> response``, on a connection that is being opened."""

LogIn: TypeAlias = Callable[[Ask], Awaitable[int]]
"""Returns the lifetime of the session in ms, 0 without end (KIP-368)."""


class Link(AsyncClosable, Protocol):
    """The part of a `BrokerLink` that its users need; tests pass their own."""

    async def ask(self, request: Message, version: int, timeout_ms: int) -> Any: ...


@frozen
class LinkSecurity:
    """The steps of a new connection before its first request.

    ``add_layer`` puts TLS below it, and calls its ``connection_made`` after the handshake with the broker at this
    address, or ``connection_lost`` with the reason. ``log_in`` then authenticates this broker; it raises
    ConnectionError when that fails. It is called again before the session ends, earlier or later by ``random``, from
    0 to 1, so that not all links log in at once. ``ready`` is awaited before a connection is opened, and raises
    ConnectionError when the login could not succeed now.
    """

    add_layer: Callable[[asyncio.BufferedProtocol, Address], asyncio.BufferedProtocol] | None = None
    log_in: LogIn | None = None
    random: Callable[[], float] = lambda: 0.5
    ready: Callable[[], Awaitable[object]] | None = None


class BrokerLink:
    """``address()`` returns host and port of the other broker's inter-broker listener, or None while it is unknown.

    Used on the event loop only.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        address: Callable[[], Address | None],
        *,
        client_id: str,
        connect_timeout_ms: int,
        max_response_bytes: int,
        security: LinkSecurity,
    ) -> None:
        self._loop = loop
        self._address = address
        self._client_id = client_id
        self._connect_timeout_ms = connect_timeout_ms
        self._max_response_bytes = max_response_bytes
        self._security = security
        self._connection: _Connection | None = None
        self._connecting: asyncio.Task[_Connection] | None = None
        self._is_closed = False

    async def ask(self, request: Message, version: int, timeout_ms: int) -> Any:
        """The response to ``request``, which is sent in ``version`` of its API.

        Raises ConnectionError when the broker is not reached or the connection breaks first, and TimeoutError when
        there is no response within ``timeout_ms``. The connection is closed then, because responses come in order.
        """
        connection = self._connection
        if connection is None or connection.is_lost or connection.must_log_in():
            connection = await self._connect()
        return await connection.ask(request, version, timeout_ms)

    @property
    def is_connected(self) -> bool:
        return self._connection is not None and not self._connection.is_lost

    def kill(self) -> None:
        """Reset the connection for good; waiting requests fail with ConnectionError."""
        self._is_closed = True
        if self._connecting is not None:
            self._connecting.cancel()
        if self._connection is not None:
            self._connection.abort("the link was closed")

    async def close(self) -> None:
        """`kill`, then wait until the socket is closed."""
        self.kill()
        if self._connecting is not None:
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self._connection is not None:
            await self._connection.gone.wait()

    async def _connect(self) -> "_Connection":
        """Requests that come while the connection is being opened, or its session renewed, wait for it together and
        are sent in order."""
        if self._is_closed:
            raise ConnectionError("the link is closed")
        if self._connecting is None:
            is_open = self._connection is not None and not self._connection.is_lost
            self._connecting = self._loop.create_task(self._renew() if is_open else self._open())
            self._connecting.add_done_callback(self._connected)
        try:
            return await asyncio.shield(self._connecting)
        except asyncio.CancelledError:
            request_task = asyncio.current_task()
            if request_task is not None and request_task.cancelling():
                raise
            raise ConnectionError("the link was closed") from None  # the connecting was cancelled, not this request

    async def _open(self) -> "_Connection":
        address = self._address()
        if address is None:
            raise ConnectionError("the broker's address is unknown")
        connection = _Connection(self._loop, ClientConnection(self._client_id, self._max_response_bytes))
        try:
            await self._make(connection, address)
        except BaseException as error:
            connection.abort(f"it could not be opened: {error}")
            raise
        self._connection = connection
        return connection

    async def _renew(self) -> "_Connection":
        """Log in again on the open connection. Its requests under way are answered before."""
        connection = self._connection
        assert connection is not None
        try:
            async with asyncio.timeout(self._connect_timeout_ms / 1000):
                await self._log_in(connection)
        except BaseException as error:
            connection.abort(f"the session could not be renewed: {error}")
            if isinstance(error, TimeoutError):
                raise ConnectionError("the session could not be renewed in time") from error
            raise
        return connection

    async def _log_in(self, connection: "_Connection") -> None:
        log_in = self._security.log_in
        if log_in is not None:
            lifetime_ms = await log_in(partial(connection.ask, timeout_ms=self._connect_timeout_ms))
            connection.session_begins(renewal_delay_ms(lifetime_ms, self._security.random()))

    async def _make(self, connection: "_Connection", address: Address) -> None:
        """Connect, and pass the other broker's protection. Raises ConnectionError."""
        add_layer, ready = self._security.add_layer, self._security.ready
        try:
            async with asyncio.timeout(self._connect_timeout_ms / 1000):
                if ready is not None:
                    await ready()
                protocol = connection if add_layer is None else add_layer(connection, address)
                connection.below, _ = await self._loop.create_connection(lambda: protocol, *address)
                await connection.made()
                await self._log_in(connection)
        except TimeoutError as error:
            raise ConnectionError(f"no connection to {address} within {self._connect_timeout_ms} ms") from error
        except ConnectionError:
            raise
        except (OSError, UnicodeError) as error:  # for example an unknown or an impossible host name, or no route
            raise ConnectionError(f"no connection to {address}: {error}") from error

    def _connected(self, connecting: "asyncio.Task[_Connection]") -> None:
        self._connecting = None
        if self._is_closed and self._connection is not None:
            self._connection.abort("the link was closed")
        if not connecting.cancelled():
            connecting.exception()  # marks it as seen: perhaps no request waits for it any more


class _Sent:
    """A request that awaits its response."""

    __slots__ = ("api_name", "response", "timer")

    def __init__(self, api_name: str, response: "asyncio.Future[Any]") -> None:
        self.api_name = api_name
        self.response = response
        self.timer: asyncio.TimerHandle | None = None


class _Connection(asyncio.BufferedProtocol):
    """One connection, from its beginning to its end."""

    def __init__(self, loop: asyncio.AbstractEventLoop, client: ClientConnection) -> None:
        self._loop = loop
        self._client = client
        self._transport: Transport | None = None
        self.below: asyncio.Transport | None = None
        """The socket's transport, for an end before the layer has made the connection."""
        self._reason = "the broker closed the connection"
        self._made: asyncio.Future[None] | None = None
        self._log_in_at_s: float | None = None
        self.is_lost = False
        self.gone = asyncio.Event()

    async def made(self) -> None:
        """Wait until requests can be sent. Only a layer makes that later than the TCP connection.

        Raises ConnectionError when the connection is lost before.
        """
        if self._transport is None and not self.is_lost:
            self._made = self._loop.create_future()
            await self._made
        if self.is_lost:
            raise ConnectionError(self._reason)

    def session_begins(self, renewal_delay_ms: int | None) -> None:
        """`must_log_in` is true after the delay; None: never."""
        self._log_in_at_s = None if renewal_delay_ms is None else self._loop.time() + renewal_delay_ms / 1000

    def must_log_in(self) -> bool:
        return self._log_in_at_s is not None and self._loop.time() >= self._log_in_at_s

    async def ask(self, request: Message, version: int, timeout_ms: int) -> Any:
        if self.is_lost or self._transport is None:
            raise ConnectionError(self._reason)
        sent = _Sent(_api_name(request), self._loop.create_future())
        frame = self._client.send(request, version, sent)
        sent.timer = self._loop.call_later(timeout_ms / 1000, self._timed_out, sent, timeout_ms)
        self._transport.write(frame)
        return await sent.response

    def abort(self, reason: str) -> None:
        """Reset the connection; waiting requests fail with ConnectionError at once.

        A plain close would leave it to the system to deliver what is unsent, maybe after the request was sent again on
        another connection. A late end marker would then end the producer's next transaction.
        """
        if not self.is_lost:
            self._reason = reason
            self._lose()
            transport = self.below if self._transport is None else self._transport
            if transport is not None:
                reset_at_close(transport)
                transport.abort()

    # -- called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._end_making()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._client.get_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        for event in self._client.buffer_updated(nbytes):
            self._handle(event)

    def eof_received(self) -> None:
        """The transport closes itself."""

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None:
            self._reason = str(exc) if self._transport is None else f"the connection broke: {exc}"
        self._lose()
        self.gone.set()

    # -- responses

    def _handle(self, event: Event) -> None:
        if isinstance(event, ConnectionFailed):
            self.abort(f"the broker {event.error}")
            return
        sent: _Sent = event.token
        if sent.timer is not None:
            sent.timer.cancel()
        if not sent.response.done():  # the waiting task may have been cancelled
            sent.response.set_result(event.response)

    def _timed_out(self, late: _Sent, timeout_ms: int) -> None:
        if late.response.done():
            return
        late.response.set_exception(TimeoutError(f"no response to {late.api_name} within {timeout_ms} ms"))
        self.abort("an earlier request was not answered in time")

    def _end_making(self) -> None:
        if self._made is not None and not self._made.done():
            self._made.set_result(None)

    def _lose(self) -> None:
        self.is_lost = True
        self._end_making()
        for sent in self._client.abandon():
            if sent.timer is not None:
                sent.timer.cancel()
            if not sent.response.done():
                sent.response.set_exception(ConnectionError(self._reason))


def _api_name(request: Message) -> str:
    key = request.MESSAGE.api_key
    return type(request).__name__ if key is None else API_SPECS[ApiKey(key)].name

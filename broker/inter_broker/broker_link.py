"""A connection to another broker, as its client: requests go out in order, answers come back in the same order.

It is made when it is first needed, and made anew after it broke. Several requests may be under way at once; when the
connection breaks, all of them fail, and whoever sent them decides what to do: whether the other broker carried them
out nobody knows.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

from ...config.config import Config
from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.codec import DecodeError, Message, decode, decode_prefix, encode
from ...protocol.messages.headers import RequestHeader, ResponseHeader
from ..network.frame_pool import FramePool
from ..network.frame_reader import FrameReader, FrameSizeError, new_shared_buffer

__all__ = ["Address", "BrokerLink"]

logger = logging.getLogger(__name__)

Address = tuple[str, int]

_SIZE = Struct(">i")
_MAX_CORRELATION_ID = 2**31 - 1


class BrokerLink:
    """``address()`` gives host and port of the other broker's inter-broker listener, None when that is not known now.

    On the loop, as all that uses it.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        address: Callable[[], Address | None],
        *,
        client_id: str,
        connect_timeout_ms: int,
        max_answer_bytes: int,
    ) -> None:
        self._loop = loop
        self._address = address
        self._client_id = client_id
        self._connect_timeout_ms = connect_timeout_ms
        self._max_answer_bytes = max_answer_bytes
        self._connection: _Connection | None = None
        self._connecting: asyncio.Task[_Connection] | None = None
        self._is_closed = False

    @classmethod
    def configured(
        cls,
        loop: asyncio.AbstractEventLoop,
        address: Callable[[], Address | None],
        client_id: str,
        config: Config,
    ) -> "BrokerLink":
        """As the settings of the broker that asks have it."""
        return cls(
            loop,
            address,
            client_id=client_id,
            connect_timeout_ms=config.int("socket.connection.setup.timeout.ms"),
            max_answer_bytes=config.int("pybroker.inter.broker.response.max.bytes"),
        )

    async def ask(self, request: Message, version: int, timeout_ms: int) -> Any:
        """The answer to ``request`` in ``version`` of its API.

        ConnectionError: the broker was not reached, or the connection broke before the answer. TimeoutError: there was
        no answer in time; the connection is closed then, for answers come in order.
        """
        connection = self._connection
        if connection is None or connection.is_lost:
            connection = await self._connect()
        return await connection.ask(request, version, timeout_ms)

    @property
    def is_connected(self) -> bool:
        return self._connection is not None and not self._connection.is_lost

    def kill(self) -> None:
        """Reset the connection; who waits gets ConnectionError. It is not made again."""
        self._is_closed = True
        if self._connecting is not None:
            self._connecting.cancel()
        if self._connection is not None:
            self._connection.abort("the link was closed")

    async def close(self) -> None:
        """`kill`, and wait until the socket is closed."""
        self.kill()
        if self._connecting is not None:
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self._connection is not None:
            await self._connection.gone.wait()

    async def _connect(self) -> "_Connection":
        """All who come while a connection is being made wait for the same one, and go on in their order."""
        if self._is_closed:
            raise ConnectionError("the link is closed")
        if self._connecting is None:
            self._connecting = self._loop.create_task(self._open())
            self._connecting.add_done_callback(self._connected)
        try:
            return await asyncio.shield(self._connecting)
        except asyncio.CancelledError:
            waiting = asyncio.current_task()
            if waiting is not None and waiting.cancelling():
                raise
            raise ConnectionError("the link was closed") from None  # it is the connecting that was cancelled

    async def _open(self) -> "_Connection":
        address = self._address()
        if address is None:
            raise ConnectionError("the broker's address is not known")
        try:
            async with asyncio.timeout(self._connect_timeout_ms / 1000):
                _, connection = await self._loop.create_connection(
                    lambda: _Connection(self._loop, self._client_id, self._max_answer_bytes), *address
                )
        except TimeoutError as error:
            raise ConnectionError(f"no connection to {address} within {self._connect_timeout_ms} ms") from error
        except ConnectionError:
            raise
        except OSError as error:  # the name is not known, there is no route
            raise ConnectionError(f"no connection to {address}: {error}") from error
        self._connection = connection
        return connection

    def _connected(self, connecting: "asyncio.Task[_Connection]") -> None:
        self._connecting = None
        if self._is_closed and self._connection is not None:
            self._connection.abort("the link was closed")
        if not connecting.cancelled():
            connecting.exception()  # who waited has it; nobody may have


class _Exchange(NamedTuple):
    """What one version of one API looks like on the wire."""

    name: str
    api_key: int
    version: int
    request_header_version: int
    response_header_version: int
    response_type: type[Message]


class _Sent:
    """A request that is under way."""

    __slots__ = ("answer", "correlation_id", "exchange", "timer")

    def __init__(self, exchange: _Exchange, correlation_id: int, answer: "asyncio.Future[Any]") -> None:
        self.exchange = exchange
        self.correlation_id = correlation_id
        self.answer = answer
        self.timer: asyncio.TimerHandle | None = None


class _Connection(asyncio.BufferedProtocol):
    """One connection, from its beginning to its end."""

    def __init__(self, loop: asyncio.AbstractEventLoop, client_id: str, max_answer_bytes: int) -> None:
        self._loop = loop
        self._client_id = client_id
        self._reader = FrameReader(new_shared_buffer(), max_answer_bytes, FramePool())
        self._transport: asyncio.Transport | None = None
        self._sent: deque[_Sent] = deque()
        self._correlation_id = 0
        self._reason = "the broker closed the connection"
        self.is_lost = False
        self.gone = asyncio.Event()

    async def ask(self, request: Message, version: int, timeout_ms: int) -> Any:
        if self.is_lost or self._transport is None:
            raise ConnectionError(self._reason)
        self._correlation_id = self._correlation_id % _MAX_CORRELATION_ID + 1
        exchange = _exchange(type(request), version)
        sent = _Sent(exchange, self._correlation_id, self._loop.create_future())
        header = RequestHeader(
            request_api_key=exchange.api_key,
            request_api_version=version,
            correlation_id=sent.correlation_id,
            client_id=self._client_id,
        )
        head, body = encode(header, exchange.request_header_version), encode(request, version)
        sent.timer = self._loop.call_later(timeout_ms / 1000, self._timed_out, sent, timeout_ms)
        self._sent.append(sent)
        self._transport.write(b"".join((_SIZE.pack(len(head) + len(body)), head, body)))
        return await sent.answer

    def abort(self, reason: str) -> None:
        """Reset the connection; who waits for an answer gets ConnectionError, at once."""
        if not self.is_lost:
            self._reason = reason
            self._lose()
            if self._transport is not None:
                self._transport.abort()

    # -- what the transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def get_buffer(self, sizehint: int) -> bytearray | memoryview:
        return self._reader.get_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            self._take_all(self._reader.received(nbytes))
            while self._reader.has_more:
                self._take_all(self._reader.more())
        except FrameSizeError as error:
            self._take_all(error.frames)
            self.abort(f"{error.size} is no size of an answer")

    def eof_received(self) -> None:
        """Nothing more will come; the transport closes itself."""

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None:
            self._reason = f"the connection broke: {exc}"
        self._lose()
        self.gone.set()

    # -- answers

    def _take_all(self, frames: list[bytearray]) -> None:
        for frame in frames:
            if not self.is_lost:
                self._take(frame)

    def _take(self, frame: bytearray) -> None:
        if not self._sent:
            self.abort("an answer came to no request")
            return
        sent = self._sent[0]
        try:
            answer = _decode(sent, frame)
        except DecodeError as error:
            self.abort(f"an answer to {sent.exchange.name} cannot be decoded: {error}")
            return
        self._sent.popleft()
        if sent.timer is not None:
            sent.timer.cancel()
        if not sent.answer.done():  # who waited may be gone
            sent.answer.set_result(answer)

    def _timed_out(self, late: _Sent, timeout_ms: int) -> None:
        if late.answer.done():
            return
        late.answer.set_exception(TimeoutError(f"no answer to {late.exchange.name} within {timeout_ms} ms"))
        self.abort("an earlier request was not answered in time")

    def _lose(self) -> None:
        self.is_lost = True
        self._reader.abandon()
        sent, self._sent = self._sent, deque()
        for each in sent:
            if each.timer is not None:
                each.timer.cancel()
            if not each.answer.done():
                each.answer.set_exception(ConnectionError(self._reason))


_exchanges: dict[tuple[type[Message], int], _Exchange] = {}


def _exchange(request_type: type[Message], version: int) -> _Exchange:
    known = _exchanges.get((request_type, version))
    if known is None:
        known = _exchanges[request_type, version] = _new_exchange(request_type, version)
    return known


def _new_exchange(request_type: type[Message], version: int) -> _Exchange:
    key = request_type.MESSAGE.api_key
    if key is None:
        raise TypeError(f"{request_type.__name__} is no request")
    spec = API_SPECS[ApiKey(key)]
    return _Exchange(
        spec.name,
        key,
        version,
        spec.request_header_version(version),
        spec.response_header_version(version),
        spec.response_type(),
    )


def _decode(sent: _Sent, frame: bytearray) -> Message:
    """Raises DecodeError, also for an answer to another request."""
    exchange = sent.exchange
    header, offset = decode_prefix(ResponseHeader, frame, exchange.response_header_version)
    if header.correlation_id != sent.correlation_id:
        raise DecodeError(f"it is of request {header.correlation_id}, not {sent.correlation_id}")
    return decode(exchange.response_type, frame, exchange.version, offset=offset)

"""The HTTP server of a broker: listens, limits the connections, and answers by the router."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING

from ...replication.run_in_pool import RunInPool
from ..network.bound_sockets import BindError, bind_error, open_servers, start_serving
from ..network.local_socket_options import LocalSocketOptions
from ..network.offender_log import OffenderLog, Violation, offences_in
from ..network.settings import Endpoint, NetworkSettings
from ..network.socket_states import leaves_descriptors
from ..network.transport import ConnectionLayer
from ..security.principal import Principal
from .access import check_host, require_token
from .encoding import Encoder
from .http_error import HttpError
from .request import HttpRequest
from .response import HttpResponse
from .router import Route, Router
from .token_file import TokenFile
from .wire import Wire

if TYPE_CHECKING:
    from .http_exchange import HttpExchange

__all__ = ["MAX_CONNECTIONS", "HttpServer"]

logger = logging.getLogger(__name__)

MAX_CONNECTIONS = 64
_MORE_FOR_PROBES = 8
_CLOSE_GRACE_S = 1.0
_SOCKETS = NetworkSettings(backlog=MAX_CONNECTIONS, send_buffer_bytes=-1, receive_buffer_bytes=-1)
_SETTING = "pybroker.http.listeners"
_TOO_MANY = "http-too-many"
_RETRY = (("Retry-After", "1"),)
_OFFENCES = {
    400: "http-request",
    405: "http-request",
    413: "http-request",
    421: "http-host",
    431: "http-request",
    501: "http-request",
}
"""By the status of the response."""


class HttpServer:
    """``open`` it, later ``close`` or ``kill`` it; ``gone`` waits for the end of its connections.

    Above `MAX_CONNECTIONS` the connection that waits longest for its client is closed. It waits for a request, or for
    the client to take a response. While the broker works for all of them, `_MORE_FOR_PROBES` are accepted, whose probes
    are answered.
    """

    def __init__(
        self,
        router: Router,
        run_in_pool: RunInPool,
        is_ending: Callable[[], bool],
        patience_s: float,
        tokens: TokenFile | None = None,
    ) -> None:
        """To be made on the running loop. ``is_ending``: only probes are answered now. ``patience_s``: the time that a
        client has for each of its steps."""
        self._loop = asyncio.get_running_loop()
        self._router = router
        self._run_in_pool = run_in_pool
        self._is_ending = is_ending
        self._patience_s = patience_s
        self._tokens = tokens
        self._offenders = OffenderLog(logger, self._loop.time)
        self._refused = Counter[str]()
        self._turn = asyncio.Lock()
        self._under_way: Counter[Route] = Counter()
        self._encoder = Encoder(run_in_pool)
        self._servers: list[asyncio.Server] = []
        self._connections: set[_Connection] = set()
        self._new_exchange: type[HttpExchange] | None = None

    async def open(self, endpoints: Sequence[Endpoint]) -> list[Endpoint]:
        """Listen; returns the endpoints with the ports that the system chose. Raises BindError; nothing stays open."""
        opened = []
        try:
            for endpoint in endpoints:
                options = LocalSocketOptions(None, _SOCKETS)
                servers, port = await open_servers(
                    endpoint, _SOCKETS, options, partial(self._new_connection, endpoint.security.add_layer)
                )
                self._servers += servers
                opened.append(replace(endpoint, port=port))
                await self._listen(opened[-1], servers)
        except BaseException as error:
            self._stop_accepting()
            if isinstance(error, BindError):
                error.setting = _SETTING
            raise
        return opened

    def offences(self) -> Counter[str]:
        """How often requests and connections were refused, by offence."""
        return offences_in(self._offenders.counts) + self._refused

    async def close(self) -> None:
        """Accept nothing, give requests under way `_CLOSE_GRACE_S`, and close."""
        self._stop_accepting()
        for connection in list(self._connections):
            if connection.idle_since_s is not None:
                connection.abort()
        timer = self._loop.call_later(_CLOSE_GRACE_S, self.kill)
        await self.gone()
        timer.cancel()

    def kill(self) -> None:
        """Accept nothing, and abort all connections."""
        self._stop_accepting()
        for connection in list(self._connections):
            connection.abort()

    async def gone(self) -> None:
        """Wait until there is no connection."""
        while self._connections:
            await asyncio.wait([connection.gone for connection in self._connections])

    async def answer(self, connection: "_Connection", request: HttpRequest, until_sent: ExitStack) -> HttpResponse:
        """The response of the request's handler; it counts as under way until the stack ends. Raises HttpError."""
        check_host(request, connection.host_of("sockname"))
        try:
            route, request = self._router.find(request)
        except HttpError:
            await self._require_token(connection, request)
            raise
        if not route.is_public:
            await self._require_token(connection, request)
        if self._is_ending() and not route.is_for_probes:
            raise HttpError(503, "the broker is stopping")
        if len(self._connections) > MAX_CONNECTIONS and connection.is_beyond_limit and not route.is_for_probes:
            self._refused[_TOO_MANY] += 1
            raise HttpError(503, f"{MAX_CONNECTIONS} connections are busy", _RETRY)
        until_sent.enter_context(self._counted(route))
        response = route.handler(request)
        return await response if isawaitable(response) else response

    async def _require_token(self, connection: "_Connection", request: HttpRequest) -> None:
        if self._tokens is None:
            return
        await self._tokens.refresh(self._run_in_pool)
        try:
            require_token(request, self._tokens.digests)
        except HttpError as error:
            host = connection.host_of("peername")
            self._offenders.warn(host, Violation.HTTP_TOKEN, f"Refusing an HTTP request of {host}: {error.text}")
            raise

    @contextmanager
    def _counted(self, route: Route) -> Iterator[None]:
        if self._under_way[route] >= route.most:
            self._refused[_TOO_MANY] += 1
            raise HttpError(503, f"{route.most} such requests are under way", _RETRY)
        self._under_way[route] += 1
        try:
            yield
        finally:
            self._under_way[route] -= 1

    # -- connections

    def _new_connection(self, add_layer: ConnectionLayer | None) -> asyncio.BufferedProtocol:
        connection = _Connection(self, self._loop, self._patience_s)
        return connection if add_layer is None else add_layer(connection, _nobody_is_named)

    def connected(self, connection: "_Connection") -> bool:
        """Whether the new connection is accepted."""
        if not self._servers or self._is_full():
            return False
        connection.is_beyond_limit = len(self._connections) >= MAX_CONNECTIONS
        self._connections.add(connection)
        return True

    def disconnected(self, connection: "_Connection") -> None:
        self._connections.discard(connection)

    async def serve(self, connection: "_Connection") -> None:
        """Serve the requests of a connection until it ends."""
        if self._new_exchange is None:
            self._new_exchange = await self._run_in_pool(_load_exchange)
        answer = partial(self.answer, connection)
        connection.exchange = self._new_exchange(
            connection,
            answer,
            self._encoder,
            self._wait_for_turn,
            self._count_refusal,
            self._loop.time,
            lambda: self._router.methods,
        )
        await connection.exchange.serve()

    def _count_refusal(self, status: int) -> None:
        """The offence of a token is counted where it is logged. A path that does not exist is no offence."""
        offence = _OFFENCES.get(status)
        if offence is not None:
            self._refused[offence] += 1

    async def _wait_for_turn(self) -> None:
        """Let one request begin in each iteration of the loop, so that floods leave most of its time to others."""
        async with self._turn:
            await asyncio.sleep(0)

    def _is_full(self) -> bool:
        """Whether there is no space for another connection, after one was closed for it if possible."""
        if len(self._connections) < MAX_CONNECTIONS:
            return False
        chosen = _dispensable([each for each in self._connections if not each.is_beyond_limit])
        if chosen is None:
            if len(self._connections) < MAX_CONNECTIONS + _MORE_FOR_PROBES:
                return False
            chosen = _dispensable(self._connections)
        if chosen is None:
            self._refused[_TOO_MANY] += 1
            return True
        self._connections.discard(chosen)
        chosen.abort()
        return False

    async def _listen(self, endpoint: Endpoint, servers: Sequence[asyncio.Server]) -> None:
        for server in servers:
            try:
                await start_serving(server)
            except OSError as error:
                raise bind_error(endpoint, error) from error

    def _stop_accepting(self) -> None:
        for server in self._servers:
            server.close()
        self._servers.clear()


def _dispensable(connections: Collection["_Connection"]) -> "_Connection | None":
    """A connection that may be closed for another one: the one that has waited for its client for longest, else one
    whose client has sent requests ahead."""
    waiting = [(since_s, each) for each in connections if (since_s := each.waiting_since_s) is not None]
    if waiting:
        return min(waiting, key=lambda pair: pair[0])[1]
    return next((each for each in connections if each.has_sent_ahead), None)


def _nobody_is_named(_client: Principal) -> None:
    """The certificate of a client proves that it may connect; its name is not used."""


def _load_exchange() -> "type[HttpExchange]":
    from .http_exchange import HttpExchange

    return HttpExchange


class _Connection(Wire):
    """One client's connection, and the task that serves it."""

    def __init__(self, server: HttpServer, loop: asyncio.AbstractEventLoop, patience_s: float) -> None:
        super().__init__(loop, patience_s)
        self._server = server
        self._task: asyncio.Task[None] | None = None
        self._connected_s = loop.time()
        self.exchange: HttpExchange | None = None
        self.is_beyond_limit = False
        self.gone: asyncio.Future[None] = loop.create_future()

    @property
    def idle_since_s(self) -> float | None:
        """The time since which it has no request under way, or None."""
        return self._connected_s if self.exchange is None else self.exchange.idle_since_s

    @property
    def waiting_since_s(self) -> float | None:
        """The time since which it waits for its client; None while the broker works for it."""
        return self.stalled_since_s if self.idle_since_s is None else self.idle_since_s

    @property
    def has_sent_ahead(self) -> bool:
        """Whether the next request has come while the broker works for it."""
        return self.has_unread or (self.exchange is not None and self.exchange.has_unread)

    def host_of(self, end: str) -> str:
        """``end``: ``sockname`` or ``peername``."""
        address = None if self.transport is None else self.transport.get_extra_info(end)
        return str(address[0]) if address else "unknown"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert self.transport is not None
        if leaves_descriptors(self.transport) and self._server.connected(self):
            self._task = self._loop.create_task(self._serve())
        else:
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._server.disconnected(self)
        self.gone.set_result(None)
        if self._task is not None:
            self._task.cancel()

    async def _serve(self) -> None:
        try:
            with suppress(ConnectionResetError):
                await self._server.serve(self)
        finally:
            self.start_deadline()  # for the client to take the last response
            self.close()

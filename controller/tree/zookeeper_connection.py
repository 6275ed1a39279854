"""The connection to ZooKeeper: kazoo's client on one thread, with a socket that can be closed at once."""

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionDropped
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.serialization import Connect
from kazoo.retry import KazooRetry

from ...base.slow_waits import told_if_slow
from .metadata_store import StoreUnreachableError
from .zookeeper_settings import ZooKeeperSettings

__all__ = ["KazooHandler", "first_session", "new_client"]

_kazoo_logger = logging.getLogger(__name__)
_kazoo_logger.setLevel(logging.ERROR)  # kazoo warns about each attempt to connect; the store logs the result


class KazooHandler(SequentialThreadingHandler):  # type: ignore[misc]
    """Runs callbacks on the thread of the connection, in order, and keeps the socket.

    With the socket, the connection can be closed without ending the session.
    """

    def __init__(self, settings: ZooKeeperSettings, on_mistrust: Callable[[], None]) -> None:
        """``on_mistrust`` is called, on the connection's thread, when the server's certificate is not trusted."""
        super().__init__()
        self._on_mistrust = on_mistrust
        self.last_failure = "no attempt ended yet"
        self.was_reached = False
        """Whether a server ever accepted the connection."""
        self.session_timeout_ms = settings.session_timeout_ms
        """The timeout that the server granted, once it has."""
        self.last_response_s = monotonic()
        """When the session last had a response or an event from a server; at first, when this object was made."""
        # A server that does not respond must leave time for the others while the session lives.
        self._timeout_s = settings.session_timeout_ms / 1000 / len(settings.servers.split(","))
        self._tls = settings.tls.context() if settings.tls is not None else None
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_severed = False

    @property
    def is_silent(self) -> bool:
        """Whether nothing came for the session timeout."""
        return (monotonic() - self.last_response_s) * 1000 >= self.session_timeout_ms

    def start(self) -> None:
        """There are no threads to start: `running` stays False, so that kazoo calls back at once."""

    def stop(self) -> None:
        pass

    def dispatch_callback(self, callback: Any) -> None:
        callback.func(*callback.args)

    def create_connection(self, address: tuple[str, int], hostname: str, **_options: object) -> socket.socket:
        try:
            connection = self._connect(address, hostname)
        except OSError as error:
            self.last_failure = str(error)
            if isinstance(error, ssl.SSLCertVerificationError):
                self._on_mistrust()
            raise
        self.last_failure = f"the server at {address[0]}:{address[1]} accepted the connection, but has not answered"
        return connection

    def sever(self) -> None:
        """Close the connection without ending the session, for good."""
        with self._lock:
            self._is_severed = True
            current = self._socket
        if current is not None:
            with suppress(OSError):  # the client was no longer connected
                # Not the method of SSLSocket, which would remove TLS while the other thread reads.
                socket.socket.shutdown(current, socket.SHUT_RDWR)

    def _connect(self, address: tuple[str, int], hostname: str) -> socket.socket:
        connection = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        try:
            self._hold(connection)
            connection.settimeout(self._timeout_s)
            connection.connect(address)
            self.was_reached = True
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                connection = secured = self._tls.wrap_socket(
                    connection, server_hostname=hostname, do_handshake_on_connect=False
                )
                self._hold(secured)
                secured.do_handshake()
        except BaseException:
            connection.close()
            raise
        return connection

    def _hold(self, connection: socket.socket) -> None:
        """Keep the socket for `sever`, also while it is connecting."""
        with self._lock:
            if self._is_severed:
                raise ConnectionAbortedError("the session is over")
            self._socket = connection


def new_client(settings: ZooKeeperSettings, handler: KazooHandler) -> KazooClient:
    """A client that connects, once started, until it is stopped."""
    client = KazooClient(
        hosts=settings.servers,
        timeout=settings.session_timeout_ms / 1000,
        handler=handler,
        auth_data={("digest", settings.credentials)} if settings.credentials is not None else None,
        connection_retry=KazooRetry(
            max_tries=-1, delay=0.1, max_delay=1.0, sleep_func=handler.sleep_func, ignore_expire=True
        ),
        logger=_kazoo_logger,
    )
    _note_what_servers_say(client, handler)
    return client


async def first_session(
    opened: "asyncio.Future[None]", settings: ZooKeeperSettings, handler: KazooHandler, logger: logging.Logger
) -> None:
    """Wait for a session; log a line when that takes long. Raises StoreUnreachableError, and what ``opened`` raises."""

    def line() -> str:
        most_ms = settings.connection_timeout_ms
        why = handler.last_failure
        return f"waiting for a session with ZooKeeper at {settings.servers}, for {most_ms} ms at most: {why}"

    with told_if_slow(asyncio.get_running_loop(), logger, line):
        try:
            async with asyncio.timeout(settings.connection_timeout_ms / 1000):
                await opened
        except TimeoutError:
            raise StoreUnreachableError(
                None,
                f"no session with ZooKeeper at {settings.servers} within {settings.connection_timeout_ms} ms"
                f" (zookeeper.connection.timeout.ms): {handler.last_failure}",
                was_reached=handler.was_reached,
            ) from None


def _note_what_servers_say(client: KazooClient, handler: KazooHandler) -> None:
    """Record the granted session timeout, the reason of a refusal and the time of the last response, which kazoo does
    not expose."""
    connection = client._connection
    invoke, expand, read = connection._invoke, connection._expand_client_hosts, connection._read_header

    def answered(timeout: float, request: Any, xid: int | None = None) -> Any:
        try:
            answer = invoke(timeout, request, xid)
        except (ConnectionDropped, handler.timeout_exception) as error:
            handler.last_failure = f"a server was reached and gave none: {error}"
            raise
        if isinstance(request, Connect) and answer[0].time_out > 0:
            handler.session_timeout_ms = answer[0].time_out
            handler.last_response_s = monotonic()
        return answer

    def expanded() -> Any:
        found = expand()
        if not found:
            handler.last_failure = "no address is known by any of these names"
        return found

    def received(timeout: float) -> Any:
        header = read(timeout)
        handler.last_response_s = monotonic()
        return header

    connection._invoke, connection._expand_client_hosts, connection._read_header = answered, expanded, received

"""Binds the sockets of one listener: resolves its host and binds every address to the same port."""

import asyncio
import errno
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from typing import Any

from ...config.listeners import is_every_address
from .local_socket_options import LocalSocketOptions
from .settings import Endpoint, NetworkSettings

__all__ = [
    "AddressInUseError",
    "AddressNotLocalError",
    "BindError",
    "PortForbiddenError",
    "UnknownHostError",
    "bind_error",
    "open_servers",
    "start_serving",
]

_PORT_ATTEMPTS = 20
_NO_SUCH_ADDRESS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT)
_BOTH_FAMILIES = {"": ("0.0.0.0", "::"), "localhost": ("127.0.0.1", "::1")}

ProtocolFactory = Callable[[], asyncio.BaseProtocol]


class BindError(OSError):
    """A listener's address cannot be bound. The message is one plain line that names the listener and the address.

    ``setting``: the setting with the address.
    """

    def __init__(self, listener_name: str, host: str, port: int, reason: str) -> None:
        shown = f"[{host}]" if ":" in host else host or "*"
        super().__init__(f"Listener {listener_name} cannot listen on {shown}:{port}: {reason}")
        self.listener_name = listener_name
        self.host = host
        self.port = port
        self.setting = "listeners"


class AddressInUseError(BindError):
    """Another process (or another listener of this one) listens there."""


class AddressNotLocalError(BindError):
    """The address is not one of this machine's."""


class PortForbiddenError(BindError):
    """The user of this process may not listen on the port."""


class UnknownHostError(BindError):
    """The host's name has no address."""


async def open_servers(
    endpoint: Endpoint, settings: NetworkSettings, local_socket_options: LocalSocketOptions, factory: ProtocolFactory
) -> tuple[list[asyncio.Server], int]:
    """Bind every address of the endpoint's host: the servers, not serving yet, and the port that all of them have.

    :raises AddressInUseError:
    :raises BindError: for any other reason.
    """
    hosts = await _addresses(endpoint)
    attempts = _PORT_ATTEMPTS if endpoint.port == 0 and len(hosts) > 1 else 1
    for attempt in range(1, attempts + 1):
        try:
            return await _open_all(endpoint, hosts, settings, local_socket_options, factory)
        except AddressInUseError:
            # The system chose the port for the first address only: on another one it may be taken.
            if attempt == attempts:
                raise
    raise AssertionError("not reached")


async def start_serving(server: asyncio.Server) -> None:
    """Listen. Raises OSError when another socket listens there; uvloop only closes the socket then."""
    await server.start_serving()
    if not all(map(_is_listening, server.sockets)):
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


def _is_listening(listening: Any) -> bool:
    """Whether a server's socket, of any event loop, listens."""
    try:
        return bool(listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    except (AttributeError, OSError, ValueError):  # uvloop closed it: None, or a descriptor of -1
        return False


async def _addresses(endpoint: Endpoint) -> tuple[str, ...]:
    host = endpoint.host
    if host.lower() in _BOTH_FAMILIES:
        return _BOTH_FAMILIES[host.lower()]
    if is_every_address(host):
        # One any-address stands for both families, as in Java: Kafka's users write [::] or 0.0.0.0 to have both.
        return _BOTH_FAMILIES[""]
    with suppress(ValueError):
        ip_address(host)
        return (host,)
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, endpoint.port, type=socket.SOCK_STREAM)
    except OSError as error:
        reason = f"the name is unknown ({error})"
        raise UnknownHostError(endpoint.listener_name, host, endpoint.port, reason) from error
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


async def _open_all(
    endpoint: Endpoint,
    hosts: tuple[str, ...],
    settings: NetworkSettings,
    local_socket_options: LocalSocketOptions,
    factory: ProtocolFactory,
) -> tuple[list[asyncio.Server], int]:
    servers: list[asyncio.Server] = []
    port = endpoint.port
    failure: OSError | None = None
    try:
        for host in hosts:
            try:
                server = await _open_one(host, port, settings, local_socket_options, factory)
            except OSError as error:
                if error.errno not in _NO_SUCH_ADDRESS or len(hosts) == 1:
                    raise
                failure = error  # a machine without IPv6 (or IPv4): the others will do
                continue
            servers.append(server)
            port = server.sockets[0].getsockname()[1]
        if not servers:
            assert failure is not None
            raise failure
    except OSError as error:
        _close_all(servers)
        raise bind_error(endpoint, error) from error
    except BaseException:
        _close_all(servers)
        raise
    return servers, port


async def _open_one(
    host: str, port: int, settings: NetworkSettings, local_socket_options: LocalSocketOptions, factory: ProtocolFactory
) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(factory, host, port, backlog=settings.backlog, start_serving=False)
    try:
        for listening in server.sockets:
            # Before listen(): the window that TCP offers is settled in the handshake. Accepted sockets inherit these.
            if settings.receive_buffer_bytes >= 0:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, settings.receive_buffer_bytes)
            if settings.send_buffer_bytes >= 0:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, settings.send_buffer_bytes)
            local_socket_options.prepare(listening)
    except BaseException:
        server.close()
        raise
    return server


def bind_error(endpoint: Endpoint, error: OSError) -> BindError:
    """The error for the operator when the endpoint cannot be bound, or cannot be listened on, because of ``error``."""
    kind: type[BindError] = BindError
    if error.errno == errno.EADDRINUSE:
        kind, reason = AddressInUseError, "the address is in use, by another process or another listener"
    elif error.errno == errno.EACCES:
        kind, reason = PortForbiddenError, "permission denied (ports below 1024 are the administrator's)"
    elif error.errno in _NO_SUCH_ADDRESS:
        kind, reason = AddressNotLocalError, "this machine has no such address"
    else:
        reason = error.strerror or str(error)
    return kind(endpoint.listener_name, endpoint.host, endpoint.port, reason)


def _close_all(servers: list[asyncio.Server]) -> None:
    for server in servers:
        server.close()

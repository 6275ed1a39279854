"""The requests that open a connection: ApiVersions, then the SASL login if one is wanted.

A login may end (KIP-368). `login_requests` alone then renews it on the same connection.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

from ..codec import Message
from ..errors import error_for
from ..messages.api_versions import ApiVersionsRequest
from ..messages.sasl_authenticate import SaslAuthenticateRequest
from ..messages.sasl_handshake import SaslHandshakeRequest
from .connection import ClientConnection
from .errors import VersionsRefusedError
from .sasl import SaslLogin, sasl_messages
from .served_versions import ServedVersions

__all__ = ["login_requests", "open_connection", "opening_requests"]


def opening_requests(connection: ClientConnection, login: SaslLogin | None = None) -> Generator[Message, Any, None]:
    """Yields each request; the caller sends the response into the generator. When it ends, the connection is usable.

    Sets ``connection.served`` and ``connection.session_lifetime_ms``. Raises VersionsRefusedError, SaslError, and
    KafkaError with the broker's own error code when the broker refuses the mechanism or the credentials.
    """
    response = yield ApiVersionsRequest()
    if response.error_code:
        raise VersionsRefusedError(response.error_code)
    connection.served = ServedVersions.from_response(response)
    if login is not None:
        connection.session_lifetime_ms = yield from login_requests(login)


def open_connection(
    connection: ClientConnection, ask: Callable[[Message], Any], login: SaslLogin | None = None
) -> None:
    """Send `opening_requests` by ``ask``, which blocks and returns the response. Raises as both do."""
    requests = opening_requests(connection, login)
    request = next(requests)
    with suppress(StopIteration):
        while True:
            request = requests.send(ask(request))


def login_requests(login: SaslLogin) -> Generator[Message, Any, int]:
    """Yields each request of a login, as `opening_requests` does; returns the session's lifetime in ms, 0 without end.

    Raises SaslError and KafkaError.
    """
    mechanism = login.credentials.mechanism
    handshake = yield SaslHandshakeRequest(mechanism=mechanism)
    if handshake.error_code:
        offered = ", ".join(handshake.mechanisms)
        raise error_for(handshake.error_code, f"SASL mechanism {mechanism} is not among {offered}")
    messages = sasl_messages(login)
    message = next(messages)
    while True:
        response = yield SaslAuthenticateRequest(auth_bytes=message)
        if response.error_code:
            raise error_for(response.error_code, response.error_message)
        try:
            message = messages.send(bytes(response.auth_bytes))
        except StopIteration:
            return int(response.session_lifetime_ms)

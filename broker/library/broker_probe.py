"""Asks a broker for its versions and its cluster, to find out whether it serves clients; any Kafka broker will do."""

import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.client import (
    AnyCredentials,
    ClientConnection,
    ClientError,
    ConnectionFailed,
    SaslError,
    SaslLogin,
    UnsupportedApiError,
    VersionsRefusedError,
    open_connection,
)
from ...protocol.codec import Message
from ...protocol.codec.schema import VersionRange
from ...protocol.errors import KafkaError
from ...protocol.messages.metadata import MetadataRequest, MetadataResponse
from ..metadata.address import Address

if TYPE_CHECKING:
    import ssl

__all__ = ["UnhealthyError", "check_versions", "metadata_of"]

_CLIENT_ID = "pybroker-healthcheck"
_MAX_RESPONSE_BYTES = 64 << 20
_READ_BYTES = 64 << 10
_USABLE = {ApiKey.METADATA: VersionRange(1, API_SPECS[ApiKey.METADATA].max_version)}
"""Version 0 cannot leave out the topics."""


class UnhealthyError(Exception):
    """The broker is not healthy. The text follows the broker's address."""


def metadata_of(
    address: Address, timeout_s: float, tls: "ssl.SSLContext | None" = None, credentials: AnyCredentials | None = None
) -> MetadataResponse:
    """The broker's description of its cluster, without topics. Raises UnhealthyError.

    ``tls``: for a listener with TLS. ``credentials``: for a listener where clients log in.
    """
    with _connected(address, timeout_s, tls) as connection:
        return connection.metadata(credentials)


def check_versions(address: Address, timeout_s: float, tls: "ssl.SSLContext | None" = None) -> None:
    """Ask for the broker's versions alone, which needs no login. Raises UnhealthyError."""
    with _connected(address, timeout_s, tls) as connection:
        connection.open()


@contextmanager
def _connected(address: Address, timeout_s: float, tls: "ssl.SSLContext | None") -> Iterator["_ProbeConnection"]:
    """Raises UnhealthyError, also for errors inside the ``with``."""
    deadline = time.monotonic() + timeout_s
    try:
        with _ProbeConnection(address, deadline) as connection:
            if tls is not None:
                connection.encrypt(tls, address.host)
            yield connection
    except TimeoutError:
        raise UnhealthyError(f"does not answer within {timeout_s:g} s") from None
    except OSError as error:
        raise UnhealthyError(f"cannot be reached: {error.strerror or error}") from error
    except VersionsRefusedError as error:
        raise UnhealthyError(str(error)) from error
    except UnsupportedApiError as error:
        raise UnhealthyError(f"cannot be asked for its cluster: it {error}") from error
    except (SaslError, KafkaError) as error:
        raise UnhealthyError(f"does not let the check log in: {error}") from error
    except ClientError as error:
        raise UnhealthyError(f"does not answer as a Kafka broker does: it {error}") from error


class _ProbeConnection:
    """A connection on which all requests must be answered before ``deadline``, a value of ``time.monotonic``.

    Raises OSError (TimeoutError after the deadline), ClientError.
    """

    def __init__(self, address: Address, deadline: float) -> None:
        self._deadline = deadline
        self._client = ClientConnection(_CLIENT_ID, _MAX_RESPONSE_BYTES, _USABLE)
        self._socket = socket.create_connection(address, timeout=self._left_s())

    def encrypt(self, tls: "ssl.SSLContext", host: str) -> None:
        import ssl  # not needed without TLS

        from ..security.tls.failures import failure_of

        try:
            self._socket = tls.wrap_socket(self._socket, server_hostname=host)
        except ssl.SSLError as error:
            raise UnhealthyError(f"cannot be reached over TLS: {failure_of(error)}") from error

    def open(self, login: SaslLogin | None = None) -> None:
        open_connection(self._client, self._ask, login)

    def metadata(self, credentials: AnyCredentials | None) -> MetadataResponse:
        self.open(None if credentials is None else SaslLogin(credentials, secrets.token_urlsafe()))
        response: MetadataResponse = self._ask(MetadataRequest(topics=[]))
        return response

    def _ask(self, request: Message) -> Any:
        frame = self._client.send(request)
        self._socket.settimeout(self._left_s())
        self._socket.sendall(frame)
        while True:
            self._socket.settimeout(self._left_s())
            data = self._socket.recv(_READ_BYTES)
            for event in self._client.receive(data) if data else self._client.receive_eof():
                if isinstance(event, ConnectionFailed):
                    raise event.error
                return event.response

    def _left_s(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def __enter__(self) -> "_ProbeConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

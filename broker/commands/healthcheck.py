"""``pybroker healthcheck``: checks that a broker answers an ApiVersions and then a Metadata request.

Works with any Kafka broker.
"""

import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...config.config import Config
from ...config.load import load_config
from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.client import (
    ClientConnection,
    ClientError,
    ConnectionFailed,
    UnsupportedApiError,
    VersionsRefusedError,
    open_connection,
)
from ...protocol.codec import Message
from ...protocol.codec.schema import VersionRange
from ...protocol.messages.metadata import MetadataRequest, MetadataResponse
from ..metadata.address import Address, AddressError, local_address
from .command_parser import BAD_INPUT, CommandError, CommandParser

__all__ = ["UnhealthyError", "ask_broker", "healthcheck", "metadata_of"]

_CLIENT_ID = "pybroker-healthcheck"
_DEFAULT_TIMEOUT_S = 5.0
_MAX_TIMEOUT_S = 86_400
_MAX_RESPONSE_BYTES = 64 << 20
_READ_BYTES = 64 << 10
_USABLE = {ApiKey.METADATA: VersionRange(1, API_SPECS[ApiKey.METADATA].max_version)}
"""Version 0 cannot leave out the topics."""


class UnhealthyError(Exception):
    """The broker is not healthy. The text follows the broker's address."""


def healthcheck(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code. Raises CommandError, ConfigError."""
    parser = CommandParser(
        "pybroker healthcheck",
        "Checks that a broker answers. Without arguments: the broker on localhost:9092.",
        epilog="exit codes: 0 the broker answers, 1 it does not, 2 bad arguments or settings",
    )
    parser.add_argument("--bootstrap-server", metavar="HOST:PORT", help="address of the broker")
    parser.add_argument("--config", metavar="FILE", type=Path, help="settings file of the broker, to find its address")
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=_DEFAULT_TIMEOUT_S,
        help="time limit of the whole check (default: 5)",
    )
    options = parser.parse_args(arguments)
    if not 0 < options.timeout <= _MAX_TIMEOUT_S:
        parser.error(f"--timeout {options.timeout:g}: must be above 0 and at most {_MAX_TIMEOUT_S}")
    address = (
        given_address(options.bootstrap_server)
        if options.bootstrap_server is not None
        else listening_address(load_config(options.config or ""))
    )
    try:
        description = ask_broker(address, options.timeout)
    except UnhealthyError as error:
        raise CommandError(f"{address} {error}") from error
    sys.stdout.write(f"{address} answers: {description}\n")
    return 0


def given_address(text: str) -> Address:
    """Raises CommandError."""
    try:
        return Address.parse(text)
    except AddressError as error:
        raise CommandError(f"--bootstrap-server {error}", BAD_INPUT) from None


def listening_address(config: Config) -> Address:
    """The address at which this machine reaches a broker with these settings. Raises CommandError."""
    for listener in config.listeners():
        if listener.security_protocol == "PLAINTEXT" and listener.port != 0:
            return local_address(listener.host, listener.port)
    raise CommandError(
        f"listeners={config.string('listeners')}: has no PLAINTEXT listener with a port of its own;"
        " give --bootstrap-server HOST:PORT",
        BAD_INPUT,
    )


def ask_broker(address: Address, timeout_s: float) -> str:
    """Check a broker; return a description of its cluster. Raises UnhealthyError."""
    return _describe(metadata_of(address, timeout_s))


def metadata_of(address: Address, timeout_s: float) -> MetadataResponse:
    """The broker's description of its cluster, without topics. Raises UnhealthyError."""
    deadline = time.monotonic() + timeout_s
    try:
        with _Conversation(address, deadline) as conversation:
            return conversation.metadata()
    except TimeoutError:
        raise UnhealthyError(f"does not answer within {timeout_s:g} s") from None
    except OSError as error:
        raise UnhealthyError(f"cannot be reached: {error.strerror or error}") from error
    except VersionsRefusedError as error:
        raise UnhealthyError(str(error)) from error
    except UnsupportedApiError as error:
        raise UnhealthyError(f"cannot be asked for its cluster: it {error}") from error
    except ClientError as error:
        raise UnhealthyError(f"does not answer as a Kafka broker does: it {error}") from error


def _describe(metadata: MetadataResponse) -> str:
    if not metadata.brokers:
        raise UnhealthyError("answers, but knows no broker that is up")
    brokers = ", ".join(
        f"{broker.node_id} at {Address(broker.host, broker.port)}"
        for broker in sorted(metadata.brokers, key=lambda broker: broker.node_id)
    )
    cluster = f"cluster {metadata.cluster_id}, " if metadata.cluster_id else ""
    noun = "broker" if len(metadata.brokers) == 1 else "brokers"
    return f"{cluster}{noun} {brokers}"


class _Conversation:
    """A connection on which all requests must be answered before ``deadline``, a value of ``time.monotonic``.

    Raises OSError (TimeoutError after the deadline), ClientError.
    """

    def __init__(self, address: Address, deadline: float) -> None:
        self._deadline = deadline
        self._client = ClientConnection(_CLIENT_ID, _MAX_RESPONSE_BYTES, _USABLE)
        self._socket = socket.create_connection(address, timeout=self._left_s())

    def metadata(self) -> MetadataResponse:
        open_connection(self._client, self._ask)
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

    def __enter__(self) -> "_Conversation":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

"""``pybroker healthcheck``: whether a broker answers as Kafka's clients need it to.

Healthy is a broker that tells its API versions and then which brokers are up. Any Kafka broker can be asked.
"""

import socket
import struct
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from ...config.config import Config
from ...config.load import load_config
from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.codec import DecodeError, Message, decode, decode_prefix, encode
from ...protocol.errors import ErrorCode
from ...protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ...protocol.messages.headers import RequestHeader, ResponseHeader
from ...protocol.messages.metadata import MetadataRequest, MetadataResponse
from ..metadata.address import Address, AddressError, local_address
from .command_parser import BAD_INPUT, CommandError, CommandParser

__all__ = ["UnhealthyError", "ask_broker", "healthcheck", "metadata_of"]

_CLIENT_ID = "pybroker-healthcheck"
_DEFAULT_TIMEOUT_S = 5.0
_MAX_TIMEOUT_S = 86_400
_MAX_ANSWER_BYTES = 64 << 20
_FIRST_API_VERSIONS = 0  # the one that every broker answers, however old
_SIZE = struct.Struct(">i")

Answer = TypeVar("Answer", bound=Message)


class UnhealthyError(Exception):
    """What is wrong with the broker, behind its address."""


def healthcheck(arguments: Sequence[str]) -> int:
    """The command; returns its exit code. Raises CommandError, ConfigError."""
    parser = CommandParser(
        "pybroker healthcheck",
        "Asks a broker for its versions and its cluster. Without arguments: the one on localhost:9092.",
        epilog="exit codes: 0 it answers, 1 it does not, 2 bad arguments or settings",
    )
    parser.add_argument("--bootstrap-server", metavar="HOST:PORT", help="where the broker listens")
    parser.add_argument("--config", metavar="FILE", type=Path, help="the broker's settings, to find where it listens")
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=float, default=_DEFAULT_TIMEOUT_S, help="for all of it; 5 if not given"
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
    """Where a broker of these settings is reached from this machine. Raises CommandError."""
    for listener in config.listeners():
        if listener.security_protocol == "PLAINTEXT" and listener.port != 0:
            return local_address(listener.host, listener.port)
    raise CommandError(
        f"listeners={config.string('listeners')}: has no PLAINTEXT listener with a port of its own;"
        " give --bootstrap-server HOST:PORT",
        BAD_INPUT,
    )


def ask_broker(address: Address, timeout_s: float) -> str:
    """Ask the broker; what it says of itself, in words. Raises UnhealthyError."""
    return _describe(metadata_of(address, timeout_s))


def metadata_of(address: Address, timeout_s: float) -> MetadataResponse:
    """What it says of its cluster, without topics. Raises UnhealthyError."""
    deadline = time.monotonic() + timeout_s
    try:
        with _Conversation(address, deadline) as conversation:
            versions = conversation.ask(
                ApiKey.API_VERSIONS, ApiVersionsRequest(), ApiVersionsResponse, _FIRST_API_VERSIONS
            )
            return conversation.ask(
                ApiKey.METADATA, MetadataRequest(topics=[]), MetadataResponse, _metadata_version(versions)
            )
    except TimeoutError:
        raise UnhealthyError(f"does not answer within {timeout_s:g} s") from None
    except OSError as error:
        raise UnhealthyError(f"cannot be reached: {error.strerror or error}") from error
    except (DecodeError, EOFError) as error:
        raise UnhealthyError("does not answer as a Kafka broker does") from error


def _metadata_version(versions: ApiVersionsResponse) -> int:
    """The newest that both speak. Raises UnhealthyError."""
    if versions.error_code != ErrorCode.NONE:
        raise UnhealthyError(f"refuses to tell its versions: {ErrorCode(versions.error_code).name}")
    ours = API_SPECS[ApiKey.METADATA].versions
    for served in versions.api_keys:
        if served.api_key == ApiKey.METADATA and max(served.min_version, 1) <= min(served.max_version, ours.last):
            return min(served.max_version, ours.last)
    raise UnhealthyError("does not serve metadata in a version that is known here")


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
    """A connection on which one request after another is answered before ``deadline`` (of ``time.monotonic``).

    Raises OSError (TimeoutError when time is up), EOFError, DecodeError.
    """

    def __init__(self, address: Address, deadline: float) -> None:
        self._deadline = deadline
        self._socket = socket.create_connection(address, timeout=self._left_s())
        self._requests = 0

    def ask(self, key: ApiKey, request: Message, answer_type: type[Answer], version: int) -> Answer:
        spec = API_SPECS[key]
        self._requests += 1
        header = RequestHeader(
            request_api_key=key, request_api_version=version, correlation_id=self._requests, client_id=_CLIENT_ID
        )
        frame = encode(header, spec.request_header_version(version)) + encode(request, version)
        self._socket.settimeout(self._left_s())
        self._socket.sendall(_SIZE.pack(len(frame)) + frame)
        (size,) = _SIZE.unpack(self._read(_SIZE.size))
        if not 4 <= size <= _MAX_ANSWER_BYTES:
            raise EOFError(f"an answer of {size} bytes")
        answer = self._read(size)
        answered, end = decode_prefix(ResponseHeader, answer, spec.response_header_version(version))
        if answered.correlation_id != self._requests:
            raise EOFError(f"an answer to request {answered.correlation_id}")
        return decode(answer_type, answer, version, end)

    def _read(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            self._socket.settimeout(self._left_s())
            piece = self._socket.recv(min(size - len(received), 1 << 16))
            if not piece:
                raise EOFError("the connection was closed")
            received += piece
        return bytes(received)

    def _left_s(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def __enter__(self) -> "_Conversation":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

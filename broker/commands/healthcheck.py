"""``pybroker healthcheck``: checks that a broker answers an ApiVersions and then a Metadata request.

Works with any Kafka broker.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from ...config.config import Config
from ...config.load import load_config
from ...protocol.messages.metadata import MetadataResponse
from ..library.broker_probe import UnhealthyError, metadata_of
from ..metadata.address import Address, AddressError, local_address
from .command_parser import BAD_INPUT, CommandError, CommandParser

__all__ = ["ask_broker", "healthcheck"]

_DEFAULT_TIMEOUT_S = 5.0
_MAX_TIMEOUT_S = 86_400


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

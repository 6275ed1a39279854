"""``pybroker healthcheck``: checks that a broker answers an ApiVersions and then a Metadata request.

Works with any Kafka broker. With ``--probe`` it asks the HTTP endpoint of a pybroker on this machine instead; a broker
without one is asked by Kafka's protocol whether it is ready.
"""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...config.config import Config
from ...config.listener_security import ListenerSecurity
from ...config.listeners import Listener
from ...config.load import load_config
from ...config.sasl_mechanisms import MechanismOptions
from ...config.typed_values import TypedValues
from ...protocol.client import AnyCredentials
from ...protocol.messages.metadata import MetadataResponse
from ..library.broker_probe import UnhealthyError, check_versions, metadata_of
from ..metadata.address import Address, AddressError, local_address
from .given_settings import environment_settings
from .http_check import PROBES, READY, check_over_http, http_listener

if TYPE_CHECKING:
    import ssl

__all__ = ["ask_broker", "healthcheck"]

_DEFAULT_TIMEOUT_S = 5.0
_MAX_TIMEOUT_S = 86_400


def healthcheck(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code. Raises CommandError, ConfigError."""
    parser = CommandParser(
        "pybroker healthcheck",
        "Checks that a broker answers. Without arguments: the broker at the first address in PYBROKER_BOOTSTRAP, "
        "else the one of the settings in the environment, by default on localhost:9092.",
        epilog="exit codes: 0 the broker answers, 1 it does not, 2 bad arguments or settings",
    )
    parser.add_argument("-b", "--bootstrap-server", metavar="HOST:PORT", help="address of the broker")
    parser.add_argument("--config", metavar="FILE", type=Path, help="settings file of the broker, to find its address")
    parser.add_argument(
        "--probe",
        choices=PROBES,
        help="ask the broker's HTTP endpoint, whose address the settings have: does it live, is it ready for clients,"
        " can it stop without harm to a partition",
    )
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
    if options.probe is not None:
        if options.bootstrap_server is not None:
            parser.error("--probe asks a broker on this machine: give --config, not --bootstrap-server")
        config = load_config(options.config or "", environment_settings())
        if options.probe != READY or http_listener(config) is not None:
            return check_over_http(config, options.probe, options.timeout)
    try:
        given = options.bootstrap_server
        if given is None and options.config is None and options.probe is None:
            given = os.environ.get("PYBROKER_BOOTSTRAP", "").split(",")[0].strip() or None
        if given is not None:
            address = given_address(given)
            description = ask_broker(address, options.timeout)
        else:
            config = load_config(options.config or "", environment_settings())
            listener = reachable_listener(config)
            address = local_address(listener.host, listener.port)
            description = _ask_own(config, listener, address, options.timeout)
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


def reachable_listener(config: Config) -> Listener:
    """The listener at which this machine reaches a broker with these settings. Raises CommandError."""
    for protocol in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"):
        for listener in config.listeners():
            if listener.security_protocol == protocol and listener.port != 0:
                return listener
    raise CommandError(
        f"listeners={config.string('listeners')}: has no listener with a port of its own;"
        " give --bootstrap-server HOST:PORT",
        BAD_INPUT,
    )


def tls_of(config: Config, listener: Listener) -> "ssl.SSLContext | None":
    """The client's side of a listener with TLS: its own certificate is trusted. Raises ConfigError."""
    security = ListenerSecurity.of(config, listener.name)
    if not security.encrypts:
        return None
    from ..security.tls.listener_tls import local_context  # not needed without TLS

    return local_context(TypedValues(security.ssl))


def ask_broker(
    address: Address, timeout_s: float, tls: "ssl.SSLContext | None" = None, credentials: AnyCredentials | None = None
) -> str:
    """Check a broker; return a description of its cluster. Raises UnhealthyError."""
    return _describe(metadata_of(address, timeout_s, tls, credentials))


def _ask_own(config: Config, listener: Listener, address: Address, timeout_s: float) -> str:
    """Check the broker that has these settings, with a login that they contain."""
    security, tls = ListenerSecurity.of(config, listener.name), tls_of(config, listener)
    if not security.authenticates:
        return ask_broker(address, timeout_s, tls)
    began_s = time.monotonic()
    credentials, why_none = _own_login(config, security, timeout_s / 4)
    timeout_s -= time.monotonic() - began_s
    if credentials is None:
        check_versions(address, timeout_s, tls)
        return f"not asked for its cluster, because {why_none}"
    return ask_broker(address, timeout_s, tls, credentials)


def _own_login(config: Config, security: ListenerSecurity, longest_s: float) -> tuple[AnyCredentials | None, str]:
    """A login that the settings contain, or why there is none. ``longest_s``: each time-out of a fetch of a token."""
    from ...config.sasl_listeners import mechanisms_of_listener  # not needed without SASL
    from ..security.sasl.own_login import credentials_in_settings

    mechanisms = mechanisms_of_listener(config, security)
    of_brokers = mechanisms.get(config.string("sasl.mechanism.inter.broker.protocol"))
    password = credentials_in_settings(mechanisms)
    if password is None and of_brokers is not None and of_brokers.login_handler is not None:
        return _token(config, security, of_brokers, longest_s)
    return password, "the settings have no password to log in with"


def _token(
    config: Config, security: ListenerSecurity, mechanism: MechanismOptions, longest_s: float
) -> tuple[AnyCredentials | None, str]:
    """The token of brokers. If there is none, the broker is not ill: the provider of tokens may be away."""
    from ...client.oauth.token_source import TokenError
    from ..security.sasl.token_settings import configured_fetch

    fetch = configured_fetch(
        security.sasl,
        mechanism,
        allowed_urls=config.list("pybroker.sasl.oauthbearer.allowed.urls"),
        clock_ms=lambda: time.time_ns() // 1_000_000,
        longest_s=longest_s,
    )
    try:
        return fetch().bearer, ""
    except TokenError as error:
        return None, f"there is no token to log in with: {error}"


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

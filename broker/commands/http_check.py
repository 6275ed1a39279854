"""``pybroker healthcheck --probe``: asks the HTTP endpoint of the broker that has the given settings."""

import sys
from pathlib import Path

from ...base.command_parser import BAD_INPUT, CommandError
from ...config.config import Config
from ...config.config_error import ConfigError
from ...config.http_listeners import HTTP_LISTENERS, http_listeners
from ...config.listener_security import ListenerSecurity
from ...config.listeners import Listener, is_encrypted
from ...config.typed_values import TypedValues
from ..library.broker_probe import UnhealthyError
from ..metadata.address import local_address

__all__ = ["PROBES", "READY", "check_over_http", "http_listener"]

READY = "readyz"
PROBES = ("livez", READY, "safe-to-stop")


def http_listener(config: Config) -> Listener | None:
    """An address of the HTTP endpoint, if possible without TLS; None when there is none with a port of its own."""
    listeners = [each for each in http_listeners(config) if each.port != 0]
    return min(listeners, key=lambda each: is_encrypted(each.security_protocol), default=None)


def check_over_http(config: Config, probe: str, timeout_s: float) -> int:
    """Print the response and return the exit code. Raises CommandError, ConfigError."""
    from ..library.http_probe import ask_probe  # needs json, which Kafka's protocol does not

    listener = http_listener(config)
    if listener is None:
        raise CommandError(f"{config.shown(HTTP_LISTENERS)}: has no address that could be asked", BAD_INPUT)
    tls = None
    if is_encrypted(listener.security_protocol):
        from ..security.tls.listener_tls import local_context  # not needed without TLS

        tls = local_context(TypedValues(ListenerSecurity.of_https(config).ssl))
    address = local_address(listener.host, listener.port)
    try:
        ask_probe(address, f"/{probe}", timeout_s, tls, _token(config))
    except UnhealthyError as error:
        raise CommandError(f"{address} {error}") from error
    sys.stdout.write(f"{address} says yes to /{probe}\n")
    return 0


def _token(config: Config) -> str | None:
    """The first token that the endpoint accepts; None when it needs none. Raises CommandError."""
    from ..http.token_file import TOKEN_FILE, read_tokens  # not needed without an HTTP endpoint

    path = config.optional_string(TOKEN_FILE)
    if path is None:
        return None
    try:
        tokens = read_tokens(Path(path), config.shown(TOKEN_FILE))
    except ConfigError as error:
        raise CommandError(str(error)) from error
    return tokens[0].decode("latin-1") if tokens else None

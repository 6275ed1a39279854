"""The addresses of the broker's HTTP endpoint (``pybroker.http.listeners``), and the protection that they need."""

import ipaddress

from .config import Config
from .config_error import ConfigError
from .listeners import Listener, is_encrypted, parse_listeners

__all__ = ["HTTPS", "HTTP_LISTENERS", "TEST_KIT", "check_http_listeners", "http_listeners", "is_loopback"]

HTTP_LISTENERS = "pybroker.http.listeners"
TEST_KIT = "pybroker.test.kit"
HTTPS = "HTTPS"
_PROTOCOLS = {"HTTP": "PLAINTEXT", HTTPS: "SSL"}


def http_listeners(config: Config) -> tuple[Listener, ...]:
    """Empty: the broker has no HTTP endpoint. Raises ConfigError."""
    found: list[Listener] = []
    for element in filter(None, config.list(HTTP_LISTENERS)):
        if element.partition(":")[0].upper() not in _PROTOCOLS:
            allowed = " or ".join(f"{name}://host:port" for name in _PROTOCOLS)
            raise ConfigError(f"{config.shown(HTTP_LISTENERS)}: {element} must be {allowed}")
        found += parse_listeners(element, _PROTOCOLS, HTTP_LISTENERS)
    return tuple(found)


def is_loopback(host: str | None) -> bool:
    """Whether only this machine can reach a listener on ``host``."""
    if host is not None and host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def check_http_listeners(config: Config) -> None:
    """Raises ConfigError when other machines could read the endpoint, and nothing protects it.

    TLS is enough, and so is a token, because each of them is a decision of the operator.
    """
    listeners = http_listeners(config)
    _check_test_kit(config, listeners)
    if config.boolean("pybroker.http.insecure") or config.optional_string("pybroker.http.token.file") is not None:
        return
    for listener in listeners:
        if not is_loopback(listener.host) and not is_encrypted(listener.security_protocol):
            raise ConfigError(
                f"{config.shown(HTTP_LISTENERS)}: every machine that reaches {listener} could read it; set "
                "pybroker.http.token.file, use HTTPS://, listen on 127.0.0.1, or set pybroker.http.insecure=true to "
                "allow that"
            )


def _check_test_kit(config: Config, listeners: tuple[Listener, ...]) -> None:
    """TLS alone does not protect the test kit, because it lets every client in."""
    if not config.boolean(TEST_KIT) or config.optional_string("pybroker.http.token.file") is not None:
        return
    for listener in listeners:
        if not is_loopback(listener.host) and not config.boolean("pybroker.http.insecure"):
            raise ConfigError(
                f"{config.shown(TEST_KIT)}: every machine that reaches {listener} could break the broker; set "
                "pybroker.http.token.file, listen on 127.0.0.1, or set pybroker.http.insecure=true to allow that"
            )

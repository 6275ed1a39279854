"""The addresses of the broker's HTTP endpoint (``pybroker.http.listeners``)."""

import ipaddress

from .config import Config
from .config_error import ConfigError
from .listeners import Listener, parse_listeners

__all__ = ["HTTP_LISTENERS", "check_http_listeners", "http_listeners", "is_loopback"]

HTTP_LISTENERS = "pybroker.http.listeners"
_PROTOCOLS = {"HTTP": "PLAINTEXT"}


def http_listeners(config: Config) -> tuple[Listener, ...]:
    """Empty: the broker has no HTTP endpoint. Raises ConfigError."""
    found: list[Listener] = []
    for element in filter(None, config.list(HTTP_LISTENERS)):
        if element.partition(":")[0].upper() not in _PROTOCOLS:
            allowed = ", ".join(f"{name}://host:port" for name in _PROTOCOLS)
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
    """Raises ConfigError when other machines could read what the endpoint tells, and nothing protects it."""
    if config.boolean("pybroker.http.insecure"):
        return
    for listener in http_listeners(config):
        if not is_loopback(listener.host):
            raise ConfigError(
                f"{config.shown(HTTP_LISTENERS)}: {listener} is open to other machines without protection; set "
                f"pybroker.http.insecure=true to allow that, or listen on 127.0.0.1"
            )

"""Addresses as a person writes them and a client is given them: ``host:port``."""

import ipaddress
from typing import NamedTuple

__all__ = ["Address", "AddressError", "is_every_address", "local_address"]

_LAST_PORT = 65_535


class AddressError(ValueError):
    """A text that is no ``host:port``."""


class Address(NamedTuple):
    """Where a broker listens. An IPv6 address stands without its brackets."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read ``host:port`` or ``[ipv6]:port``. Raises AddressError."""
        host, _, port = text.strip().rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host or "," in host:
            host = ""
        if not host or not port.isdecimal() or not 0 < int(port) <= _LAST_PORT:
            raise AddressError(f"{text}: must be one HOST:PORT, like localhost:9092")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def is_every_address(host: str | None) -> bool:
    """Whether a listener of this host is reached by every address of the machine, of one family or both."""
    try:
        return not host or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def local_address(host: str | None, port: int) -> Address:
    """How a listener is reached from this machine."""
    if host and not is_every_address(host):
        return Address(host, port)
    return Address({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host or "", "localhost"), port)

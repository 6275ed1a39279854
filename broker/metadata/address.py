"""Addresses as ``host:port``: parse them, print them, and find the one to reach a listener from this machine."""

from typing import NamedTuple

from ...config.listeners import is_every_address

__all__ = ["Address", "AddressError", "local_address"]

_LAST_PORT = 65_535


class AddressError(ValueError):
    """The text is not ``host:port``."""


class Address(NamedTuple):
    """Host and port of a listener. An IPv6 host has no brackets here."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse ``host:port`` or ``[ipv6]:port``. Raises AddressError."""
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


def local_address(host: str | None, port: int) -> Address:
    """The address at which this machine reaches a listener that is bound to ``host``.

    A listener on every address has both families, but the machine may have no IPv6. So clients try all addresses of
    ``localhost``.
    """
    if host and not is_every_address(host):
        return Address(host, port)
    return Address("127.0.0.1" if host == "0.0.0.0" else "localhost", port)

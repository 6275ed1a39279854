"""Parses listeners (``NAME://host:port``) and the map from listener names to security protocols."""

import ipaddress
import re
from collections.abc import Mapping, Sequence

from ..base.frozen import frozen
from ..base.kafka_names import SECURITY_PROTOCOLS
from .config_error import ConfigError

# Equivalent to Kafka's pattern: a name in any case, a host that may be in brackets or left out.
_LISTENER = re.compile(r"(?P<name>[^:/]+)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)\]?:(?P<port>-?[0-9]+)")
_PORTS, _TOLD_PORTS = (0, 65535), (-(2**31), 2**31 - 1)
_COMMA = re.compile(r"\s*,\s*")


def is_encrypted(security_protocol: str) -> bool:
    """Whether connections with this protocol use TLS."""
    return security_protocol not in ("PLAINTEXT", "SASL_PLAINTEXT")


def has_login(security_protocol: str) -> bool:
    """Whether clients log in by SASL."""
    return security_protocol.startswith("SASL_")


def listener_address(name: str, host: str, port: int) -> str:
    """``NAME://host:port``; an IPv6 address gets brackets."""
    return f"{name}://{f'[{host}]' if ':' in host else host}:{port}"


def is_every_address(host: str | None) -> bool:
    """Whether a listener with this host accepts connections to every address of the machine: ``0.0.0.0``, ``::`` in any
    spelling, or no host."""
    try:
        return not host or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


@frozen
class Listener:
    """A listener, or an advertised address.

    Attributes:
        name: in capital letters.
        host: None: every address of this machine. An IPv6 address is written without brackets.
        security_protocol: one of ``SECURITY_PROTOCOLS``.
    """

    name: str
    host: str | None
    port: int
    security_protocol: str

    def __str__(self) -> str:
        return listener_address(self.name, self.host or "", self.port)


def parse_protocol_map(
    text: str, setting: str = "listener.security.protocol.map", *, place: str = ""
) -> dict[str, str]:
    """Parse ``NAME:PROTOCOL,…``; returns protocols by name in capital letters. Raises ConfigError."""
    where = f"{setting}={text}{place}"
    protocols: dict[str, str] = {}
    for pair in filter(None, _COMMA.split(text.strip())):
        name, colon, protocol = pair.rpartition(":")
        protocol = protocol.strip().upper()
        if not colon or not name.strip():
            raise ConfigError(f"{where}: {pair} must be NAME:PROTOCOL")
        if protocol not in SECURITY_PROTOCOLS:
            allowed = ", ".join(SECURITY_PROTOCOLS)
            raise ConfigError(f"{where}: {protocol} must be one of {allowed}")
        protocols[name.strip().upper()] = protocol
    return protocols


def parse_listeners(
    text: str, protocols: Mapping[str, str], setting: str = "listeners", *, place: str = "", opened: bool = True
) -> tuple[Listener, ...]:
    """Parse a list of listeners.

    Args:
        protocols: the security protocol by listener name (``parse_protocol_map``).
        setting: the name of the setting, for errors.
        place: where its value was given, for errors.
        opened: the broker listens on them. Then ports must be valid, and two listeners may share a port only if the
            port is 0, or one address is IPv4 and the other IPv6. The port of an advertised listener may be any 32-bit
            number, as in Kafka.

    Raises:
        ConfigError: names the setting, its value and the fault.
    """
    where = f"{setting}={text}{place}"
    listeners = [_listener(element, protocols, where, opened) for element in filter(None, _COMMA.split(text.strip()))]
    if not listeners:
        raise ConfigError(f"{where}: must name at least one listener, like PLAINTEXT://:9092")
    names = [listener.name for listener in listeners]
    if len(set(names)) != len(names):
        raise ConfigError(f"{where}: the names of listeners must differ")
    if opened:
        _check_ports(listeners, where)
    return tuple(listeners)


def _listener(element: str, protocols: Mapping[str, str], where: str, opened: bool) -> Listener:
    match = _LISTENER.fullmatch(element)
    if match is None:
        raise ConfigError(f"{where}: {element} must be NAME://host:port; the host may be empty")
    name = match["name"].upper()
    # Kafka notices an invalid port when it opens the listener.
    least, most = _PORTS if opened else _TOLD_PORTS
    port = int(match["port"]) if len(match["port"]) <= 11 else least - 1
    if not least <= port <= most:
        raise ConfigError(f"{where}: the port of {element} must be from {least} to {most}")
    if name not in protocols:
        raise ConfigError(f"{where}: listener.security.protocol.map has no entry for {name}, like {name}:PLAINTEXT")
    return Listener(name, match["host"] or None, port, protocols[name])


def _check_ports(listeners: Sequence[Listener], where: str) -> None:
    by_port: dict[int, list[Listener]] = {}
    for listener in listeners:
        if listener.port != 0:
            by_port.setdefault(listener.port, []).append(listener)
    for port, sharing in by_port.items():
        versions = sorted(_ip_version(listener.host) for listener in sharing)
        if len(sharing) > 1 and versions != [4, 6]:
            raise ConfigError(f"{where}: port {port} is used twice; only an IPv4 and an IPv6 address may share a port")


def _ip_version(host: str | None) -> int:
    """4 or 6; 0 for a host name or no host."""
    try:
        return ipaddress.ip_address(host or "").version
    except ValueError:
        return 0

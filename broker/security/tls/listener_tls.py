"""The TLS of one listener: its stores and contexts, made at the start and made anew by a reload.

Everything is checked before anything is replaced. New connections use the new contexts, open ones keep theirs.
"""

import ssl
from collections.abc import Mapping
from dataclasses import field

from ....base.frozen import frozen
from ....config.config_error import ConfigError
from ....config.typed_values import TypedValues
from ....config.values import Value
from .context import Material, client_context, read_material, server_context
from .reload import FileStamp, file_stamps, refused_changes
from .self_check import failed_handshake

__all__ = ["ListenerTls", "local_context", "open_tls", "reload_tls"]

_IDENTIFICATION = "ssl.endpoint.identification.algorithm"


@frozen
class ListenerTls:
    """``client`` is for links to other brokers' listeners of the same name; None if brokers do not use the listener."""

    server: ssl.SSLContext
    client: ssl.SSLContext | None
    material: Material = field(repr=False)
    values: TypedValues = field(repr=False)
    stamps: Mapping[str, FileStamp | None] = field(repr=False)


def open_tls(values: TypedValues, *, is_between_brokers: bool) -> ListenerTls:
    """Read the stores of a listener. Between brokers a handshake with them is tried too.

    Raises:
        ConfigError: one line that names the setting; the caller adds the listener's name.
    """
    tls = _read(values, is_between_brokers)
    if is_between_brokers:
        _check_handshake(tls, tls, "another broker with these settings could not connect")
    return tls


def reload_tls(old: ListenerTls, values: TypedValues, *, reads_again: bool = False) -> ListenerTls:
    """The listener's TLS with new values; ``old`` itself if neither a value nor the state of a file has changed.

    ``reads_again``: read the stores even then.

    Raises:
        ConfigError: the change is refused; one line.
    """
    is_same = _all(values) == _all(old.values) and file_stamps(values) == old.stamps
    if is_same and not reads_again:
        return old
    new = _read(values, old.client is not None)
    refusals = list(
        refused_changes(
            old.material,
            new.material,
            allow_dn_changes=values.boolean("ssl.allow.dn.changes"),
            allow_san_changes=values.boolean("ssl.allow.san.changes"),
        )
    )
    if refusals:
        raise ConfigError("; ".join(refusals))
    if old.client is not None:
        _check_handshake(new, old, "brokers with the old settings could not connect")
        _check_handshake(old, new, "this broker could not connect to brokers with the old settings")
    return new


def local_context(values: TypedValues) -> ssl.SSLContext:
    """For a client on this machine that has the listener's own stores: it trusts the listener's certificate as well,
    whose names may all be those of other addresses of this machine.

    Raises:
        ConfigError: one line that names the setting.
    """
    material = read_material(values)
    own = [certificate for pair in material.keys[:1] for certificate in pair.chain]
    trusted = Material(material.keys, (*(material.trusted or ()), *own))
    return client_context(_with_any_name(values), trusted)


def _read(values: TypedValues, is_between_brokers: bool) -> ListenerTls:
    stamps = file_stamps(values)  # before the files are read, so that a later change is found
    material = read_material(values)
    client = client_context(values, material) if is_between_brokers else None
    return ListenerTls(server_context(values, material), client, material, values, stamps)


def _check_handshake(server: ListenerTls, client: ListenerTls, otherwise: str) -> None:
    failure = failed_handshake(server.server, client_context(_with_any_name(client.values), client.material))
    if failure is not None:
        raise ConfigError(f"the key store and the trust store do not fit: {otherwise}: {failure.cause.name}: {failure}")


def _with_any_name(values: TypedValues) -> TypedValues:
    return TypedValues({**_all(values), _IDENTIFICATION: ""})


def _all(values: TypedValues) -> dict[str, Value | None]:
    return {name: values.value(name) for name in values.names()}

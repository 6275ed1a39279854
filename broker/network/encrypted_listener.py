"""The TLS of one listener: a layer for each connection, names of clients, log lines, and new stores while it is open.

Imported only when a listener uses TLS.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable, Collection
from enum import Enum
from typing import TypeVar

from ...config.config_error import ConfigError
from ...config.listener_security import ListenerSecurity
from ...config.mapping_rules import parse_mapping_rules
from ...config.typed_values import TypedValues
from ..security.principal import Principal
from ..security.tls.buffers import TlsBuffers
from ..security.tls.expiry import CertificateEnd, first_end
from ..security.tls.failures import Cause, TlsFailure
from ..security.tls.handshakes import HandshakeQueue
from ..security.tls.listener_tls import ListenerTls, open_tls, reload_tls
from ..security.tls.peers import user_of_peer
from ..security.tls.side import EncryptedConnection, TlsSide
from ..security.tls.transport import TlsTransport
from .offender_log import OffenderLog, Violation

__all__ = ["EncryptedListener", "warn_daily"]

logger = logging.getLogger(__name__)

_CLIENT_AUTH = "ssl.client.auth"
_NO_LOGIN = {Cause.CLOSED, Cause.TOO_SLOW, Cause.TOO_MANY, Cause.TOO_LONG}
_DAY_S = 86_400
_Result = TypeVar("_Result")


class EncryptedListener:
    """``is_between_brokers``: this broker connects to the same listener of other brokers.

    Every method that takes a `ListenerSecurity` raises ConfigError with one line that names the listener.
    """

    def __init__(
        self,
        security: ListenerSecurity,
        loop: asyncio.AbstractEventLoop,
        buffers: TlsBuffers,
        offenders: OffenderLog,
        *,
        is_between_brokers: bool,
        deadline_s: float,
        handshakes: HandshakeQueue,
    ) -> None:
        self._name = security.listener_name
        self._offenders = offenders
        # With SASL the login names the client, whatever its certificate says, as in Kafka.
        self._names_clients = not security.authenticates
        self._tls: ListenerTls = self._named(
            lambda: open_tls(_values(security), is_between_brokers=is_between_brokers),
        )
        rules = security.ssl["ssl.principal.mapping.rules"]
        self._rules = self._named(lambda: parse_mapping_rules(str(rules)))
        self.failed_logins = 0
        """Handshakes that proved no right to connect, as Kafka counts them: a client that went away is none of them."""
        self._side = TlsSide(self._tls.server, self, loop, buffers, deadline_s=deadline_s, handshakes=handshakes)
        if _forces_no_client_auth(security):
            logger.warning(
                "ssl.client.auth=%s has no effect on listener %s, because its clients log in by SASL; "
                "listener.name.%s.ssl.client.auth has",
                security.ssl[_CLIENT_AUTH],
                self._name,
                self._name.lower(),
            )

    def add_layer(
        self, connection: asyncio.BufferedProtocol, authenticated: Callable[[Principal], None]
    ) -> asyncio.BufferedProtocol:
        """A `ConnectionLayer`."""
        return TlsTransport(connection, self._side, authenticated if self._names_clients else None)

    def client_context(self) -> ssl.SSLContext:
        """For a link to another broker."""
        assert self._tls.client is not None, "no links to this listener are expected"
        return self._tls.client

    def check(self, security: ListenerSecurity) -> None:
        """Whether `reload` would take these settings: reads the stores if they have changed."""
        self._named(lambda: reload_tls(self._tls, _values(security)))

    def reload(self, security: ListenerSecurity, now_s: float) -> None:
        """Use these settings, and the stores as they are now, for new connections. ``now_s``: the wall clock."""
        new = self._named(lambda: reload_tls(self._tls, _values(security)))
        if new is not self._tls:
            self._tls = new
            self._side.context = new.server
            logger.info("New connections to listener %s use its changed TLS settings or stores", self._name)
            self.warn_of_end(now_s)

    def certificate_end(self) -> CertificateEnd | None:
        """The first end of the certificates that this listener shows to clients; None if they cannot be read."""
        return first_end(self._tls.material.keys[0].chain)

    def warn_of_end(self, now_s: float) -> None:
        """``now_s``: the wall clock."""
        end = self.certificate_end()
        if end is None or not end.is_soon(now_s):
            return
        if end.is_over(now_s):
            logger.error("listener %s: the certificate of %r has ended on %s", self._name, end.subject, end.date)
        else:
            logger.warning("listener %s: the certificate of %r ends soon, on %s", self._name, end.subject, end.date)

    def established(self, connection: EncryptedConnection) -> None:
        authenticated, connection.authenticated = connection.authenticated, None
        if authenticated is None:
            return
        user = user_of_peer(connection.peer_certificate, self._rules)
        if user is None:
            why = "no rule of ssl.principal.mapping.rules applies to its certificate"
            self.failed_logins += 1
            self._warn(connection, Violation.TLS_NAME, why)
            connection.close()
        else:
            authenticated(Principal("User", user))

    def failed(self, connection: EncryptedConnection, failure: TlsFailure) -> None:
        self.failed_logins += failure.cause not in _NO_LOGIN
        self._warn(connection, failure.cause, str(failure))

    def _warn(self, connection: EncryptedConnection, key: Enum, why: str) -> None:
        peer = connection.get_extra_info("peername")
        host, port = peer[:2] if peer else ("unknown", 0)
        text = f"Closing the TLS connection of {host}:{port} to listener {self._name}: {why}"
        self._offenders.warn(host, key, text, f"{self._name}: {why}")

    def _named(self, act: Callable[[], _Result]) -> _Result:
        try:
            return act()
        except ConfigError as error:
            raise ConfigError(f"listener {self._name}: {error}") from None


async def warn_daily(listeners: Collection[EncryptedListener], now_s: Callable[[], float]) -> None:
    """Warn now and each day of certificates that end soon."""
    while True:
        for listener in listeners:
            listener.warn_of_end(now_s())
        await asyncio.sleep(_DAY_S)


def _values(security: ListenerSecurity) -> TypedValues:
    if _forces_no_client_auth(security):
        return TypedValues({**security.ssl, _CLIENT_AUTH: "none"})
    return TypedValues(security.ssl)


def _forces_no_client_auth(security: ListenerSecurity) -> bool:
    """Kafka does so with SASL, unless the setting is for this listener."""
    return (
        security.authenticates and _CLIENT_AUTH not in security.ssl_of_listener and security.ssl[_CLIENT_AUTH] != "none"
    )

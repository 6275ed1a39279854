"""The parts that all TLS connections of one listener, or all links to other brokers, share."""

import ssl
from collections.abc import Callable
from typing import Any, Protocol

from ....base.timers import Scheduler
from ..principal import Principal
from .buffers import TlsBuffers
from .failures import TlsFailure
from .handshakes import HandshakeQueue

__all__ = ["EncryptedConnection", "TlsEvents", "TlsSide"]


class EncryptedConnection(Protocol):
    """A `TlsTransport`, as the owner of its connection sees it."""

    authenticated: Callable[[Principal], None] | None

    @property
    def peer_certificate(self) -> bytes | None: ...

    def get_extra_info(self, name: str, default: Any = None) -> Any: ...

    def close(self) -> None: ...

    def abort(self) -> None: ...


class TlsEvents(Protocol):
    """The owner of TLS connections. It may close or abort the connection in these calls."""

    def established(self, connection: EncryptedConnection) -> None:
        """The handshake is complete, and no plaintext was delivered yet."""

    def failed(self, connection: EncryptedConnection, failure: TlsFailure) -> None:
        """The connection is being closed because of ``failure``."""


class TlsSide:
    """``context`` may be replaced: connections that begin their handshake later use the new one.

    A server passes ``handshakes``, one for each listener. A client's handshakes do not queue, and the server's
    certificate must have the name or address ``server_hostname``, if the context checks names.
    """

    __slots__ = ("buffers", "ciphertext", "context", "deadline_s", "events", "handshakes", "loop", "server_hostname")

    def __init__(
        self,
        context: ssl.SSLContext,
        events: TlsEvents,
        loop: Scheduler,
        buffers: TlsBuffers,
        *,
        deadline_s: float,
        handshakes: HandshakeQueue | None = None,
        server_hostname: str | None = None,
    ) -> None:
        self.context = context
        self.events = events
        self.loop = loop
        self.buffers = buffers
        self.ciphertext = buffers.ciphertext
        self.deadline_s = deadline_s
        self.handshakes = handshakes
        self.server_hostname = server_hostname

    @property
    def is_server(self) -> bool:
        return self.handshakes is not None

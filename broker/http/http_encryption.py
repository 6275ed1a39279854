"""The TLS of the HTTP endpoint: by the ``ssl.…`` settings, or ``listener.name.https.ssl.…`` in their place.

Imported only when an address of the endpoint has TLS.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection

from ...config.config import Config
from ...config.listener_security import ListenerSecurity
from ..network.encrypted_listener import EncryptedListener, warn_daily
from ..network.offender_log import OffenderLog, offences_in
from ..security.principal import Principal
from ..security.tls.buffers import TlsBuffers
from ..security.tls.handshakes import HandshakeQueue

__all__ = ["HttpEncryption"]

logger = logging.getLogger(__name__)


class HttpEncryption:
    """To be made on the running loop. Raises ConfigError when the stores cannot be used. ``clock_ms``: wall clock."""

    def __init__(self, config: Config, clock_ms: Callable[[], int]) -> None:
        self._clock_ms = clock_ms
        loop = asyncio.get_running_loop()
        self._offenders = OffenderLog(logger, loop.time)
        self._listener = EncryptedListener(
            ListenerSecurity.of_https(config),
            loop,
            TlsBuffers(),
            self._offenders,
            is_between_brokers=False,
            deadline_s=config.int("pybroker.tls.handshake.timeout.ms") / 1000,
            handshakes=HandshakeQueue(loop.call_soon, loop.time, config.int("pybroker.tls.handshakes.max")),
        )

    async def run(self) -> None:
        """Warn of a certificate that ends soon."""
        await warn_daily([self._listener], self._now_s)

    def _now_s(self) -> float:
        return self._clock_ms() / 1000

    def offences(self) -> Counter[str]:
        """How often connections were refused, by offence."""
        return offences_in(self._offenders.counts)

    def layer(
        self, connection: asyncio.BufferedProtocol, authenticated: Callable[[Principal], None]
    ) -> asyncio.BufferedProtocol:
        return self._listener.add_layer(connection, authenticated)

    def check(self, config: Config, _names: Collection[str]) -> None:
        """Raises ConfigError when `reload` would refuse the settings."""
        self._listener.check(ListenerSecurity.of_https(config))

    def reload(self, config: Config) -> None:
        """Use changed settings and stores for new connections. Raises ConfigError."""
        self._listener.reload(ListenerSecurity.of_https(config), self._now_s())

"""TLS of this broker's listeners, and of its links to the same listeners of other brokers.

Imported only when a listener uses TLS.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping

from ..config.config import Config
from ..config.config_error import ConfigError
from ..config.listener_security import ListenerSecurity
from .environment import wall_clock_ms
from .network.encrypted_listener import EncryptedListener, warn_daily
from .network.offender_log import OffenderLog, offences_in
from .network.transport import ConnectionLayer
from .requests.between_brokers import listeners_between_brokers
from .security.tls.buffers import TlsBuffers
from .security.tls.handshakes import HandshakeQueue
from .security.tls.links import link_layer

__all__ = ["Encryption"]

logger = logging.getLogger(__name__)

LinkLayer = Callable[[asyncio.BufferedProtocol, tuple[str, int]], asyncio.BufferedProtocol]


class Encryption:
    """To be made on the running loop. Raises ConfigError if the stores of a listener cannot be used.

    ``run`` is a task while the broker runs.
    """

    def __init__(self, config: Config, clock_ms: Callable[[], int] = wall_clock_ms) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._clock_ms = clock_ms
        self._buffers = TlsBuffers()
        most_handshakes = config.int("pybroker.tls.handshakes.max")
        self._link_deadline_s = config.int("socket.connection.setup.timeout.ms") / 1000
        self._offenders = OffenderLog(logger, loop.time)
        # Without a cluster this broker connects to no other one.
        between_brokers = () if config.uses_embedded_store else listeners_between_brokers(config)
        self._listeners = {
            security.listener_name: EncryptedListener(
                security,
                loop,
                self._buffers,
                self._offenders,
                is_between_brokers=security.listener_name in between_brokers,
                deadline_s=config.int("pybroker.tls.handshake.timeout.ms") / 1000,
                handshakes=HandshakeQueue(loop.call_soon, loop.time, most_handshakes),
            )
            for security in _encrypted(config)
        }

    async def run(self) -> None:
        """Warn of certificates that end soon."""
        await warn_daily(self._listeners.values(), self._now_s)

    def _now_s(self) -> float:
        return self._clock_ms() / 1000

    def certificate_ends(self) -> Mapping[str, int]:
        """The first end (Unix time, seconds) of each listener's certificates, by listener."""
        ends = {name: listener.certificate_end() for name, listener in self._listeners.items()}
        return {name: end.at_s for name, end in ends.items() if end is not None}

    def offences(self) -> Counter[str]:
        """How often connections were refused, by offence."""
        return offences_in(self._offenders.counts)

    def failed_logins(self, listener_name: str) -> int:
        """How many TLS handshakes of a listener failed. 0 for a listener without TLS."""
        listener = self._listeners.get(listener_name)
        return 0 if listener is None else listener.failed_logins

    def layer(self, listener_name: str) -> ConnectionLayer:
        """The layer below connections that other machines open."""
        return self._listeners[listener_name].add_layer

    def link_layer(self, listener_name: str) -> LinkLayer:
        """The layer below links to other brokers."""
        context = self._listeners[listener_name].client_context
        return link_layer(context, self._loop, self._buffers, self._link_deadline_s)

    def check(self, config: Config, names: Collection[str]) -> None:
        """Raises ConfigError when `reload` would refuse the settings of a listener that one of ``names`` belongs to."""
        for security in _encrypted(config):
            prefixes = ("ssl.", f"listener.name.{security.listener_name.lower()}.ssl.")
            if any(name.startswith(prefixes) for name in names):
                self._listeners[security.listener_name].check(security)

    def reload(self, config: Config) -> None:
        """Use changed settings and stores for new connections.

        Raises:
            ConfigError: of each listener that keeps its old ones; the others use the new ones.
        """
        errors = []
        for security in _encrypted(config):
            try:
                self._listeners[security.listener_name].reload(security, self._now_s())
            except ConfigError as error:
                errors.append(str(error))
        if errors:
            raise ConfigError("; ".join(errors))


def _encrypted(config: Config) -> Iterator[ListenerSecurity]:
    for listener in config.listeners():
        security = ListenerSecurity.of(config, listener.name)
        if security.encrypts:
            yield security

"""The protection of this broker's connections: those that clients open, and those that it opens to other brokers."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..base.invariant import invariant
from ..config.config import Config
from ..config.listener_security import ListenerSecurity
from ..config.listeners import Listener, has_login, is_encrypted
from .environment import Environment, wall_clock_ms
from .network.endpoint_security import EndpointSecurity
from .network.settings import Endpoint
from .settings.live_settings import LiveSettings

if TYPE_CHECKING:
    from .encryption import Encryption
    from .inter_broker.broker_link import LinkSecurity
    from .logins import Logins
    from .own_logins import OwnLogins

__all__ = ["Protection"]


class Protection:
    """Made at the start by `open`, before the broker listens or connects. ``run`` is a task while the broker runs."""

    def __init__(
        self,
        config: Config,
        logins: "Logins | None" = None,
        own_logins: "OwnLogins | None" = None,
        random: Callable[[], float] = lambda: 0.5,
        clock_ms: Callable[[], int] = wall_clock_ms,
    ) -> None:
        """``logins``, ``own_logins``: None without SASL. ``random``: from 0 to 1. Raises ConfigError if TLS cannot be
        used."""
        self._encryption = _encryption(config, clock_ms)
        self._logins = logins
        self._own_logins = own_logins
        self._random = random

    @classmethod
    async def open(cls, config: Config, settings: LiveSettings, environment: Environment) -> "Protection":
        """With the keys that logins need; follows ``settings``, whose `load_entities` then brings the users.

        Raises ConfigError, MetadataStoreError.
        """
        logins = await _logins(config, settings, environment)
        own_logins = _own_logins(config, environment)
        protection = cls(config, logins, own_logins, environment.random.random, environment.clock_ms)
        settings.dynamic.when_read(protection.reload, protection.check)
        return protection

    async def run(self) -> None:
        """Keep up to date what logins need, and warn of certificates that end soon."""
        parts = (self._encryption, self._logins, self._own_logins)
        await asyncio.gather(*(each.run() for each in parts if each is not None))

    def offences(self) -> Counter[str]:
        """How often TLS and logins failed, by offence."""
        return sum((each.offences() for each in (self._encryption, self._logins) if each is not None), Counter[str]())

    def failed_handshakes(self, listener_name: str) -> int:
        """How many TLS handshakes of a listener failed."""
        return 0 if self._encryption is None else self._encryption.failed_logins(listener_name)

    def certificate_ends(self) -> Mapping[str, int]:
        """The first end (Unix time, seconds) of the certificates of each listener with TLS, by listener."""
        return {} if self._encryption is None else self._encryption.certificate_ends()

    def endpoint(self, listener: Listener) -> Endpoint:
        """The address of a listener, with what protects its connections."""
        add_layer, new_gate = None, None
        if self._encryption is not None and is_encrypted(listener.security_protocol):
            add_layer = self._encryption.layer(listener.name)
        if self._logins is not None and has_login(listener.security_protocol):
            new_gate = self._logins.new_gate(listener.name)
        return replace(Endpoint.from_listener(listener), security=EndpointSecurity(add_layer, new_gate))

    def of_link(self, listener: ListenerSecurity) -> "LinkSecurity":
        """The client side of a listener: how this broker connects to that listener of another broker."""
        from .inter_broker.broker_link import LinkSecurity  # not needed without a cluster

        add_layer, log_in, ready = None, None, None
        if listener.encrypts:
            invariant(self._encryption is not None, f"unprotected link to listener {listener.listener_name}")
            assert self._encryption is not None
            add_layer = self._encryption.link_layer(listener.listener_name)
        if listener.authenticates:
            invariant(self._own_logins is not None, f"link without login to listener {listener.listener_name}")
            assert self._own_logins is not None
            log_in, ready = self._own_logins.of_link(listener)
        return LinkSecurity(add_layer, log_in, self._random, ready)

    def check(self, config: Config, names: Collection[str]) -> None:
        """Raises ConfigError when `reload` would refuse the settings ``names``."""
        if self._encryption is not None:
            self._encryption.check(config, names)

    def reload(self, config: Config) -> None:
        """Apply changed settings, and stores that were written again, to new connections. Raises ConfigError."""
        if self._logins is not None:
            self._logins.reload()
        if self._encryption is not None:
            self._encryption.reload(config)


async def _logins(config: Config, settings: LiveSettings, environment: Environment) -> "Logins | None":
    if not any(has_login(listener.security_protocol) for listener in config.listeners()):
        return None
    from .logins import Logins  # not needed without SASL

    now_s = environment.timers_on(asyncio.get_running_loop()).time
    logins = await Logins.open(config, settings.tree.store, environment.scram_users, now_s)
    settings.entities.on_user(logins.take_user)
    return logins


def _own_logins(config: Config, environment: Environment) -> "OwnLogins | None":
    if not any(has_login(listener.security_protocol) for listener in config.listeners()):
        return None
    from .own_logins import OwnLogins  # not needed without SASL

    return OwnLogins(config, environment.clock_ms, environment.random.random)


def _encryption(config: Config, clock_ms: Callable[[], int]) -> "Encryption | None":
    if not any(is_encrypted(listener.security_protocol) for listener in config.listeners()):
        return None
    from .encryption import Encryption  # imports ssl, which takes time

    return Encryption(config, clock_ms)

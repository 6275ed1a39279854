"""The logins of this broker at other brokers: by a password, or by a token that is kept up to date."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from ..config.config import Config
from ..config.config_error import ConfigError
from ..config.jaas import OAUTHBEARER
from ..config.listener_security import ListenerSecurity
from ..config.sasl_listeners import mechanisms_of_listener
from ..config.sasl_mechanisms import SECURED_LOGIN, MechanismOptions
from ..protocol.client import AnyCredentials, SaslLogin
from .inter_broker.broker_link import Ask, LogIn
from .inter_broker.link_login import log_in_to_broker
from .requests.between_brokers import listeners_between_brokers
from .security.sasl.own_login import own_credentials
from .security.sasl.scram_credential import MAX_ITERATIONS
from .security.sasl.token_keeper import TokenKeeper
from .security.sasl.token_settings import FetchToken, check_token_file, configured_fetch, renewal_times

__all__ = ["LinkLogin", "OwnLogins"]

logger = logging.getLogger(__name__)

_NONCE_BYTES = 24
_URL = "sasl.oauthbearer.token.endpoint.url"


class LinkLogin(NamedTuple):
    """``ready``: waits until there is a token to log in with; raises ConnectionError. None: a password is at hand."""

    log_in: LogIn
    ready: Callable[[], Awaitable[object]] | None = None


class OwnLogins:
    """To be made on the running loop. ``run`` is a task while the broker runs.

    ``clock_ms``: wall clock; ``random``: from 0 to 1. The constructor raises ConfigError when this broker is to log in
    by a token, and the settings do not say where it gets one.
    """

    def __init__(self, config: Config, clock_ms: Callable[[], int], random: Callable[[], float]) -> None:
        self._config = config
        self._clock_ms = clock_ms
        self._random = random
        self._mechanism = config.string("sasl.mechanism.inter.broker.protocol")
        self._keepers: dict[str, TokenKeeper] = {}  # by listener
        if self._mechanism == OAUTHBEARER and not config.uses_embedded_store:
            for name in listeners_between_brokers(config):
                security = ListenerSecurity.of(config, name)
                if security.authenticates:
                    self._keeper(security)

    def of_link(self, security: ListenerSecurity) -> LinkLogin:
        """The login at that listener of another broker. Raises ConfigError."""
        if self._mechanism == OAUTHBEARER:
            keeper = self._keeper(security)
            return LinkLogin(lambda ask: _log_in_by_token(keeper, ask), keeper.token)
        credentials = own_credentials(self._mechanism, self._options(security).options)
        return LinkLogin(lambda ask: log_in_to_broker(ask, _new_login(credentials)))

    async def run(self) -> None:
        """Keep the tokens up to date."""
        await asyncio.gather(*(keeper.run() for keeper in self._keepers.values()))

    def _options(self, security: ListenerSecurity) -> MechanismOptions:
        mechanisms = mechanisms_of_listener(self._config, security)
        if self._mechanism not in mechanisms:
            raise ConfigError(
                f"sasl.mechanism.inter.broker.protocol={self._mechanism}: {security.listener_name} lacks it"
            )
        return mechanisms[self._mechanism]

    def _keeper(self, security: ListenerSecurity) -> TokenKeeper:
        """The one of a listener. Raises ConfigError."""
        name = security.listener_name
        if name not in self._keepers:
            fetch = self._fetch(security)
            self._keepers[name] = TokenKeeper(fetch, renewal_times(security.sasl), self._clock_ms, self._random)
        return self._keepers[name]

    def _fetch(self, security: ListenerSecurity) -> FetchToken:
        try:
            mechanism = self._options(security)
            fetch = configured_fetch(
                security.sasl,
                mechanism,
                allowed_urls=self._config.list("pybroker.sasl.oauthbearer.allowed.urls"),
                clock_ms=self._clock_ms,
            )
            check_token_file(security.sasl, fetch)
        except ConfigError as error:
            raise ConfigError(f"listener {security.listener_name}, logins of brokers: {error}") from None
        if mechanism.login_handler == SECURED_LOGIN and urlsplit(str(security.sasl[_URL])).scheme == "http":
            logger.warning(
                "listener %s: %s has no TLS, so the secret of this broker crosses the network as plain text",
                security.listener_name,
                _URL,
            )
        return fetch


async def _log_in_by_token(keeper: TokenKeeper, ask: Ask) -> int:
    return await log_in_to_broker(ask, _new_login(await keeper.token()))


def _new_login(credentials: AnyCredentials) -> SaslLogin:
    return SaslLogin(credentials, secrets.token_urlsafe(_NONCE_BYTES), MAX_ITERATIONS)

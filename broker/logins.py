"""Logins of clients by SASL at this broker's listeners.

Made only when a listener has SASL.
"""

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from ..client.oauth.provider_url import is_file_url
from ..config.config import Config
from ..config.config_error import ConfigError
from ..config.jaas import OAUTHBEARER, has_users
from ..config.listener_security import ListenerSecurity
from ..config.listeners import has_login
from ..config.sasl_listeners import JAAS_FILE, mechanisms_of_listener
from ..config.sasl_mechanisms import MechanismOptions
from ..controller.tree.metadata_store import MetadataStore
from ..protocol.apis import ApiKey
from ..protocol.scram import SCRAM_MECHANISMS, ScramMechanism
from .network.frame_gate import FrameGate
from .network.login_frame_gate import LoginFrameGate
from .network.offender_log import OffenderLog, Violation, offences_in
from .network.request import ConnectionInfo
from .requests.served_versions import served_versions
from .security.login_actions import LoginRules
from .security.login_gate import LoginGate
from .security.sasl.endpoint_tls import endpoint_context
from .security.sasl.jwks import JwksError
from .security.sasl.jwks_keeper import JwksKeeper
from .security.sasl.jwks_refresh import RefreshTimes
from .security.sasl.jwks_source import check_jwks_url, fetch_jwks
from .security.sasl.login_rules import login_rules
from .security.sasl.salt_secret import salt_secret
from .security.sasl.scram_administration import credentials_in
from .security.sasl.scram_users import ScramUsers
from .security.sasl.signed_tokens import SignedTokens
from .security.sasl.token_claims import TokenRules

__all__ = ["Logins"]

logger = logging.getLogger(__name__)

_NONCE_BYTES = 24
_JWKS = "sasl.oauthbearer.jwks.endpoint"
_JWKS_TIMEOUT_S = 10.0
_START_WAIT_S = 2.0


class Logins:
    """Made at the start by `open`, before the broker listens or connects. ``run`` is a task while the broker runs.

    ``now_s``: the monotonic time that ends the sessions of clients, which tests may move.
    """

    def __init__(self, config: Config, salt_secret: bytes, now_s: Callable[[], float]) -> None:
        """Raises ConfigError."""
        self._config = config
        self._now_s = now_s
        self._loop = asyncio.get_running_loop()
        self._offenders = OffenderLog(logger, self._loop.time)
        self._keepers: dict[tuple[str, tuple[tuple[str, str], ...]], JwksKeeper] = {}  # by URL and options of TLS
        self._users = ScramUsers(salt_secret)
        self._mechanisms: dict[str, Mapping[str, MechanismOptions]] = {}  # by listener
        names = [each.name for each in config.listeners() if has_login(each.security_protocol)]
        self._rules = {name: self._rules_of(ListenerSecurity.of(config, name)) for name in names}

    @classmethod
    async def open(
        cls, config: Config, store: MetadataStore, users: Mapping[str, str], now_s: Callable[[], float]
    ) -> "Logins":
        """``users``: passwords of SCRAM users beside those of `take_user`. Raises ConfigError, MetadataStoreError."""
        logins = cls(config, await salt_secret(store), now_s)
        logins._users.add_passwords(users)
        await logins._fetch_keys()
        return logins

    # -- clients

    def new_gate(self, listener_name: str) -> Callable[[ConnectionInfo], FrameGate]:
        """Makes the gate of each connection of a listener."""
        rules = self._rules[listener_name]
        return lambda info: LoginFrameGate(LoginGate(rules), info, self._now_ms, self._refused)

    def offences(self) -> Counter[str]:
        """How often logins failed, by offence."""
        return offences_in(self._offenders.counts)

    def take_user(self, user: str, settings: Mapping[str, str]) -> None:
        """All settings of a user, of which quotas are ignored here."""
        self._users.set_user(user, credentials_in(settings, partial(_ignored, user)))

    def reload(self) -> None:
        """Warn when the JAAS file has changed, because it is read only at the start."""
        start = self._config
        try:
            now = {each: mechanisms_of_listener(start, ListenerSecurity.of(start, each)) for each in self._mechanisms}
        except ConfigError as error:
            logger.warning("the logins stay as they were at the start: %s", error)
            return
        if now != self._mechanisms:
            logger.warning("%s has changed; this needs a restart", start.optional_string(JAAS_FILE))

    async def run(self) -> None:
        """Keep the keys of issuers up to date."""
        await asyncio.gather(*(keeper.run() for keeper in self._keepers.values()))

    def _refused(self, info: ConnectionInfo, reason: str) -> None:
        self._offenders.warn(info.peer_host, Violation.LOGIN, f"A login of {info} failed: {reason}", reason)

    def _now_ms(self) -> int:
        return int(self._now_s() * 1000)

    # -- the rules of a listener

    def _rules_of(self, security: ListenerSecurity) -> LoginRules:
        self._mechanisms[security.listener_name] = mechanisms = mechanisms_of_listener(self._config, security)
        if any(has_users(mechanisms[name].options) for name in SCRAM_MECHANISMS if name in mechanisms):
            logger.warning(
                "listener %s: the options user_… of ScramLoginModule are ignored; set SCRAM users by pybroker user or "
                "kafka-configs",
                security.listener_name,
            )
        largest = security.sasl["sasl.server.max.receive.size"]
        assert isinstance(largest, int)
        rules = login_rules(
            mechanisms,
            scram_users=self._users,
            new_nonce=_new_nonce,
            signed_tokens=self._signed_tokens(security, mechanisms),
            max_receive_bytes=largest,
            failure_delay_ms=self._config.int("connection.failed.authentication.delay.ms"),
        )
        return replace(rules, api_versions=served_versions(self._config).accepted[ApiKey.API_VERSIONS])

    def _signed_tokens(
        self, security: ListenerSecurity, mechanisms: Mapping[str, MechanismOptions]
    ) -> SignedTokens | None:
        oauth = mechanisms.get(OAUTHBEARER)
        if oauth is None or oauth.takes_unsecured_tokens:
            return None
        keeper = self._keeper(security, oauth.options)
        rules = TokenRules.of_listener(security.sasl)
        if not rules.audiences and rules.issuer is None:
            logger.warning(
                "listener %s accepts every token without an audience that its issuer has signed; set "
                "sasl.oauthbearer.expected.audience or sasl.oauthbearer.expected.issuer",
                security.listener_name,
            )
        return SignedTokens(rules, keeper.keys, keeper.missed)

    def _keeper(self, security: ListenerSecurity, options: Mapping[str, str]) -> JwksKeeper:
        url = str(security.sasl[f"{_JWKS}.url"])
        try:
            check_jwks_url(url, self._config.list("pybroker.sasl.oauthbearer.allowed.urls"))
        except JwksError as error:
            raise ConfigError(f"{_JWKS}.url: {error}") from None
        tls_options = tuple(sorted((name, text) for name, text in options.items() if name.startswith("ssl.")))
        key = (url, tls_options)
        if key not in self._keepers:
            try:
                context = None if is_file_url(url) else endpoint_context(options)
            except ConfigError as error:
                raise ConfigError(f"listener {security.listener_name}: {error}") from None
            times = RefreshTimes(
                *(_whole(security, f"{_JWKS}.{each}.ms") for each in ("refresh", "retry.backoff", "retry.backoff.max"))
            )
            self._keepers[key] = JwksKeeper(partial(fetch_jwks, url, _JWKS_TIMEOUT_S, context), times)
        return self._keepers[key]

    async def _fetch_keys(self) -> None:
        await asyncio.gather(*(_fetch_first(url, keeper) for (url, _), keeper in self._keepers.items()))


async def _fetch_first(url: str, keeper: JwksKeeper) -> None:
    """A file must be readable at the start. A server may be down or slow; `JwksKeeper.run` asks it again."""
    try:
        async with asyncio.timeout(None if is_file_url(url) else _START_WAIT_S):
            await keeper.fetch()
    except (JwksError, TimeoutError) as error:
        if is_file_url(url):
            raise ConfigError(f"{_JWKS}.url: {error}") from error
        why = str(error) or f"{url} has not answered within {_START_WAIT_S:g} s"
        logger.warning("no login by OAUTHBEARER succeeds until the keys can be fetched: %s", why)


def _whole(security: ListenerSecurity, name: str) -> int:
    value = security.sasl[name]
    assert isinstance(value, int)
    return value


def _new_nonce() -> str:
    return secrets.token_urlsafe(_NONCE_BYTES)


def _ignored(user: str, mechanism: ScramMechanism, error: ValueError) -> None:
    logger.error("the %s credential of user %r is ignored: %s", mechanism.name, user[:100], error)

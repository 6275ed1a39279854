"""Makes the rules of a listener's login gate from its settings and from the users that the broker knows."""

from collections.abc import Callable, Mapping

from ....config.config_error import ConfigError
from ....config.jaas import OAUTHBEARER, PLAIN, plain_users
from ....config.sasl_mechanisms import MechanismOptions
from ....protocol.scram import SCRAM_MECHANISMS, ScramMechanism
from ..login_actions import LoginRules, Mechanism
from .oauth_bearer import OAuthBearerServer, TokenValidator
from .plain import PlainServer, PlainUsers
from .sasl_server import SaslServer
from .scram import ScramServer
from .scram_users import ScramUsers
from .unsecured_tokens import UnsecuredTokens

__all__ = ["login_rules"]


def login_rules(
    mechanisms: Mapping[str, MechanismOptions],
    *,
    scram_users: ScramUsers,
    new_nonce: Callable[[], str],
    signed_tokens: TokenValidator | None,
    max_receive_bytes: int,
    failure_delay_ms: int,
) -> LoginRules:
    """``new_nonce``: random printable ASCII without a comma. ``signed_tokens``: None without OAUTHBEARER.

    Raises ConfigError.
    """

    def server_of(mechanism: MechanismOptions) -> Callable[[], SaslServer]:
        if mechanism.name == PLAIN:
            return _plain(PlainUsers(plain_users(mechanism.options)))
        if mechanism.name == OAUTHBEARER:
            return _oauth_bearer(mechanism, signed_tokens)
        return _scram(SCRAM_MECHANISMS[mechanism.name], scram_users, new_nonce)

    served = {name: Mechanism(server_of(each), each.max_reauth_ms) for name, each in mechanisms.items()}
    return LoginRules(served, max_receive_bytes, failure_delay_ms)


def _plain(users: PlainUsers) -> Callable[[], SaslServer]:
    return lambda: PlainServer(users)


def _scram(mechanism: ScramMechanism, users: ScramUsers, new_nonce: Callable[[], str]) -> Callable[[], SaslServer]:
    return lambda: ScramServer(mechanism, users, new_nonce())


def _oauth_bearer(mechanism: MechanismOptions, signed_tokens: TokenValidator | None) -> Callable[[], SaslServer]:
    validator: TokenValidator | None = signed_tokens
    if mechanism.takes_unsecured_tokens:
        try:
            validator = UnsecuredTokens.from_options(mechanism.options)
        except ValueError as error:
            raise ConfigError(f"sasl.jaas.config of {mechanism.name}: {error}") from None
    assert validator is not None, "OAUTHBEARER needs a validator of tokens"
    return lambda: OAuthBearerServer(validator)

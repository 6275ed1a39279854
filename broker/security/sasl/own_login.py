"""The broker's own login by a password at other brokers, by the same JAAS entry that checks its clients."""

from collections.abc import Mapping

from ....config.config_error import ConfigError
from ....config.jaas import OAUTHBEARER, plain_users
from ....config.sasl_mechanisms import MechanismOptions
from ....protocol.client.sasl import Credentials

__all__ = ["credentials_in_settings", "own_credentials", "renewal_delay_ms"]


def own_credentials(mechanism: str, options: Mapping[str, str]) -> Credentials:
    """The credentials in the options of a login module. Raises ConfigError when they are missing."""
    missing = [name for name in ("username", "password") if not options.get(name)]
    if missing:
        raise ConfigError(
            f"sasl.mechanism.inter.broker.protocol: the login module of {mechanism} has no {' and no '.join(missing)}, "
            "so brokers cannot log in to each other"
        )
    return Credentials(mechanism, options["username"], options["password"])


def credentials_in_settings(mechanisms: Mapping[str, MechanismOptions]) -> Credentials | None:
    """A login at this broker: the one for brokers, or else that of any user whose password is in the settings."""
    users: list[Credentials] = []
    for name, mechanism in mechanisms.items():
        if name == OAUTHBEARER:
            continue
        options = mechanism.options
        if options.get("username") and options.get("password"):
            users.insert(0, Credentials(name, options["username"], options["password"]))
        users += [Credentials(name, user, password) for user, password in plain_users(options).items()]
    return users[0] if users else None


def renewal_delay_ms(session_lifetime_ms: int, share: float) -> int | None:
    """When to log in again: after 85 to 95 % of the session, as Kafka's clients do; None for a session without end.

    ``share``: random, from 0 to 1, so that not all connections log in at once.
    """
    return int(session_lifetime_ms * (0.85 + 0.1 * share)) if session_lifetime_ms > 0 else None

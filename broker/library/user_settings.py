"""Settings of a broker whose clients log in as users that a program names (``Broker(users={"alice": "secret"})``)."""

from collections.abc import Iterable, Mapping

from ...config.config_error import ConfigError
from ...config.jaas import PLAIN, SCRAM_SHA_256, SCRAM_SHA_512
from ...config.listeners import has_login
from ...config.load import load_config, unchecked_config
from ...controller.tree.metadata_store import MetadataStoreError
from ...protocol.client import Credentials
from ..start_error import StartError
from .settings_from_mapping import SettingsMapping

__all__ = ["login_module", "store_users", "users_of_listeners", "with_users"]

_PACKAGE = "org.apache.kafka.common.security"
_MODULES = {
    PLAIN: f"{_PACKAGE}.plain.PlainLoginModule",
    SCRAM_SHA_256: f"{_PACKAGE}.scram.ScramLoginModule",
    SCRAM_SHA_512: f"{_PACKAGE}.scram.ScramLoginModule",
}
_FOR_ZOOKEEPER = ("zookeeper.", "pybroker.zookeeper.")
_SPECIAL = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


def with_users(settings: SettingsMapping, users: Mapping[str, str]) -> SettingsMapping:
    """``settings`` with users for each of their listeners that has SASL. Raises ConfigError when none has."""
    texts = {name: str(value) for name, value in settings.items()}
    listeners = unchecked_config("", texts, place="given to Broker").listeners()
    names = [each.name for each in listeners if has_login(each.security_protocol)]
    if not names:
        raise ConfigError(f"listeners={texts['listeners']} (given to Broker): none has SASL, so no user can log in")
    return {**users_of_listeners(users, names), **settings}


def users_of_listeners(
    users: Mapping[str, str], listeners: Iterable[str], of_broker: Credentials | None = None
) -> dict[str, str]:
    """The settings of listeners with these users, for PLAIN. SCRAM users are no settings, as in Kafka.

    ``of_broker``: the login of brokers at each other, by PLAIN.
    """
    known, own = dict(users), ""
    if of_broker is not None:
        known[of_broker.user] = of_broker.password
        own = _login_options(of_broker)
    options = "".join(f" {_quoted(f'user_{name}')}={_quoted(password)}" for name, password in known.items())
    settings = {"sasl.enabled.mechanisms": ",".join(_MODULES), "pybroker.sasl.plain.without.tls": "true"}
    if of_broker is not None:
        settings["sasl.mechanism.inter.broker.protocol"] = of_broker.mechanism
    for listener in listeners:
        for mechanism, module in _MODULES.items():
            name = f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config"
            settings[name] = f"{module} required{own}{options};" if mechanism == PLAIN else f"{module} required;"
    return settings


async def store_users(connect: str, settings: SettingsMapping, users: Mapping[str, str]) -> None:
    """Set SCRAM users in ZooKeeper. Raises ConfigError and StartError.

    ``settings``: of the brokers; those for ZooKeeper are used.
    """
    from ..security.sasl.scram_user_store import new_credentials, users_in_zookeeper  # not needed without users

    texts = {name: str(value) for name, value in settings.items() if name.startswith(_FOR_ZOOKEEPER)}
    config = load_config("", texts, place="given to Cluster")
    try:
        async with users_in_zookeeper(connect, config) as store:
            for user, password in users.items():
                await store.set_user(user, new_credentials(password))
    except MetadataStoreError as error:
        raise StartError(f"the users could not be set in ZooKeeper {connect}: {error}") from error


def login_module(login: Credentials) -> str:
    """The value of a client's ``sasl.jaas.config``."""
    return f"{_MODULES[login.mechanism]} required{_login_options(login)};"


def _login_options(login: Credentials) -> str:
    return f" username={_quoted(login.user)} password={_quoted(login.password)}"


def _quoted(text: str) -> str:
    return f'"{text.translate(_SPECIAL)}"'

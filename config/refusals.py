"""Settings that refuse the start, because a broker that ignored them would not do what the operator wants.

There are two kinds: settings of another mode of Kafka (KRaft), and settings of missing protection. An empty value and
Kafka's default are accepted.
"""

import re
from collections.abc import Sequence

from .authorization import AuthorizationSettings
from .config import Config
from .config_error import ConfigError
from .http_listeners import check_http_listeners, http_listeners
from .notices import why_ignored
from .sasl_listeners import check_sasl
from .setting import Setting, SupportKind
from .values import trim

# Prefixes of unknown names that can only mean protection: a misspelt ``ssl.…`` must not start an open broker.
_PROTECTION_PREFIXES = (
    "allow.everyone.if.no.acl.found",
    "authorizer.",
    "sasl.",
    "security.",
    "ssl.",
    "super.users",
    "zookeeper.sasl.",
    "zookeeper.ssl.",
)
# Settings that Kafka reads outside its table.
_NOT_SUPPORTED = {"authorizer.zookeeper.": "ACLs in another ZooKeeper", "zookeeper.sasl.": "SASL to ZooKeeper"}
_PROVIDER = re.compile(r"\$\{[^}:]*:[^}]*\}")
Asked = Sequence[tuple[str, Setting]]
"""Settings by the name that was given, which may have a listener's prefix."""
_OPEN = "pybroker does not start without the protection that the settings ask for"


def check_refusals(config: Config) -> None:
    """Raises ConfigError, with one line that names every refused setting."""
    asked = _asked_for(config)
    _refuse_other_modes(config, asked)
    _refuse_protection(config, asked)
    AuthorizationSettings.from_config(config)
    _refuse_protection_of_no_listener(config, asked)
    _refuse_password_providers(config)
    _refuse_protection_of_another_store(config)
    check_sasl(config)
    check_http_listeners(config)


def _refuse_other_modes(config: Config, given: Asked) -> None:
    asked = [(name, setting) for name, setting in given if setting.support.kind is SupportKind.OTHER_MODE]
    if not asked:
        return
    note = asked[0][1].support.note
    names = [name for name, setting in asked if setting.support.note == note]
    first = names[0]
    others = f", and {', '.join(map(config.named, names[1:]))}" if len(names) > 1 else ""
    what = "these settings" if len(names) > 1 else "it"
    raise ConfigError(
        f"{first}={trim(config.given[first].text)} ({config.given[first].place}){others}: {note}; "
        f"{_way_out_of_other_mode(config, what, names)}"
    )


def _way_out_of_other_mode(config: Config, what: str, names: Sequence[str]) -> str:
    if config.uses_embedded_store:
        return f"remove {what} to run a single broker with its embedded metadata store"
    number = ", and set broker.id" if "node.id" in names and not config.is_given("broker.id") else ""
    return f"remove {what}{number}: the cluster is that of {config.named('zookeeper.connect')}"


def _refuse_protection(config: Config, given: Asked) -> None:
    asked = [(name, setting.support.note) for name, setting in given if setting.support.kind is SupportKind.REFUSED]
    meant = [name for name in config.unknown if _means_protection(name)]
    asked += [(name, note) for name in meant if (note := _kept_from_the_table(name)) is not None]
    # The line contains no values, because many of them are secrets.
    why = []
    if asked:
        names = ", ".join(f"{name} ({config.given[name].place})" for name, _ in asked)
        why.append(f"{names}: not supported: {', '.join(dict.fromkeys(note for _, note in asked))}")
    why += [
        f"{name} ({config.given[name].place}): {why_ignored(name)}"
        for name in meant
        if _kept_from_the_table(name) is None
    ]
    if why:
        raise ConfigError(f"{'; '.join(why)}; {_OPEN}")


def _refuse_protection_of_no_listener(config: Config, asked: Asked) -> None:
    """A misspelt listener's name would leave the listener that is meant without its protection."""
    listeners = (*config.listeners(), *http_listeners(config))
    prefixes = tuple(f"listener.name.{listener.name.lower()}." for listener in listeners)
    for name, setting in asked:
        is_of_tls = name != setting.name and setting.name.startswith("ssl.")
        # A dynamic one was stored when there was such a listener.
        if is_of_tls and name in config.static and not name.startswith(prefixes):
            raise ConfigError(f"{name} ({config.given[name].place}): there is no such listener; {_OPEN}")


def _refuse_password_providers(config: Config) -> None:
    """A password like ``${file:/path:key}`` names a place of the password, which would be taken for the password."""
    for name, value in config.given.items():
        setting = config.setting(name)
        if setting is not None and setting.is_secret and _PROVIDER.search(value.text):
            raise ConfigError(f"{name} ({value.place}): ${{…}} needs config.providers, which are not supported yet")


def _refuse_protection_of_another_store(config: Config) -> None:
    for name in ("zookeeper.set.acl", "zookeeper.ssl.client.enable"):
        if config.uses_embedded_store and config.boolean(name):
            raise ConfigError(f"{name}=true ({config.given[name].place}): zookeeper.connect is not set; {_OPEN}")


def _asked_for(config: Config) -> Asked:
    """The settings given with a value that is neither empty nor Kafka's default."""
    return [
        (name, setting)
        for name in config.given
        if (setting := config.setting(name)) is not None and config.differs(name)
    ]


def _kept_from_the_table(name: str) -> str | None:
    return next((note for prefix, note in _NOT_SUPPORTED.items() if name.startswith(prefix)), None)


def _means_protection(unknown_name: str) -> bool:
    name = unknown_name
    if name.startswith("listener.name.") and name.count(".") >= 3:
        name = name.split(".", 3)[3]
        if ".sasl." in name:
            return True
    return name.startswith(_PROTECTION_PREFIXES)

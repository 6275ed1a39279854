"""Checks of settings that are changed while brokers run (Kafka's DynamicBrokerConfig)."""

from collections.abc import Mapping

from .config import HIDDEN, Config, base_setting
from .config_error import ConfigError
from .setting import Scope, Setting
from .table import BROKER_SETTINGS, DYNAMIC_ONLY_SETTINGS, READ_OUTSIDE_THE_TABLE
from .values import BadValueError, split_list, trim

__all__ = [
    "can_be_changed",
    "changed_settings",
    "check_change",
    "check_dynamic",
    "is_reloadable",
    "is_secret",
    "usable",
]

# Kafka can change these while it runs; pybroker binds its sockets and reads the JAAS entries once, at the start.
_FIXED_HERE = frozenset({"listeners", "listener.security.protocol.map", "sasl.jaas.config"})
# Kafka lets these be set for one listener, never for all (``SslConfigs.RECONFIGURABLE_CONFIGS``).
_PER_LISTENER_ONLY = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
# The value of these for one listener may be set cluster-wide.
_CLUSTER_WIDE_FOR_A_LISTENER = frozenset({"max.connection.creation.rate", "max.connections", "num.network.threads"})
# One change may at most double and at least halve these.
_THREAD_COUNTS = (
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
)
# Limits for changes while the broker runs, because clients may repeat them; the file may set more. A thread takes
# 16 KiB; each thread of the cleaner is a process of 25 MiB.
_MOST_THREADS = 256
_MOST_CLEANERS = 16
# Limit for max.connections.per.ip.overrides, because each host name is looked up.
_MOST_HOSTS = 64
_OVERRIDES = "max.connections.per.ip.overrides"
# Kafka allows 0 in the file, but not while it runs.
_AT_LEAST_ONE = ("log.cleaner.threads", "max.connection.creation.rate", "max.connections")


def check_dynamic(settings: Mapping[str, str], *, per_broker: bool) -> None:
    """Check the names and values of dynamic settings, requested or stored.

    Args:
        per_broker: the settings are for one broker; else for all of them.

    Raises:
        ConfigError: one line that names every setting with the first fault found.
    """
    _refuse([name for name in settings if not _is_dynamic(name)], "cannot be changed while the broker runs")
    _refuse([name for name in settings if name in _FIXED_HERE], "cannot be changed while pybroker runs")
    _refuse([name for name in settings if name in _PER_LISTENER_ONLY], "can be changed for single listeners only")
    for name, text in settings.items():
        _check_value(name, text)
    if not per_broker:
        names = [name for name in settings if _is_per_broker(name)]
        _refuse(names, "can be changed for single brokers only, not for all of them at once")


def usable(settings: Mapping[str, str], *, per_broker: bool) -> tuple[dict[str, str], list[str]]:
    """The valid ones of stored settings, and an error line for each of the others.

    Another or a newer broker of the cluster may have stored settings that this one refuses.
    """
    good: dict[str, str] = {}
    problems: list[str] = []
    for name, text in settings.items():
        try:
            check_dynamic({name: text}, per_broker=per_broker)
        except ConfigError as error:
            problems.append(str(error))
        else:
            good[name] = text
    return good, problems


def check_change(old: Config, new: Config) -> None:
    """Check a change from ``old`` to ``new`` while the broker runs.

    Raises:
        ConfigError: a number of threads changes too much at once, a limit would refuse all connections, or a setting of
            one listener would change that is read only when the listener is opened, as in Kafka.
    """
    for name in _THREAD_COUNTS:
        before, after = old.int(name), new.int(name)
        if not before // 2 <= after <= before * 2:
            raise ConfigError(f"{name}={after}: must be from half to twice the present {before}")
    for name in changed_settings(old, new):
        if _is_read_at_opening(name):
            raise ConfigError(f"{name}: cannot be changed while the listener is open; change the file, and restart")
        base = base_setting(name)
        if (base.name if base is not None else name) in _AT_LEAST_ONE and new.value_given(name) == 0:
            raise ConfigError(f"{name}=0: must be at least 1 while the broker runs")


def changed_settings(old: Config, new: Config) -> list[str]:
    """The names of settings, also of single listeners, whose values differ."""
    names = dict.fromkeys([*BROKER_SETTINGS, *old.given, *new.given])
    return [name for name in names if _value_of(old, name) != _value_of(new, name)]


def is_reloadable(name: str) -> bool:
    """Whether a change of ``name`` in the file has effect without a restart; True for unknown names."""
    return _is_dynamic(name) and not _is_fixed(name) and not _is_read_at_opening(name)


def can_be_changed(setting: Setting) -> bool:
    """Whether `check_dynamic` and `check_change` accept the setting, for brokers or for single listeners."""
    return setting.scope is not Scope.READ_ONLY and not _is_fixed(setting.name)


def is_secret(name: str) -> bool:
    """Whether the value, also that of a single listener, must not be shown, and is stored encrypted."""
    setting = _setting_of(name)
    return setting is not None and setting.is_secret


def _is_fixed(name: str) -> bool:
    return name in _FIXED_HERE or name in READ_OUTSIDE_THE_TABLE or name.startswith("sasl.")


def _value_of(config: Config, name: str) -> object:
    if name in BROKER_SETTINGS:
        return config.value(name)
    given = config.given.get(name)
    return None if given is None else trim(given.text)


def _is_dynamic(name: str) -> bool:
    """True for unknown names, too: they may be meant for a plug-in, and Kafka stores them."""
    setting = BROKER_SETTINGS.get(name)
    return setting is None or setting.scope is not Scope.READ_ONLY


def _is_read_at_opening(name: str) -> bool:
    """Whether ``name`` sets for one listener what is read only when the listener is opened."""
    base = base_setting(name)
    return base is not None and (base.scope is Scope.READ_ONLY or base.name.startswith("sasl."))


def _is_per_broker(name: str) -> bool:
    base = base_setting(name)
    if base is not None:
        return base.name not in _CLUSTER_WIDE_FOR_A_LISTENER
    return name in BROKER_SETTINGS and BROKER_SETTINGS[name].scope is Scope.PER_BROKER


def _setting_of(name: str) -> Setting | None:
    return BROKER_SETTINGS.get(name) or DYNAMIC_ONLY_SETTINGS.get(name) or base_setting(name)


def _check_value(name: str, text: str) -> None:
    setting = _setting_of(name)
    if setting is None:
        return
    try:
        value = setting.parse(text)
    except BadValueError as error:
        shown = HIDDEN if setting.is_secret else trim(text)
        raise ConfigError(f"{name}={shown}: {error}") from None
    # Checked here and not in check_change, so that a stored 0 is ignored: doubling 0 could never undo it.
    if name in _THREAD_COUNTS and isinstance(value, int):
        most = _MOST_CLEANERS if name == "log.cleaner.threads" else _MOST_THREADS
        if not 1 <= value <= most:
            bound = "at least 1" if value < 1 else f"at most {most}"
            raise ConfigError(f"{name}={trim(text)}: must be {bound} while the broker runs")
    if name == _OVERRIDES and len(split_list(text)) > _MOST_HOSTS:
        raise ConfigError(f"{name}: must have {_MOST_HOSTS} hosts at most while the broker runs")


def _refuse(names: list[str], why: str) -> None:
    if names:
        raise ConfigError(f"{', '.join(names)}: {why}")

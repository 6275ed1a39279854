"""Settings as DescribeConfigs shows them (KIP-133, KIP-226 synonyms, KIP-569 types and documentation)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from .config import Config
from .setting import Scope, Setting
from .table import BROKER_SETTINGS, TOPIC_SETTINGS
from .topic_config import TopicConfig
from .values import ValueType, format_value


class ConfigSource(IntEnum):
    """Kafka's ``DescribeConfigsResponse.ConfigSource``."""

    UNKNOWN = 0
    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7


class ConfigType(IntEnum):
    """Kafka's ``DescribeConfigsResponse.ConfigType``."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """One of the values that a setting might take; the first in the list is the one in force."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A setting, its value in force, and where it comes from. The value of a password is None."""

    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool
    is_read_only: bool
    type: ConfigType
    documentation: str | None
    synonyms: tuple[ConfigSynonym, ...]


# Broker settings that say one thing in several units or by several names, first found first.
_SAME_THING = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_SYNONYMS: dict[str, tuple[str, ...]] = {name: names for names in _SAME_THING for name in names}
# The scheduler's interval is the other's default, but not the other way round.
_SYNONYMS["log.flush.interval.ms"] = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")


def broker_entries(config: Config) -> list[ConfigEntry]:
    """Every setting of this broker, and what was given under unknown names, whose values stay hidden as Kafka's do."""
    names = [name for name, setting in BROKER_SETTINGS.items() if not setting.internal]
    return [_broker_entry(config, name) for name in dict.fromkeys([*names, *config.given])]


def topic_entries(config: Config, topic: TopicConfig) -> list[ConfigEntry]:
    """Every setting of a topic on this broker."""
    return [_topic_entry(config, topic, setting) for setting in TOPIC_SETTINGS.values()]


def _broker_entry(config: Config, name: str) -> ConfigEntry:
    setting = config.setting(name)
    if setting is None:
        return ConfigEntry(name, None, ConfigSource.STATIC_BROKER_CONFIG, True, True, ConfigType.UNKNOWN, None, ())
    hidden = setting.is_secret
    value = format_value(config.value(name)) if name in BROKER_SETTINGS else config.given[name].text
    # A setting for one listener falls back to the common one.
    names = _SYNONYMS.get(name, (name,)) if name == setting.name else (name, setting.name)
    synonyms = _broker_synonyms(config, name, names, hidden)
    return ConfigEntry(
        name,
        None if hidden else value,
        synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        hidden,
        setting.scope is Scope.READ_ONLY,
        _type(setting.type),
        setting.doc,
        synonyms,
    )


def _topic_entry(config: Config, topic: TopicConfig, setting: Setting) -> ConfigEntry:
    name = setting.name
    value = format_value(topic.value(name))
    synonyms: tuple[ConfigSynonym, ...] = ()
    if setting.synonyms:
        first = setting.synonyms[0]
        synonyms = _broker_synonyms(config, first, _SYNONYMS.get(first, (first,)), hidden=False)
    if name in topic.overrides:
        synonyms = (ConfigSynonym(name, value, ConfigSource.TOPIC_CONFIG), *synonyms)
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
    return ConfigEntry(name, value, source, False, False, _type(setting.type), setting.doc, synonyms)


def _broker_synonyms(config: Config, name: str, names: Iterable[str], hidden: bool) -> tuple[ConfigSynonym, ...]:
    """What was given under the names, then their defaults; like Kafka's, the list begins at ``name`` itself.

    So a topic whose retention comes from ``log.retention.hours`` shows no synonyms and the source "default".
    """
    found = [
        ConfigSynonym(other, None if hidden else config.given[other].text, ConfigSource.STATIC_BROKER_CONFIG)
        for other in names
        if other in config.given
    ]
    for other in names:
        setting = BROKER_SETTINGS.get(other)
        default = setting.default_text(config.uses_embedded_store) if setting is not None else None
        if default is not None:
            found.append(ConfigSynonym(other, None if hidden else default, ConfigSource.DEFAULT_CONFIG))
    start = next((index for index, synonym in enumerate(found) if synonym.name == name), len(found))
    return tuple(found[start:])


def _type(value_type: ValueType) -> ConfigType:
    return ConfigType[value_type.name]

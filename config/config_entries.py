"""Settings as DescribeConfigs shows them (KIP-133, KIP-226 synonyms, KIP-569 types and documentation)."""

from enum import IntEnum

from ..base.frozen import frozen
from .config import Config
from .dynamic_layers import synonym_group
from .group_config import GroupConfig
from .setting import Scope, Setting
from .table import BROKER_SETTINGS, DYNAMIC_ONLY_SETTINGS, GROUP_SETTINGS, TOPIC_SETTINGS
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
    GROUP_CONFIG = 8


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


@frozen
class ConfigSynonym:
    """One of the values that a setting may have; the first of a list is in force."""

    name: str
    value: str | None
    source: ConfigSource


@frozen
class ConfigEntry:
    """A setting, its value in force and the source of the value. The value of a password is None."""

    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool
    is_read_only: bool
    type: ConfigType
    documentation: str | None
    synonyms: tuple[ConfigSynonym, ...]


# The layers of a Config, highest precedence first.
_LAYER_SOURCES = (
    ConfigSource.DYNAMIC_BROKER_CONFIG,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
    ConfigSource.STATIC_BROKER_CONFIG,
)
# The scheduler's interval is the default of the other, but not the other way round.
_FLUSH_INTERVAL = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")


def broker_entries(config: Config) -> list[ConfigEntry]:
    """Every setting of this broker, and the unknown names that were set, whose values are hidden as in Kafka."""
    names = [name for name, setting in BROKER_SETTINGS.items() if not setting.internal]
    return [_broker_entry(config, name) for name in dict.fromkeys([*names, *config.given])]


def cluster_entries(config: Config) -> list[ConfigEntry]:
    """The cluster-wide dynamic settings, each with the source of that layer only."""
    return [_cluster_entry(config, name) for name in config.dynamic.cluster_wide]


def topic_entries(config: Config, topic: TopicConfig) -> list[ConfigEntry]:
    """Every setting of a topic on this broker."""
    return [_topic_entry(config, topic, setting) for setting in TOPIC_SETTINGS.values()]


def group_entries(group: GroupConfig) -> list[ConfigEntry]:
    """Every setting of a group. As in Kafka, its one synonym is itself, not the broker's setting."""
    return [_group_entry(group, setting) for setting in GROUP_SETTINGS.values()]


def _broker_entry(config: Config, name: str) -> ConfigEntry:
    setting = _setting(config, name)
    value = format_value(config.value(name)) if name in BROKER_SETTINGS else config.given[name].text
    return _entry(name, setting, value, _broker_synonyms(config, name, _is_hidden(setting)))


def _cluster_entry(config: Config, name: str) -> ConfigEntry:
    setting = _setting(config, name)
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    synonyms = [one for one in _broker_synonyms(config, name, _is_hidden(setting)) if one.source is source]
    return _entry(name, setting, config.dynamic.cluster_wide[name], tuple(synonyms))


def _setting(config: Config, name: str) -> Setting | None:
    return config.setting(name) or DYNAMIC_ONLY_SETTINGS.get(name)


def _is_hidden(setting: Setting | None) -> bool:
    """A setting of unknown type may be a secret."""
    return setting is None or setting.is_secret


def _entry(name: str, setting: Setting | None, value: str | None, synonyms: tuple[ConfigSynonym, ...]) -> ConfigEntry:
    in_table = BROKER_SETTINGS.get(name)
    return ConfigEntry(
        name,
        None if _is_hidden(setting) else value,
        synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        _is_hidden(setting),
        # By the exact name, as in Kafka, so that settings of a single listener are shown as read-only.
        in_table is None or in_table.scope is Scope.READ_ONLY,
        ConfigType.UNKNOWN if setting is None else _type(setting.type),
        None if setting is None else setting.doc,
        synonyms,
    )


def _topic_entry(config: Config, topic: TopicConfig, setting: Setting) -> ConfigEntry:
    name = setting.name
    value = format_value(topic.value(name))
    synonyms: tuple[ConfigSynonym, ...] = ()
    if setting.synonyms:
        synonyms = _broker_synonyms(config, setting.synonyms[0], hidden=False)
    if name in topic.overrides:
        synonyms = (ConfigSynonym(name, value, ConfigSource.TOPIC_CONFIG), *synonyms)
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
    return ConfigEntry(name, value, source, False, False, _type(setting.type), setting.doc, synonyms)


def _group_entry(group: GroupConfig, setting: Setting) -> ConfigEntry:
    name = setting.name
    value = group.overrides.get(name, format_value(group.value(name)))
    source = ConfigSource.GROUP_CONFIG if name in group.overrides else ConfigSource.DEFAULT_CONFIG
    synonyms = (ConfigSynonym(name, value, source),)
    return ConfigEntry(name, value, source, False, False, _type(setting.type), setting.doc, synonyms)


def _broker_synonyms(config: Config, name: str, hidden: bool) -> tuple[ConfigSynonym, ...]:
    """The given values by layer, then the defaults. As in Kafka, the list begins with ``name`` itself.

    A topic whose retention comes from ``log.retention.hours`` shows no synonyms and the source "default".
    """
    names = _names_of(config, name)
    found = [
        ConfigSynonym(other, None if hidden else layer[other].text, source)
        for layer, source in zip(config.layers, _LAYER_SOURCES, strict=True)
        for other in names
        if other in layer
    ]
    for other in names:
        setting = BROKER_SETTINGS.get(other)
        default = setting.default_text(config.uses_embedded_store) if setting is not None else None
        if default is not None:
            found.append(ConfigSynonym(other, None if hidden else default, ConfigSource.DEFAULT_CONFIG))
    start = next((index for index, synonym in enumerate(found) if synonym.name == name), len(found))
    return tuple(found[start:])


def _names_of(config: Config, name: str) -> tuple[str, ...]:
    """The names under which Kafka looks up a setting's value."""
    if name == _FLUSH_INTERVAL[0]:
        return _FLUSH_INTERVAL
    setting = config.setting(name)
    if setting is not None and setting.name != name:
        return name, setting.name  # the setting of one listener falls back to the common one
    return synonym_group(name)


def _type(value_type: ValueType) -> ConfigType:
    return ConfigType[value_type.name]

"""Settings as the documents show them. Secrets are left out by `ConfigEntry`."""

from functools import partial

from ...config.config_entries import (
    ConfigEntry,
    ConfigSource,
    ConfigType,
    broker_entries,
    topic_entries,
)
from ...config.topic_config import TopicConfig
from ...views.query import Query
from ...views.settings import Configs, LoggerLevel, Setting, SettingSource, SettingType, Synonym
from .known_state import KnownState
from .own_source import source_of
from .slices import in_slices

__all__ = ["list_configs", "topic_settings"]

_SOURCES: dict[ConfigSource, SettingSource] = {
    ConfigSource.UNKNOWN: "unknown",
    ConfigSource.TOPIC_CONFIG: "topic_config",
    ConfigSource.DYNAMIC_BROKER_CONFIG: "dynamic_broker_config",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "dynamic_default_broker_config",
    ConfigSource.STATIC_BROKER_CONFIG: "static_broker_config",
    ConfigSource.DEFAULT_CONFIG: "default_config",
    ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG: "dynamic_broker_logger_config",
    ConfigSource.CLIENT_METRICS_CONFIG: "client_metrics_config",
}
_TYPES: dict[ConfigType, SettingType] = {
    ConfigType.UNKNOWN: "unknown",
    ConfigType.BOOLEAN: "boolean",
    ConfigType.STRING: "string",
    ConfigType.INT: "int",
    ConfigType.SHORT: "short",
    ConfigType.LONG: "long",
    ConfigType.DOUBLE: "double",
    ConfigType.LIST: "list",
    ConfigType.CLASS: "class",
    ConfigType.PASSWORD: "password",
}


async def list_configs(state: KnownState, query: Query) -> Configs:
    """Return this broker's settings and loggers that the query asks for."""
    parts = state.parts
    wanted = (query.text("filter") or "").casefold()
    only_changed = query.text("changed") == "true"
    entries: list[ConfigEntry] = await parts.run_in_pool(partial(broker_entries, parts.settings.dynamic.config))
    settings = [
        _setting(entry)
        async for entry in in_slices(sorted(entries, key=lambda each: each.name))
        if wanted in entry.name.casefold() and not (only_changed and entry.source is ConfigSource.DEFAULT_CONFIG)
    ]
    loggers = [
        LoggerLevel(name=name, level=level)
        async for name, level in in_slices(parts.settings.loggers.levels().items())
        if wanted in name.casefold() and not only_changed
    ]
    return Configs(source=source_of(state), settings=tuple(settings), loggers=tuple(loggers))


def topic_settings(state: KnownState, topic: str) -> tuple[Setting, ...]:
    """Return the settings of a topic, by name."""
    config = state.parts.settings.dynamic.config
    entries = topic_entries(config, TopicConfig.in_force(config, state.overrides(topic)))
    return tuple(_setting(entry) for entry in sorted(entries, key=lambda each: each.name))


def _setting(entry: ConfigEntry) -> Setting:
    is_default_known = not entry.is_sensitive
    defaults = [each.value for each in entry.synonyms if each.source is ConfigSource.DEFAULT_CONFIG]
    default = defaults[-1] if defaults else entry.value if entry.source is ConfigSource.DEFAULT_CONFIG else None
    return Setting(
        name=entry.name,
        value=entry.value,
        source=_SOURCES[entry.source],
        default=default if is_default_known else None,
        is_sensitive=entry.is_sensitive,
        is_read_only=entry.is_read_only,
        type=_TYPES[entry.type],
        doc=entry.documentation or None,
        synonyms=tuple(
            Synonym(name=each.name, value=each.value, source=_SOURCES[each.source]) for each in entry.synonyms
        ),
    )

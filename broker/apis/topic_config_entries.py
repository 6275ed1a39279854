"""A topic's settings with where each value comes from, as CreateTopics and DescribeConfigs tell them."""

from dataclasses import dataclass
from enum import IntEnum

from ...config.config import Config
from ...config.table import TOPIC_SETTINGS
from ...config.topic_config import TopicConfig
from ...config.values import format_value

__all__ = ["ConfigSource", "TopicConfigEntries", "TopicConfigEntry"]


class ConfigSource(IntEnum):
    """Kafka's numbers."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5


@dataclass(frozen=True, slots=True)
class TopicConfigEntry:
    name: str
    value: str | None
    source: ConfigSource


class TopicConfigEntries:
    """``config``: the broker's settings, which a topic without its own falls back to."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def of(self, topic: TopicConfig) -> list[TopicConfigEntry]:
        return [
            TopicConfigEntry(name, format_value(topic.value(name)), self._source(name, topic))
            for name in TOPIC_SETTINGS
        ]

    def _source(self, name: str, topic: TopicConfig) -> ConfigSource:
        if name in topic.overrides:
            return ConfigSource.DYNAMIC_TOPIC_CONFIG
        if any(self._config.is_given(synonym) for synonym in TOPIC_SETTINGS[name].synonyms):
            return ConfigSource.STATIC_BROKER_CONFIG
        return ConfigSource.DEFAULT_CONFIG

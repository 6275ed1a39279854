"""Applies changed settings to topics: their own and the broker's defaults (Kafka's TopicConfigHandler)."""

from collections.abc import Callable, Mapping
from typing import Protocol

from ...config.config import Config
from ...config.table import TOPIC_SETTINGS
from .topic_overrides import TopicOverrides

__all__ = ["DEFAULTS_OF_TOPICS", "TopicSettings"]

_UNCLEAN_ELECTION = "unclean.leader.election.enable"

DEFAULTS_OF_TOPICS = frozenset(name for setting in TOPIC_SETTINGS.values() for name in setting.synonyms) | {
    "producer.id.expiration.ms"
}
"""The broker's settings that are defaults of topics."""


class Logs(Protocol):
    """The part of `LogStore` used here."""

    def update_topic_config(self, topic: str) -> None: ...
    def update_config(self, config: Config) -> None: ...


class Partitions(Protocol):
    """The part of `StateChanges` used here."""

    def topic_settings_changed(self, topic: str) -> None: ...
    def default_settings_changed(self) -> None: ...


class TopicSettings:
    """``allow_unclean`` makes the controller elect missing leaders of a topic (None: all) by unclean election."""

    def __init__(
        self,
        config: Config,
        overrides: TopicOverrides,
        logs: Logs,
        partitions: Partitions,
        allow_unclean: Callable[[str | None], None],
    ) -> None:
        self._overrides = overrides
        self._logs = logs
        self._partitions = partitions
        self._allow_unclean = allow_unclean
        self._unclean_by_default = config.boolean(_UNCLEAN_ELECTION)

    async def take(self, topic: str, settings: Mapping[str, str]) -> None:
        """Apply changed settings of a topic."""
        self._overrides.put(topic, settings)
        self._logs.update_topic_config(topic)
        self._partitions.topic_settings_changed(topic)
        if self._overrides(topic).get(_UNCLEAN_ELECTION, "").strip().lower() == "true":
            self._allow_unclean(topic)

    def take_defaults(self, config: Config) -> None:
        """Apply changed defaults (`DEFAULTS_OF_TOPICS`)."""
        self._logs.update_config(config)
        self._partitions.default_settings_changed()
        before, self._unclean_by_default = self._unclean_by_default, config.boolean(_UNCLEAN_ELECTION)
        if self._unclean_by_default and not before:
            self._allow_unclean(None)

"""A topic's settings: its own values, and the broker's defaults for the rest."""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from .config import Config
from .config_error import ConfigError
from .table import TOPIC_SETTINGS
from .typed_values import TypedValues
from .values import BadValueError, Value, trim

_UNBOUNDED = 9223372036854775807
# The last two exist in KRaft mode only (KIP-950).
_TIERED_STORAGE = ("remote.storage.enable", "remote.log.copy.disable", "remote.log.delete.on.disable")


class TopicConfig(TypedValues):
    """The settings of one topic by their topic names (``segment.bytes``), read-only.

    Attributes:
        overrides: the values set on the topic itself, as text.
    """

    __slots__ = ("overrides",)

    overrides: Mapping[str, str]

    def __init__(self, values: Mapping[str, Value | None], overrides: Mapping[str, str]) -> None:
        super().__init__(values)
        self.overrides = MappingProxyType(dict(overrides))

    @classmethod
    def defaults(cls, config: Config, overrides: Mapping[str, str] | None = None) -> "TopicConfig":
        """A topic's settings on a broker.

        Args:
            overrides: the values set on the topic, by topic names.

        Raises:
            ConfigError: an unknown name, or a value that is not allowed; one plain line.
        """
        topic = cls.in_force(config, overrides or {})
        _check_together(topic)
        return topic

    @classmethod
    def in_force(cls, config: Config, overrides: Mapping[str, str]) -> "TopicConfig":
        """The settings of an existing topic: `defaults` without the checks across several settings.

        Settings that were valid when they were set may no longer fit the broker's.

        Raises:
            ConfigError: as ``defaults``.
        """
        values = broker_defaults(config)
        for name, text in overrides.items():
            values[name] = _parse(name, text)
        return cls(values, overrides)

    @property
    def timestamp_before_max_ms(self) -> int:
        """How far behind the broker's clock a timestamp may be; if unset, the older setting for both directions."""
        before = self.int("message.timestamp.before.max.ms")
        return before if before != _UNBOUNDED else self.int("message.timestamp.difference.max.ms")

    @property
    def timestamp_after_max_ms(self) -> int:
        """How far ahead of the broker's clock a timestamp may be; if unset, the older setting for both directions."""
        after = self.int("message.timestamp.after.max.ms")
        return after if after != _UNBOUNDED else self.int("message.timestamp.difference.max.ms")


def broker_defaults(config: Config) -> dict[str, Value | None]:
    """The values of a topic without settings of its own.

    A topic's setting may correspond to several settings of the broker in different units (``log.retention.ms``,
    ``.minutes``, ``.hours``); the Config resolves those.
    """
    return dict(_broker_defaults(config))


@lru_cache(maxsize=2)
def _broker_defaults(config: Config) -> Mapping[str, Value | None]:
    """Cached, because a start asks twice for each partition and a Config never changes."""
    values: dict[str, Value | None] = {}
    for name, setting in TOPIC_SETTINGS.items():
        values[name] = config.value(setting.synonyms[0]) if setting.synonyms else setting.default_value(False)
    values["retention.ms"] = config.retention_ms
    values["segment.ms"] = config.roll_ms
    values["segment.jitter.ms"] = config.roll_jitter_ms
    values["flush.ms"] = config.flush_interval_ms
    return values


def usable_overrides(overrides: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The valid ones of a topic's stored settings, and an error line for each of the others.

    Another or a newer broker of the cluster may have stored settings that this one refuses.
    """
    good: dict[str, str] = {}
    problems: list[str] = []
    for name, text in overrides.items():
        try:
            _parse(name, text)
        except ConfigError as error:
            problems.append(str(error))
        else:
            good[name] = text
    return good, problems


def _parse(name: str, text: str) -> Value:
    setting = TOPIC_SETTINGS.get(name)
    if setting is None:
        raise ConfigError(f"{name}: there is no such setting of topics")
    try:
        return setting.parse(text)
    except BadValueError as error:
        raise ConfigError(f"{name}={trim(text)}: {error}") from None


def _check_together(topic: TopicConfig) -> None:
    least, most = topic.int("min.compaction.lag.ms"), topic.int("max.compaction.lag.ms")
    if least > most:
        raise ConfigError(f"min.compaction.lag.ms={least}: must not exceed max.compaction.lag.ms={most}")
    for name in _TIERED_STORAGE:
        if topic.boolean(name):
            raise ConfigError(f"{name}=true: tiered storage is not supported")

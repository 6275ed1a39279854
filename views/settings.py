"""Settings of a broker or a topic, with the source of each value."""

from typing import Annotated, Literal

from ..base.frozen import frozen
from .source import Source

__all__ = ["Configs", "LoggerLevel", "Setting", "SettingSource", "SettingType", "Synonym"]

SettingSource = Literal[
    "unknown",
    "topic_config",
    "dynamic_broker_config",
    "dynamic_default_broker_config",
    "static_broker_config",
    "default_config",
    "dynamic_broker_logger_config",
    "client_metrics_config",
]
SettingType = Literal["unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password"]


@frozen(kw_only=True)
class Synonym:
    """One of the values that the setting may have. The first of a list is in force."""

    name: str
    value: Annotated[str | None, "null: it is a secret"]
    source: SettingSource


@frozen(kw_only=True)
class Setting:
    """One setting and its value in force."""

    name: str
    value: Annotated[str | None, "null: it has none, it is a secret, or its name is unknown"]
    source: SettingSource
    default: str | None
    is_sensitive: bool
    is_read_only: Annotated[bool, "a change needs a restart"]
    type: SettingType
    doc: str | None
    synonyms: tuple[Synonym, ...]


@frozen(kw_only=True)
class LoggerLevel:
    """A logger and its level in force."""

    name: str
    level: str


@frozen(kw_only=True)
class Configs:
    """The settings of this broker and the levels of its loggers."""

    source: Source
    settings: tuple[Setting, ...]
    loggers: tuple[LoggerLevel, ...]

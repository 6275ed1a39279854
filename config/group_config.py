"""A group's settings: its own values, and the broker's defaults for the rest (KIP-848, KIP-932)."""

from collections.abc import Mapping
from types import MappingProxyType

from .config import Config
from .config_error import ConfigError
from .table import GROUP_SETTINGS
from .typed_values import TypedValues
from .values import BadValueError, Value, trim

__all__ = ["GroupConfig", "checked_overrides"]

# Setting of a group → lowest and highest value, which are settings of the broker.
_BOUNDS = {
    f"{kind}.{name}.ms": (f"group.{kind}.min.{name}.ms", f"group.{kind}.max.{name}.ms")
    for kind, names in (
        ("consumer", ("heartbeat.interval", "session.timeout")),
        ("share", ("heartbeat.interval", "session.timeout", "record.lock.duration")),
    )
    for name in names
}


class GroupConfig(TypedValues):
    """The settings in force for one group by their names (``consumer.session.timeout.ms``), read-only.

    Attributes:
        overrides: the values set on the group itself, as text.
    """

    __slots__ = ("overrides",)

    overrides: Mapping[str, str]

    def __init__(self, values: Mapping[str, Value | None], overrides: Mapping[str, str]) -> None:
        super().__init__(values)
        self.overrides = MappingProxyType(dict(overrides))

    @classmethod
    def in_force(cls, config: Config, overrides: Mapping[str, str]) -> "GroupConfig":
        """The settings of an existing group. Overrides that are not valid are left out, and values outside the
        broker's bounds, which may have changed since, count as the bound."""
        values = _defaults(config)
        good: dict[str, str] = {}
        for name, text in overrides.items():
            try:
                value = _parse(name, text)
            except ConfigError:
                continue
            good[name] = text
            values[name] = _bounded(config, name, value)
        return cls(values, good)


def checked_overrides(config: Config, overrides: Mapping[str, str]) -> None:
    """Check the values that shall be set on a group.

    Raises:
        ConfigError: an unknown name, or a value that is not allowed; one plain line.
    """
    values = _defaults(config)
    for name, text in overrides.items():
        values[name] = value = _parse(name, text)
        if name in _BOUNDS and isinstance(value, int):
            least, most = _BOUNDS[name]
            if value < config.int(least):
                raise ConfigError(f"{name} must be greater than or equal to {config.shown(least)}")
            if value > config.int(most):
                raise ConfigError(f"{name} must be less than or equal to {config.shown(most)}")
    group = GroupConfig(values, overrides)
    for kind in ("consumer", "share"):
        interval, session = f"{kind}.heartbeat.interval.ms", f"{kind}.session.timeout.ms"
        is_set = interval in overrides or session in overrides
        if is_set and group.int(interval) >= group.int(session):
            raise ConfigError(f"{session}={group.int(session)} must be greater than {interval}={group.int(interval)}")


def _defaults(config: Config) -> dict[str, Value | None]:
    return {
        name: config.value(setting.synonyms[0]) if setting.synonyms else setting.default_value(False)
        for name, setting in GROUP_SETTINGS.items()
    }


def _bounded(config: Config, name: str, value: Value) -> Value:
    if name not in _BOUNDS or not isinstance(value, int):
        return value
    least, most = _BOUNDS[name]
    return max(config.int(least), min(value, config.int(most)))


def _parse(name: str, text: str) -> Value:
    setting = GROUP_SETTINGS.get(name)
    if setting is None:
        raise ConfigError(f"{name}: there is no such setting of groups")
    try:
        return setting.parse(text)
    except BadValueError as error:
        raise ConfigError(f"{name}={trim(text)}: {error}") from None

"""Settings that a program gives, not a file: there, a name that is no setting's can only be a slip."""

from collections.abc import Mapping
from pathlib import PurePath

from ...config.config import Config
from ...config.config_error import ConfigError
from ...config.load import load_config
from ...config.notices import why_ignored

__all__ = ["SettingsMapping", "config_from_mapping"]

SettingsMapping = Mapping[str, str | float | PurePath]


def config_from_mapping(settings: SettingsMapping, taker: str) -> Config:
    """``taker``: what they are given to, as the program calls it. Raises TypeError, ConfigError."""
    if not isinstance(settings, Mapping):
        raise TypeError(
            f"{taker} takes a Config or a mapping of settings, not {settings!r}; a file is read by load_config(Path(…))"
        )
    texts = {}
    for name, value in settings.items():
        if not isinstance(value, str | int | float | PurePath):  # str() of anything else is somebody's folder soon
            raise ConfigError(f"{name} (given to {taker}): {value!r} is no text, number or path")
        texts[name] = str(value)
    config = load_config("", texts, place=f"given to {taker}")
    if config.unknown:
        raise ConfigError("; ".join(f"{name} (given to {taker}): {why_ignored(name)}" for name in config.unknown))
    return config

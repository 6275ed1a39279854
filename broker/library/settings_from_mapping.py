"""Builds a Config from the mapping that a program passes to `Broker` or `Cluster`."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import PurePath

from ...config.config import Config
from ...config.config_error import ConfigError
from ...config.load import load_config
from ...config.notices import why_ignored

__all__ = ["SettingsMapping", "config_from_mapping"]

SettingsMapping = Mapping[str, str | float | PurePath]
_KEPT = 16


def config_from_mapping(settings: SettingsMapping, taker: str) -> Config:
    """``taker``: the class that gets the settings, for errors. Raises TypeError and ConfigError.

    Unknown names are errors, because in a program they can only be mistakes.
    """
    if not isinstance(settings, Mapping):
        raise TypeError(
            f"{taker} takes a Config or a mapping of settings, not {settings!r}; a file is read by load_config(Path(…))"
        )
    texts = {}
    for name, value in settings.items():
        if not isinstance(value, str | int | float | PurePath):  # str() of other types is rarely a meaningful value
            raise ConfigError(f"{name} (given to {taker}): {value!r} is not a string, number or path")
        texts[name] = str(value)
    return _config_of(tuple(texts.items()), taker)


@lru_cache(maxsize=_KEPT)  # the brokers of a program mostly have the same settings, and a Config never changes
def _config_of(texts: tuple[tuple[str, str], ...], taker: str) -> Config:
    config = load_config("", dict(texts), place=f"given to {taker}")
    if config.unknown:
        raise ConfigError("; ".join(f"{name} (given to {taker}): {why_ignored(name)}" for name in config.unknown))
    return config

"""Reads settings from a file and from overrides, and checks them.

Every function here returns a checked `Config` (except `unchecked_config` and `with_chosen`) and raises ConfigError with
one plain line: the name of the setting, its value, and what is allowed. A broker can be started with every checked
Config.
"""

from collections.abc import Mapping
from pathlib import Path

from .config import NO_VARIABLES, Config
from .consistency import check_consistency
from .dynamic_layers import DynamicLayers
from .given import Given, Source
from .properties import parse_properties, read_properties
from .refusals import check_refusals

__all__ = [
    "load_config",
    "reload_config",
    "unchecked_config",
    "with_chosen",
    "with_dynamic",
    "with_overrides",
    "with_static",
]


def load_config(
    properties: str | Path = "",
    overrides: Mapping[str, str | Given] | None = None,
    *,
    place: str = "override",
    variables: Mapping[str, str] = NO_VARIABLES,
) -> Config:
    """Read settings and check them; refuse settings that ask for a protection pybroker does not have.

    Args:
        properties: a path to a file, or the text of one.
        overrides: values by name; they take precedence over the file.
        place: how errors and warnings name the place where the overrides were given as text.
        variables: by setting, the environment variable from which a value was written into the file; errors and
            warnings name it in place of the line.
    """
    return _checked(unchecked_config(properties, overrides, place=place, variables=variables))


def unchecked_config(
    properties: str | Path = "",
    overrides: Mapping[str, str | Given] | None = None,
    *,
    place: str = "override",
    variables: Mapping[str, str] = NO_VARIABLES,
) -> Config:
    """`load_config` without the checks across several settings and without the refusals."""
    given = {**_given_in(properties, variables), **_given_above(overrides or {}, place)}
    return Config(given, file=properties if isinstance(properties, Path) else None, variables=variables)


def with_overrides(config: Config, overrides: Mapping[str, str]) -> Config:
    """``config`` with ``overrides``, which take precedence over the values given at the start."""
    return _checked(with_chosen(config, overrides))


def with_chosen(config: Config, values: Mapping[str, str]) -> Config:
    """`with_overrides` for values that the program itself has chosen, such as a free port: they suit the others."""
    given = {**config.static, **_given_above(values, "override")}
    return Config(given, config.dynamic, config.file, config.variables)


def with_dynamic(config: Config, dynamic: DynamicLayers) -> Config:
    """``config`` with ``dynamic`` in place of its own dynamic settings; ``config`` itself when they are the same."""
    if dynamic == config.dynamic:
        return config
    return _checked(Config(config.static, dynamic, config.file, config.variables))


def with_static(config: Config, static: Mapping[str, Given]) -> Config:
    """``config`` with ``static`` in place of the settings given at the start; its dynamic settings stay."""
    return _checked(Config(static, config.dynamic, config.file, config.variables))


def reload_config(config: Config) -> Config:
    """Read the file of ``config`` again and keep its overrides. A Config without a file is returned as it is."""
    if config.file is None:
        return config
    overrides = {name: given for name, given in config.static.items() if given.source is Source.OVERRIDE}
    given = {**_given_in(config.file, config.variables), **overrides}
    return _checked(Config(given, file=config.file, variables=config.variables))


def _checked(config: Config) -> Config:
    check_refusals(config)
    check_consistency(config)
    return config


def _given_in(properties: str | Path, variables: Mapping[str, str]) -> dict[str, Given]:
    if isinstance(properties, Path):
        lines, source = read_properties(properties), properties.name
    else:
        lines, source = parse_properties(properties), "settings"
    return {
        line.name: Given(line.value, Source.FILE, variables.get(line.name) or f"{source} line {line.line}")
        for line in lines.values()
    }


def _given_above(overrides: Mapping[str, str | Given], place: str) -> dict[str, Given]:
    return {
        name: value if isinstance(value, Given) else Given(value, Source.OVERRIDE, place)
        for name, value in overrides.items()
    }

"""Named sets of client settings in a TOML file: ``[prod]`` with ``"bootstrap.servers" = "…"`` and so on."""

import os
from collections.abc import Mapping
from pathlib import Path

from ...base.command_parser import BAD_INPUT, CommandError

__all__ = ["profile_settings", "profiles_file"]


def profiles_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Where profiles are: ``profiles.toml`` in the user's directory of settings for pybroker."""
    home = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME", "~")) / ".config")
    return Path(home) / "pybroker" / "profiles.toml"


def profile_settings(name: str, file: Path) -> dict[str, str]:
    """The settings of a profile. Raises CommandError."""
    import tomllib  # not needed without a profile

    try:
        profiles = tomllib.loads(file.read_text())
    except FileNotFoundError:
        raise CommandError(f"--profile {name}: there is no file {file}", BAD_INPUT) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CommandError(f"--profile {name}: {file} cannot be read: {error}", BAD_INPUT) from None
    found = profiles.get(name)
    if not isinstance(found, dict):
        known = ", ".join(sorted(each for each, table in profiles.items() if isinstance(table, dict))) or "none"
        raise CommandError(f"--profile {name}: {file} has no such profile; profiles: {known}", BAD_INPUT)
    return {setting: _text(value) for setting, value in _flat(found).items()}


def _flat(table: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Settings by name: TOML reads ``security.protocol = …`` without quotes as nested tables."""
    flat: dict[str, object] = {}
    for name, value in table.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

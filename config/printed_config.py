"""The effective settings as text, for ``pybroker --print-config``."""

from .config import HIDDEN, Config
from .table import BROKER_SETTINGS


def printed_config(config: Config) -> str:
    """One line ``name=value (source)`` for each setting, sorted; passwords are hidden, a missing value is null.

    Settings of one listener are included; names that no table has are left out.
    """
    lines = {name: f"{name}={_shown(config.text(name))} ({config.source(name).value})" for name in BROKER_SETTINGS}
    for name, given in config.given.items():
        setting = config.setting(name)
        if setting is not None and name not in lines:
            lines[name] = f"{name}={HIDDEN if setting.is_secret else _shown(given.text)} ({given.source.value})"
    return "".join(lines[name] + "\n" for name in sorted(lines))


def _shown(text: str | None) -> str:
    if text is None:
        return "null"
    return text if text.isprintable() else text.encode("unicode_escape").decode()

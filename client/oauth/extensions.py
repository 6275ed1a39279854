"""Extensions of a login by OAUTHBEARER (KIP-342), from the options of the login module."""

import re
from collections.abc import Mapping

from ...config.config_error import ConfigError

__all__ = ["extensions_in"]

_EXTENSION_NAME, _EXTENSION_VALUE = re.compile("[A-Za-z]+"), re.compile("[\x21-\x7e \t\r\n]+")
_RESERVED_EXTENSION = "auth"


def extensions_in(options: Mapping[str, str], prefix: str) -> tuple[tuple[str, str], ...]:
    """The names and values of the options that begin with ``prefix``. Raises ConfigError, without a value."""
    found = []
    for option, value in options.items():
        if not option.startswith(prefix):
            continue
        name = option.removeprefix(prefix)
        if not _EXTENSION_NAME.fullmatch(name) or name == _RESERVED_EXTENSION:
            raise ConfigError(f"option {option}: the name of an extension has letters only, and is not auth")
        if not _EXTENSION_VALUE.fullmatch(value):
            raise ConfigError(f"option {option}: its value must be printable ASCII")
        found.append((name, value))
    return tuple(found)

"""A file with settings of Kafka's clients, such as the one of `--command-config`."""

from __future__ import annotations

from pathlib import Path

from ..config.config_error import ConfigError
from ..config.properties import read_properties
from .given_options import OptionError

_OF_CONNECTIONS = ("security.protocol", "ssl.", "sasl.", "client.id", "socket.connection.setup.timeout.ms")


def connection_options(file: Path) -> dict[str, str]:
    """Returns the settings of connections in the file; those of other kinds are left out. Raises OptionError."""
    return {name: value for name, value in settings_in(file).items() if name.startswith(_OF_CONNECTIONS)}


def settings_in(file: Path) -> dict[str, str]:
    """Returns all settings in the file. Raises OptionError."""
    try:
        found = read_properties(file)
    except ConfigError as error:
        raise OptionError(str(error)) from None
    return {name: each.value for name, each in found.items()}

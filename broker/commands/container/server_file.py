"""The file of settings that a container's broker reads, made of a mounted file and the environment.

As in Apache Kafka's image: the mounted file, and behind it what the environment says; the image's own settings only
where neither says anything. Then two things that Kafka's image has no need of: a place for the data that outlives the
container, and what KRaft's settings of a single node mean here.
"""

from collections.abc import Mapping
from pathlib import Path

from ....config.config_error import ConfigError
from ....config.properties import parse_properties
from .environment_rule import server_properties, with_derived_listeners
from .single_node import without_kraft

__all__ = ["DEFAULT_PROPERTIES", "final_properties", "read_mounted"]

DEFAULT_PROPERTIES = """\
listeners=PLAINTEXT://:9092
advertised.listeners=PLAINTEXT://localhost:9092
"""
_DATA_SETTINGS = ("log.dirs", "log.dir")


def read_mounted(file: Path) -> str | None:
    """The text of a mounted file of settings; None: there is none. ConfigError: it cannot be read."""
    try:
        return file.read_bytes().decode("latin-1")  # as such files are read
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror or error}") from error


def final_properties(mounted: str | None, environment: Mapping[str, str], data_directory: str) -> str:
    """The text of the file, in which each byte of UTF-8 is one character as Kafka reads it.

    ConfigError: an escape in the mounted file or in a variable is broken.
    """
    given = server_properties(with_derived_listeners(environment)).encode("utf-8", "surrogateescape")
    text = (mounted or "") + given.decode("latin-1")
    if not text.strip():
        text = DEFAULT_PROPERTIES
    settings = {name: line.value for name, line in parse_properties(text, "settings of the container").items()}
    added = without_kraft(settings)
    if not any(settings.get(name, "").strip() for name in _DATA_SETTINGS):
        added["log.dirs"] = data_directory
    return text + "".join(f"\n{name}={value}" for name, value in added.items()) + "\n"

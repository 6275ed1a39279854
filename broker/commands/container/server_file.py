"""Builds the settings file of a container's broker from a mounted file and the environment.

As in Apache Kafka's image, the file holds the mounted settings and then those of the environment; the image's defaults
apply only when both are empty. pybroker adds a data directory that outlives the container.
"""

from collections.abc import Mapping
from pathlib import Path

from ....base.unusable_path import why_unusable
from ....config.config_error import ConfigError
from ....config.java_options import settings_in_java_options
from ....config.properties import parse_properties
from .environment_rule import server_properties, variables_by_setting, with_derived_listeners

__all__ = ["DEFAULT_PROPERTIES", "final_properties", "places_in_environment", "read_mounted"]

DEFAULT_PROPERTIES = """\
listeners=PLAINTEXT://:9092
advertised.listeners=PLAINTEXT://localhost:9092
"""
_DATA_SETTINGS = ("log.dirs", "log.dir")
_PLACES_OF_DEFAULTS = {
    "listeners": "KAFKA_LISTENERS, not set",
    "advertised.listeners": "KAFKA_ADVERTISED_LISTENERS, not set",
    "log.dirs": "KAFKA_LOG_DIRS, not set",
}
"""Nobody wrote these lines of the file."""


def read_mounted(file: Path) -> str | None:
    """The text of the mounted file; None when there is none. Raises ConfigError when it cannot be read."""
    try:
        return file.read_bytes().decode("latin-1")  # the encoding of properties files
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError as error:
        raise ConfigError(
            f"{file}: cannot be read: it is a directory, which Docker makes when the file to mount is missing on the "
            "host; correct the path of the file there"
        ) from error
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {why_unusable(error, str(file))}") from error


def final_properties(mounted: str | None, environment: Mapping[str, str], data_directory: str) -> str:
    """The text of the settings file, one character for each byte of UTF-8, as Kafka reads it.

    Raises ConfigError for a broken escape in the mounted file or in a variable.
    """
    variables_by_setting(environment)  # a broken escape is refused with the name of its variable
    given = server_properties(with_derived_listeners(environment)).encode("utf-8", "surrogateescape")
    text = (mounted or "") + given.decode("latin-1")
    if not text.strip():
        text = DEFAULT_PROPERTIES
    settings = {name: line.value for name, line in parse_properties(text, "settings of the container").items()}
    if not any(settings.get(name, "").strip() for name in _DATA_SETTINGS):
        text += f"\nlog.dirs={data_directory}"
    for name, value in settings_in_java_options(environment).items():
        if name not in settings:
            text += f"\n{name}={value}"
    return text + "\n"


def places_in_environment(environment: Mapping[str, str], mounted: str | None = None) -> dict[str, str]:
    """For each setting that the environment or the image decides, its variable, in words for errors and warnings."""
    settings_of_file = parse_properties(mounted or "")
    defaults = {name: place for name, place in _PLACES_OF_DEFAULTS.items() if name not in settings_of_file}
    of_java = dict.fromkeys(settings_in_java_options(environment), "KAFKA_OPTS")
    places = {**defaults, **of_java, **variables_by_setting(environment)}
    if with_derived_listeners(environment).get("KAFKA_LISTENERS") != environment.get("KAFKA_LISTENERS"):
        places["listeners"] = "from KAFKA_ADVERTISED_LISTENERS"
    return places

"""The variables of Apache Kafka's image that name key stores, and files with their passwords, in a mounted directory.

Its script ``configure`` turns them into variables that are settings; so does this module.
"""

from collections.abc import Mapping
from pathlib import Path

from ....base.unusable_path import why_unusable
from ....config.config_error import ConfigError

__all__ = ["with_secret_files"]

_SECRETS = Path("/etc/kafka/secrets")
_STORES = {
    "KAFKA_SSL_KEYSTORE_FILENAME": "KAFKA_SSL_KEYSTORE_LOCATION",
    "KAFKA_SSL_TRUSTSTORE_FILENAME": "KAFKA_SSL_TRUSTSTORE_LOCATION",
}
_PASSWORDS = {
    "KAFKA_SSL_KEYSTORE_CREDENTIALS": "KAFKA_SSL_KEYSTORE_PASSWORD",
    "KAFKA_SSL_KEY_CREDENTIALS": "KAFKA_SSL_KEY_PASSWORD",
    "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "KAFKA_SSL_TRUSTSTORE_PASSWORD",
}


def with_secret_files(environment: Mapping[str, str], directory: Path = _SECRETS) -> dict[str, str]:
    """The environment with variables for settings in place of those for files. A variable for the setting itself wins.

    Raises ConfigError when a file of a password cannot be read.
    """
    settings = {name: value for name, value in environment.items() if name not in _STORES and name not in _PASSWORDS}
    for variable, name in _STORES.items():
        if file := environment.get(variable):
            settings.setdefault(name, str(directory / file))
    for variable, name in _PASSWORDS.items():
        if file := environment.get(variable):
            settings.setdefault(name, _password_in(directory / file, variable))
    return settings


def _password_in(file: Path, variable: str) -> str:
    try:
        return file.read_text(encoding="utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = why_unusable(error, str(file)) if isinstance(error, OSError) else "it is not text"
        raise ConfigError(f"{variable}={file.name}: {file} cannot be read: {why}") from None

"""The system properties in KAFKA_OPTS that mean something without a JVM: the JAAS file and the allowed JWKS URLs.

**Why.** Containers pass ``-Djava.security.auth.login.config=FILE`` in this variable. An ignored security property would
start a broker without the protection that it asks for, so every other one is refused.
"""

import shlex
from collections.abc import Mapping

from ..base.frozen import frozen
from .config_error import ConfigError

__all__ = ["JavaOptions", "parse_java_options", "settings_in_java_options"]

_JAAS_FILE = "java.security.auth.login.config"
_ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
_ZOOKEEPER_SASL = "zookeeper.sasl.client"
_PROTECTION = ("java.security.", "javax.net.ssl.", "org.apache.kafka.", "sun.security.", "zookeeper.")


@frozen
class JavaOptions:
    """``jaas_file``: a path; ``allowed_urls``: empty: all."""

    jaas_file: str | None = None
    allowed_urls: tuple[str, ...] = ()


def parse_java_options(text: str, place: str = "KAFKA_OPTS") -> JavaOptions:
    """Raises ConfigError for a security property that has no effect here. Other options are ignored."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"{place} cannot be read: {error}") from None
    properties = dict(_property(word) for word in words if word.startswith("-D"))
    for name in properties:
        is_off = name == _ZOOKEEPER_SASL and properties[name] == "false"
        if name.startswith(_PROTECTION) and name not in (_JAAS_FILE, _ALLOWED_URLS) and not is_off:
            raise ConfigError(
                f"{place}: -D{name} is not supported; pybroker does not start without the protection that it asks for"
            )
    # Java reads a second '=' in front of the path as "this file alone".
    path = properties.get(_JAAS_FILE, "").removeprefix("=").removeprefix("file:")
    if _JAAS_FILE in properties and not path:
        raise ConfigError(f"{place}: -D{_JAAS_FILE} names no file")
    urls = (url.strip() for url in properties.get(_ALLOWED_URLS, "").split(","))
    return JavaOptions(path or None, tuple(url for url in urls if url))


def settings_in_java_options(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings that KAFKA_OPTS stands for. Raises ConfigError."""
    options = parse_java_options(environment.get("KAFKA_OPTS", ""))
    settings = {}
    if options.jaas_file is not None:
        settings["pybroker.sasl.jaas.file"] = options.jaas_file
    if options.allowed_urls:
        settings["pybroker.sasl.oauthbearer.allowed.urls"] = ",".join(options.allowed_urls)
    return settings


def _property(word: str) -> tuple[str, str]:
    name, _, value = word.removeprefix("-D").partition("=")
    return name, value

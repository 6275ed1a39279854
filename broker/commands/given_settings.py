"""Settings of a broker that a command takes from its arguments and from the environment."""

import os
from collections.abc import Mapping

from ...base.command_parser import BAD_INPUT, CommandError
from ...config.given import Given, Source

__all__ = ["environment_settings", "log_format"]


def environment_settings() -> dict[str, Given]:
    """The settings in KAFKA_OPTS, which Kafka's scripts pass to Java. Raises ConfigError."""
    if not os.environ.get("KAFKA_OPTS"):
        return {}
    from ...config.java_options import settings_in_java_options

    found = settings_in_java_options(os.environ)
    return {name: Given(text, Source.OVERRIDE, "KAFKA_OPTS") for name, text in found.items()}


def log_format(environment: Mapping[str, str]) -> str:
    """The format of the log in ``PYBROKER_LOG_FORMAT``. Raises CommandError."""
    from ..process.log_lines import LOG_FORMATS

    asked = environment.get("PYBROKER_LOG_FORMAT", "").strip().lower() or "text"
    if asked not in LOG_FORMATS:
        raise CommandError(f"PYBROKER_LOG_FORMAT={asked}: must be one of {', '.join(LOG_FORMATS)}", BAD_INPUT)
    return asked

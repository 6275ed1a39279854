"""Turns environment variables into settings, by the rule of Apache Kafka's image (KIP-975, ``KafkaDockerWrapper``).

The name after ``KAFKA_``, in small letters, is the setting's name, with ``.`` for ``_``, ``_`` for ``__`` and ``-`` for
``___``. Some variables with that prefix configure Kafka's programs and are no settings. The prefix ``KAFKA_CFG_`` of
Bitnami's image is accepted, too; no setting of Kafka begins with ``cfg.``.
Each setting becomes a line of a properties file, so a backslash in a value has the meaning it has in such a file. As
in Kafka's image, a further line of a value is a further line of the file. Variables that Kubernetes makes for a service
named kafka are no settings.
"""

import re
from collections.abc import Mapping

from ....config.properties import parse_properties
from .topics_variable import CREATE_TOPICS

__all__ = [
    "NOT_SETTINGS",
    "PREFIX",
    "server_properties",
    "setting_name",
    "variables_by_setting",
    "with_derived_listeners",
]

PREFIX = "KAFKA_"
_BITNAMI_PREFIX = "KAFKA_CFG_"
_HOST = re.compile("://[^:]*:")
_OF_KUBERNETES = re.compile(r"KAFKA_(SERVICE_(HOST|PORT(_.*)?)|PORT_\d+_.*)=|KAFKA_PORT=\w+://", re.DOTALL)

NOT_SETTINGS = frozenset(
    {
        "KAFKA_VERSION",
        "KAFKA_HEAP_OPTS",
        "KAFKA_LOG4J_OPTS",
        "KAFKA_OPTS",
        "KAFKA_JMX_OPTS",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_GC_LOG_OPTS",
        "KAFKA_LOG4J_ROOT_LOGLEVEL",
        "KAFKA_LOG4J_LOGGERS",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL",
        "KAFKA_JMX_HOSTNAME",
    }
)
"""Variables of Kafka's own scripts."""


def setting_name(variable: str) -> str | None:
    """The setting that a variable names, or None. ``KAFKA_`` is removed wherever it occurs in the name, as in Kafka."""
    if not variable.startswith(PREFIX) or variable in NOT_SETTINGS or variable == CREATE_TOPICS:
        return None
    dotted = variable.removeprefix(_BITNAMI_PREFIX).replace(PREFIX, "").lower().replace("_", ".")
    return dotted.replace("...", "-").replace("..", "_")


def server_properties(environment: Mapping[str, str]) -> str:
    """The settings of the environment as lines of a properties file, each after a line end; "" when there are none.

    Sorted by variable, so that the same environment gives the same file. ``KAFKA_NAME`` takes precedence over
    ``KAFKA_CFG_NAME``: it stands later.
    """
    return "".join(f"\n{name}={environment[variable]}" for variable, name in _settings(environment))


def variables_by_setting(environment: Mapping[str, str]) -> dict[str, str]:
    """For each setting of the environment, the variable whose value is used; a value of several lines may give several.

    Raises ConfigError for a broken escape in a variable.
    """
    lines = ((variable, f"{name}={environment[variable]}") for variable, name in _settings(environment))
    return {name: variable for variable, text in lines for name in parse_properties(text, source=variable)}


def _settings(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """The variables that are settings, with the settings' names; of several for one setting, the last one counts."""
    written = (name for name, value in environment.items() if not _OF_KUBERNETES.match(f"{name}={value}"))
    ordered = sorted(written, key=lambda variable: (not variable.startswith(_BITNAMI_PREFIX), variable))
    return [(variable, name) for variable in ordered if (name := setting_name(variable)) is not None]


def with_derived_listeners(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment; if it lacks ``KAFKA_LISTENERS``, that is derived from the advertised listeners.

    The derived listeners have the same names and ports, on every address. As in Kafka's image, a host ends at the next
    colon.
    """
    advertised = environment.get("KAFKA_ADVERTISED_LISTENERS", "")
    if not advertised or environment.get("KAFKA_LISTENERS") or environment.get(f"{_BITNAMI_PREFIX}LISTENERS"):
        return dict(environment)
    return {**environment, "KAFKA_LISTENERS": _HOST.sub("://0.0.0.0:", advertised)}

"""The rule by which Apache Kafka's image makes settings of environment variables (KIP-975, ``KafkaDockerWrapper``).

A variable ``KAFKA_…`` is the setting whose name is the rest of it in small letters, with ``.`` for ``_``, ``_`` for
``__`` and ``-`` for ``___``. What starts Kafka's programs has such names too, and is no setting. Each becomes a line
of a file of settings: what a backslash means in such a file, it means in the variable's value.
"""

import re
from collections.abc import Mapping

__all__ = ["NOT_SETTINGS", "server_properties", "setting_name", "with_derived_listeners"]

PREFIX = "KAFKA_"
_HOST = re.compile("://[^:]*:")

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


def setting_name(variable: str) -> str | None:
    """The setting that a variable stands for, or None. The prefix counts as none wherever it stands in the name."""
    if not variable.startswith(PREFIX) or variable in NOT_SETTINGS:
        return None
    dotted = variable.replace(PREFIX, "").lower().replace("_", ".")
    return dotted.replace("...", "-").replace("..", "_")


def server_properties(environment: Mapping[str, str]) -> str:
    """The lines of a file of settings that the environment stands for, each behind a line end; "" if there are none.

    Sorted by variable, so that the same environment makes the same file.
    """
    names = {variable: setting_name(variable) for variable in sorted(environment)}
    lines = [f"{name}={environment[variable]}" for variable, name in names.items() if name is not None]
    return "".join(f"\n{line}" for line in lines)


def with_derived_listeners(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment, and ``KAFKA_LISTENERS`` from what is advertised where it has none: the same names and ports, on
    every address. As in Kafka's image, a host goes as far as the next colon."""
    advertised = environment.get("KAFKA_ADVERTISED_LISTENERS", "")
    if not advertised or environment.get("KAFKA_LISTENERS"):
        return dict(environment)
    return {**environment, "KAFKA_LISTENERS": _HOST.sub("://0.0.0.0:", advertised)}

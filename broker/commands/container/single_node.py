"""Translates KRaft's settings of a single node (broker and only controller) into settings that pybroker accepts.

Why: tools such as testcontainers start Kafka images this way when they need one broker.
How: such a node needs no metadata of others, so pybroker runs it as one broker with the embedded store.
Limits: KRaft's settings of several nodes stay unchanged, and refuse the start.
"""

import re
from collections.abc import Mapping

__all__ = ["without_kraft"]

_COMMA = re.compile(r"\s*,\s*")
_NO_NODE = "-1"


def without_kraft(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings to add to ``settings`` so that they describe one broker without KRaft.

    Empty when ``settings`` describe several nodes or do not use KRaft.
    """
    if set(_elements(settings, "process.roles")) != {"broker", "controller"} or settings.get("zookeeper.connect"):
        return {}
    quorum = ("controller.quorum.voters", "controller.quorum.bootstrap.servers")
    if any(len(_elements(settings, name)) > 1 for name in quorum):
        return {}
    instead = dict.fromkeys(("process.roles", "controller.listener.names", *quorum), "")
    if "node.id" in settings:
        instead["node.id"] = _NO_NODE
        instead["broker.id"] = settings.get("broker.id", settings["node.id"])
    controllers = {name.upper() for name in _elements(settings, "controller.listener.names")}
    for name in ("listeners", "advertised.listeners"):
        if name in settings:
            kept = [each for each in _elements(settings, name) if each.partition("://")[0].upper() not in controllers]
            instead[name] = ",".join(kept)
    return instead


def _elements(settings: Mapping[str, str], name: str) -> list[str]:
    return [element for element in _COMMA.split(settings.get(name, "").strip()) if element]

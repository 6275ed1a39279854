"""KRaft's settings of a node that is broker and only controller at once, as a broker here understands them.

Images of Kafka are started so where one broker is all that is wanted, by testcontainers for one. Such a node needs
nobody else's metadata: with the embedded store it is one broker all the same. Of more nodes than one, KRaft's settings
stay what they are, and refuse the start.
"""

import re
from collections.abc import Mapping

__all__ = ["without_kraft"]

_COMMA = re.compile(r"\s*,\s*")
_NO_NODE = "-1"


def without_kraft(settings: Mapping[str, str]) -> dict[str, str]:
    """What to set beside ``settings`` so that they ask for one broker without KRaft; nothing if they ask for more, or
    for none of it."""
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

"""Turns the settings of a single KRaft node (broker and only controller) into the settings of one broker.

Why: such a node needs no metadata of others, so one broker with the embedded metadata store does the same.
How: settings that only KRaft has are dropped, the controller's listener too, and ``node.id`` becomes ``broker.id``.
Limits: settings of several KRaft nodes stay as they are, and refuse the start.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from ..base.frozen import frozen
from .given import Given
from .settings import kraft
from .settings.parts import KRAFT, NEW_GROUPS
from .table import BROKER_SETTINGS
from .values import split_list, trim

__all__ = ["SingleKraftNode", "single_kraft_node"]

_QUORUM = ("controller.quorum.voters", "controller.quorum.bootstrap.servers")
_OF_BOTH_MODES = ("unstable.api.versions.enable",)
_KRAFT_ONLY = {setting.name for setting in kraft.SETTINGS}.union(
    setting.name for setting in BROKER_SETTINGS.values() if setting.support in (KRAFT, NEW_GROUPS)
).difference(_OF_BOTH_MODES)
_KRAFT_PREFIXES = ("controller.quorum.", "metadata.log.")
_LISTENERS = ("listeners", "advertised.listeners")
_NODE_ID = re.compile(r"\d+", re.ASCII)


@frozen
class SingleKraftNode:
    """The translation.

    Attributes:
        settings: the settings of one broker.
        roles: ``process.roles`` as it was given.
        dropped: the settings that were given and have no effect, in the order they were given.
    """

    settings: Mapping[str, Given]
    roles: Given
    dropped: Mapping[str, Given]

    @property
    def notice(self) -> str:
        """A line for the operator."""
        roles, broker_id = f"process.roles={trim(self.roles.text)} ({self.roles.place})", self.settings.get("broker.id")
        number = f", broker.id={trim(broker_id.text)} ({broker_id.place})" if broker_id is not None else ""
        dropped = ", ".join(f"{name} ({given.place})" for name, given in self.dropped.items())
        return (
            f"{roles} describes a single KRaft node: it runs as one broker with the embedded metadata store{number}; "
            f"these settings of KRaft have no effect: {dropped}"
        )


def single_kraft_node(given: Mapping[str, Given]) -> SingleKraftNode | None:
    """The translation of ``given``; None when it describes several nodes or does not use KRaft."""
    texts = {name: value.text for name, value in given.items()}
    if {*_elements(texts, "process.roles")} != {"broker", "controller"} or trim(texts.get("zookeeper.connect", "")):
        return None
    if any(len(_elements(texts, name)) > 1 for name in _QUORUM):
        return None
    controllers = {name.upper() for name in _elements(texts, "controller.listener.names")}
    dropped = {name: value for name, value in given.items() if _is_dropped(name, controllers)}
    settings = {name: value for name, value in given.items() if name not in dropped}
    for name in _LISTENERS:
        if name in settings:
            kept = [each for each in _elements(texts, name) if each.partition("://")[0].upper() not in controllers]
            settings[name] = replace(given[name], text=",".join(kept))
    _number_broker(settings, given)
    return SingleKraftNode(settings, given["process.roles"], dropped)


def _number_broker(settings: dict[str, Given], given: Mapping[str, Given]) -> None:
    """Give the broker the node's id. ``reserved.broker.max.id`` bounds it only where ids are generated."""
    if "node.id" in given:
        settings.setdefault("broker.id", replace(given["node.id"], name="node.id"))
    if "broker.id" in settings and _NODE_ID.fullmatch(trim(settings["broker.id"].text)):
        settings["broker.id.generation.enable"] = replace(settings["broker.id"], text="false", name=None)


def _is_dropped(name: str, controllers: set[str]) -> bool:
    if name.startswith("listener.name."):
        return name.split(".")[2].upper() in controllers
    return name in _KRAFT_ONLY or name.startswith(_KRAFT_PREFIXES)


def _elements(texts: Mapping[str, str], name: str) -> list[str]:
    return [element for element in split_list(texts.get(name, "")) if element]

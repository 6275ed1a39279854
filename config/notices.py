"""Warnings about given settings that have no effect, or only part of it; logged at the start and at each change."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .former_names import FORMER_NAMES
from .group_protocols import asks_for_share_groups
from .image_names import IMAGE_NAMES
from .listeners import is_encrypted
from .setting import Setting, SupportKind
from .table import BROKER_SETTINGS, DYNAMIC_ONLY_SETTINGS, READ_OUTSIDE_THE_TABLE, TOPIC_SETTINGS
from .values import trim

if TYPE_CHECKING:
    from .config import Config

# Settings that ask for more replicas than a single broker can have, and the consequence.
_TOO_MANY_REPLICAS = {
    "default.replication.factor": "topics created without a replication factor are refused",
    "min.insync.replicas": "records produced with acks=all are refused",
    "offsets.topic.replication.factor": "the offsets topic cannot be created and consumer groups wait for ever",
    "transaction.state.log.replication.factor": "the transactions topic cannot be created",
    "transaction.state.log.min.isr": "nothing can be written to the transactions topic",
}


# Settings whose value for a single listener has effect, beside those of TLS and SASL.
_ACTED_ON_BY_LISTENER = frozenset({"connections.max.reauth.ms", "max.connection.creation.rate", "max.connections"})
_OF_LISTENER = re.compile(r"(?P<prefix>listener\.name\.[^.]+\.(?:[^.]+\.(?=sasl\.))?)(?P<own>.+)")
_TLS, _SASL = "ssl.", "sasl."
_PROTOCOLS = "group.coordinator.rebalance.protocols"
_SHARE_GROUPS = ("group.share.", "pybroker.share.", "share.coordinator.")
_SHARE_GROUPS_ARE_OFF = f"share groups are not served ({_PROTOCOLS})"


def notices(config: "Config") -> list[str]:
    """Warnings for the start of the broker, one line each, in the order the settings were given."""
    lines = [config.kraft_node.notice] if config.kraft_node is not None else []
    lines += [line for name in config.given for line in notices_of(config, name)]
    if config.optional_string("pybroker.as.version") is not None:
        lines.append(f"{config.shown('pybroker.as.version')}: clients see only APIs and versions of this release")
    if config.uses_embedded_store:
        lines += [
            f"{config.shown(name)} with a single broker: {consequence}"
            for name, consequence in _TOO_MANY_REPLICAS.items()
            if config.int(name) > 1
        ]
    return lines


def notices_of(config: "Config", name: str) -> list[str]:
    """The warning about one given setting: no line, or one."""
    setting = setting_taken(config, name)
    if setting is not None:
        return _of_known(config, name, setting)
    return [] if name in READ_OUTSIDE_THE_TABLE else [_of_unknown(config, name)]


def topic_notices(topic: str, old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Warnings when a topic's settings change from ``old`` to ``new``: one line for each that has no effect."""
    lines: list[str] = []
    for name, text in new.items():
        setting = TOPIC_SETTINGS.get(name)
        if setting is None or old.get(name) == text or setting.parse(text) == setting.default_value(False):
            continue
        where, note = f"topic {topic}: {name}={trim(text)}", setting.support.note
        match setting.support.kind:
            case SupportKind.NOT_YET:
                lines.append(f"{where} has no effect yet: it needs {note}")
            case SupportKind.NO_MEANING:
                lines.append(f"{where} has no effect: {note}")
    return lines


def setting_taken(config: "Config", name: str) -> Setting | None:
    """The setting that the given ``name`` refers to; None when the name is ignored."""
    if name in config.dynamic and name in DYNAMIC_ONLY_SETTINGS:
        return DYNAMIC_ONLY_SETTINGS[name]
    return config.setting(name)


def _of_known(config: "Config", name: str, setting: Setting) -> list[str]:
    where = f"{name} ({config.given[name].place})"
    note = setting.support.note
    match setting.support.kind:
        case SupportKind.NOT_YET:
            return [f"{where} has no effect yet: it needs {note}"]
        case SupportKind.NO_MEANING:
            return [f"{where} has no effect: {note}"]
        case SupportKind.PARTLY if config.value_given(name) != setting.default_value(config.uses_embedded_store):
            return [f"{where} has effect only in part: {note}"]
        case SupportKind.ACTED_ON if setting.name == _PROTOCOLS:
            return [f"{where}: streams groups are not served"] if "streams" in config.list(_PROTOCOLS) else []
        case SupportKind.ACTED_ON if setting.name.startswith(_SHARE_GROUPS):
            return [] if asks_for_share_groups(config) else [f"{where} has no effect: {_SHARE_GROUPS_ARE_OFF}"]
        case SupportKind.ACTED_ON if setting.name.startswith(_TLS):
            return [] if _is_for_tls(config, name, setting) else [f"{where} has no effect: the listeners use no TLS"]
        case SupportKind.ACTED_ON if name != setting.name and setting.name not in _ACTED_ON_BY_LISTENER:
            if not setting.name.startswith(_SASL):
                return [f"{where} has no effect yet: {setting.name} applies to all listeners"]
    return []


def _is_for_tls(config: "Config", name: str, setting: Setting) -> bool:
    """Whether there is a listener with TLS to which a setting of TLS, perhaps with a listener's prefix, applies."""
    return any(
        name in (setting.name, f"listener.name.{listener.name.lower()}.{setting.name}")
        and is_encrypted(listener.security_protocol)
        for listener in config.listeners()
    )


def _of_unknown(config: "Config", name: str) -> str:
    return f"{name} ({config.given[name].place}) is ignored: {why_ignored(name)}"


def why_ignored(name: str) -> str:
    """Why ``name`` is no setting of a broker at the start, and which setting may be meant."""
    if name in FORMER_NAMES:
        return f"Kafka removed it long ago: {FORMER_NAMES[name]}"
    if name in IMAGE_NAMES:
        return IMAGE_NAMES[name]
    if name in DYNAMIC_ONLY_SETTINGS:
        return "it can only be set while the broker runs, by kafka-configs"
    if name in TOPIC_SETTINGS:
        synonyms = TOPIC_SETTINGS[name].synonyms
        hint = f"; the broker's default for topics is {synonyms[0]}" if synonyms else ""
        return f"it is a setting of topics{hint}"
    import difflib  # only here: its import takes longer than that of the whole package config

    prefixed = _OF_LISTENER.fullmatch(name)
    prefix, own = ("", name) if prefixed is None else (prefixed["prefix"], prefixed["own"])
    close = difflib.get_close_matches(own, [*BROKER_SETTINGS, *READ_OUTSIDE_THE_TABLE], n=1, cutoff=0.8)
    return "there is no such setting" + (f"; did you mean {prefix}{close[0]}?" if close else "")

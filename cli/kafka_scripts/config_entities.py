"""Entities that the options of ``kafka-configs`` name: topics, brokers, loggers, users, clients, addresses, groups."""

import argparse
import re
import socket
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...base.command_parser import BAD_INPUT, CommandError

__all__ = [
    "BROKERS",
    "CLIENTS",
    "GROUPS",
    "IPS",
    "LOGGERS",
    "TOPICS",
    "USERS",
    "Entity",
    "EntityName",
    "given_entities",
]

TOPICS, CLIENTS, USERS, BROKERS, IPS, LOGGERS = "topics", "clients", "users", "brokers", "ips", "broker-loggers"
GROUPS = "groups"
"""Their settings came with Kafka 4 (KIP-848)."""
_METRICS = "client-metrics"
_TYPES = (TOPICS, CLIENTS, USERS, BROKERS, IPS, LOGGERS, _METRICS)
_WITH_DEFAULT = (USERS, CLIENTS, BROKERS, IPS)
_ALIASES = {"topic": TOPICS, "client": CLIENTS, "user": USERS, "broker": BROKERS, "ip": IPS, "broker-logger": LOGGERS}
_ALIASES["group"] = GROUPS
_DEFAULTS = {"client-defaults": CLIENTS, "user-defaults": USERS, "broker-defaults": BROKERS, "ip-defaults": IPS}
_BROKER_ID = re.compile(r"\d{1,9}")


class Entity(NamedTuple):
    """``name``: empty for the defaults of all entities of the type, None when the options name none."""

    kind: str
    name: str | None

    def __str__(self) -> str:
        return f"{self.kind.removesuffix('s')} {self.name}"


class EntityName(argparse.Action):
    """Keeps names and defaults in the order of the arguments."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        namespace.entity_names = [*namespace.entity_names, values if isinstance(values, str) else ""]


def given_entities(options: argparse.Namespace) -> list[Entity]:
    """One entity, or a user with a client. Raises CommandError, as Kafka checks the options."""
    kinds = list(options.entity_type)
    names = list(options.entity_names)
    for option, kind in _ALIASES.items():
        if (name := getattr(options, option.replace("-", "_"))) is not None:
            kinds.append(kind)
            names.append(name)
    for option, kind in _DEFAULTS.items():
        if getattr(options, option.replace("-", "_")):
            kinds.append(kind)
            names.append("")
    _check_kinds(kinds)
    if names and len(names) < len(kinds) and options.alter:
        raise CommandError("An entity name must be specified for every entity type", BAD_INPUT)
    if len(names) > len(kinds):
        raise CommandError("more entities are named than types of entities are given", BAD_INPUT)
    entities = [Entity(kind, names[number] if number < len(names) else None) for number, kind in enumerate(kinds)]
    for entity in entities:
        _check(entity, is_alter=options.alter)
    return entities


def _check_kinds(kinds: list[str]) -> None:
    for kind in kinds:
        if kind not in (*_TYPES, GROUPS):
            raise CommandError(
                f"Invalid entity type {kind}, the entity type must be one of {', '.join(_TYPES)} with a "
                "--bootstrap-server or --bootstrap-controller argument",
                BAD_INPUT,
            )
        if kind == _METRICS:
            raise CommandError(f"{_METRICS} are not available: only clusters with KRaft have them", BAD_INPUT)
    if not kinds:
        raise CommandError("At least one entity type must be specified", BAD_INPUT)
    if len(kinds) > 1 and sorted(kinds) != [CLIENTS, USERS]:
        raise CommandError("Only 'users' and 'clients' entity types may be specified together", BAD_INPUT)


def _check(entity: Entity, *, is_alter: bool) -> None:
    kind, name = entity
    if kind == BROKERS and name and not _BROKER_ID.fullmatch(name):
        raise CommandError(
            f"The entity name for brokers must be a valid integer broker id, but it is: {name}", BAD_INPUT
        )
    if kind in (LOGGERS, GROUPS) and not name:
        action = "alter" if is_alter else "describe"
        raise CommandError(f"an entity name must be specified with --{action} of {kind}", BAD_INPUT)
    if kind == LOGGERS and name and not _BROKER_ID.fullmatch(name):
        raise CommandError(
            f"The entity name for broker-loggers must be a valid integer broker id, but it is: {name}", BAD_INPUT
        )
    if is_alter and name is None and kind in _WITH_DEFAULT:
        raise CommandError(
            "an entity-name or default entity must be specified with --alter of users, clients, brokers or ips",
            BAD_INPUT,
        )
    if kind == TOPICS and (name == "" or (is_alter and name is None)):
        raise CommandError("an entity name must be specified with --alter of topics", BAD_INPUT)
    if kind == IPS and name and not _is_host(name):
        raise CommandError(
            f"The entity name for ips must be a valid IP or resolvable host, but it is: {name}", BAD_INPUT
        )


def _is_host(name: str) -> bool:
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True

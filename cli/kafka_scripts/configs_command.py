"""``kafka-configs``: describes and alters the settings of topics and brokers (Kafka: ConfigCommand)."""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...base.command_parser import CommandError
from ...client.admin_cluster import AdminCluster
from ...client.connection import TlsError
from ...protocol.errors import KafkaError, error_for
from ...protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from ...protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from .script_cluster import script_cluster
from .script_parser import ScriptParser, UsageError, check_required

__all__ = ["configs_command"]

_ABOUT = "This tool helps to manipulate and describe entity config for a topic or broker."
_TOPIC, _BROKER = 2, 4
_SET, _DELETE = 0, 1
_SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
}
_ADDED = re.compile(r"\s*([^=,\s]+)\s*=\s*(\[[^\]]*\]|[^,]*?)\s*(?:,|$)")


class _Entity(NamedTuple):
    """``name`` is empty for the defaults of all brokers. ``own_source``: of settings that are its own."""

    kind: int
    name: str
    own_source: int

    def __str__(self) -> str:
        return f"{'topic' if self.kind == _TOPIC else 'broker'} {self.name}"


def configs_command(arguments: Sequence[str]) -> int:
    """The script; returns its exit code."""
    parser = _parser()
    try:
        options = parser.parsed(arguments)
        if options is None:
            return 0
        check_required(options, ["bootstrap-server"])
    except UsageError as error:
        return parser.refuse(error)
    try:
        entity = _checked_entity(options)
        added, deleted = _changes(options)
        with script_cluster(options) as cluster:
            if options.describe:
                _describe(cluster, entity, shows_all=options.all)
            else:
                _alter(cluster, entity, added, deleted)
    except CommandError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except (KafkaError, ConnectionError, TimeoutError, TlsError) as error:
        sys.stderr.write(f"Error while executing config command with args '{' '.join(arguments)}'\n{error}\n")
        return 1
    return 0


def _parser() -> ScriptParser:
    parser = ScriptParser("kafka-configs", _ABOUT)
    add = parser.add_argument
    add("--bootstrap-server", metavar="SERVERS", help="REQUIRED: The servers to connect to.")
    add("--command-config", metavar="FILE", type=Path, help="Property file containing configs of the admin client.")
    add("--describe", action="store_true", help="List the settings of an entity.")
    add("--alter", action="store_true", help="Alter the settings of an entity.")
    add("--all", action="store_true", help="With --describe: the defaults too.")
    add("--entity-type", metavar="TYPE", help="topics or brokers.")
    add("--entity-name", metavar="NAME", help="The topic, or the id of the broker.")
    add("--entity-default", action="store_true", help="The defaults of all brokers.")
    add("--topic", metavar="NAME", help="The topic.")
    add("--broker", metavar="ID", help="The broker.")
    add("--broker-defaults", action="store_true", help="The defaults of all brokers.")
    add("--add-config", metavar="SETTINGS", help="Settings to add: k1=v1,k2=[v1,v2].")
    add("--delete-config", metavar="NAMES", help="Settings to delete: k1,k2.")
    return parser


def _checked_entity(options: argparse.Namespace) -> _Entity:
    """The one entity. Raises CommandError, as Kafka checks the options."""
    if options.describe == options.alter:
        raise CommandError("Command must include exactly one action: --describe, --alter")
    given = [
        each
        for each in (
            ("topics", options.topic) if options.topic is not None else None,
            ("brokers", options.broker) if options.broker is not None else None,
            ("brokers", "") if options.broker_defaults else None,
            (options.entity_type, "" if options.entity_default else options.entity_name)
            if options.entity_type is not None
            else None,
        )
        if each is not None
    ]
    if not given:
        raise CommandError("At least one entity type must be specified")
    if len(given) > 1:
        raise CommandError("only one entity can be given")
    ((kind, name),) = given
    if kind not in ("topics", "brokers"):
        raise CommandError(f"--entity-type {kind} is not available; see pybroker quotas and pybroker users")
    if name is None or (kind == "topics" and not name):
        raise CommandError(f"--entity-name must be given for {kind}")
    if kind == "topics":
        return _Entity(_TOPIC, name, 1)
    if name and not re.fullmatch(r"\d{1,9}", name):
        raise CommandError(f"The entity name for brokers must be a valid integer broker id, but it is: {name}")
    return _Entity(_BROKER, name, 2 if name else 3)


def _changes(options: argparse.Namespace) -> tuple[dict[str, str], list[str]]:
    """The settings to add, and the names of those to delete. Raises CommandError."""
    if options.describe:
        if options.add_config is not None or options.delete_config is not None:
            raise CommandError("--add-config and --delete-config need --alter")
        return {}, []
    if options.add_config is None and options.delete_config is None:
        raise CommandError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    names = [name.strip() for name in (options.delete_config or "").split(",") if name.strip()]
    return dict(_added(options.add_config or "")), names


def _added(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        found = _ADDED.match(text, at)
        if found is None:
            raise CommandError('Invalid entity config: all configs to be added must be in the format "key=val".')
        value = found[2]
        yield found[1], value[1:-1] if value.startswith("[") and value.endswith("]") else value
        at = found.end()


def _describe(cluster: AdminCluster, entity: _Entity, *, shows_all: bool) -> None:
    if entity.name:
        sys.stdout.write(f"{'All' if shows_all else 'Dynamic'} configs for {entity} are:\n")
    else:
        sys.stdout.write("Default configs for brokers in the cluster are:\n")
    for each in sorted(_settings(cluster, entity), key=lambda each: str(each.name)):
        if not shows_all and each.config_source != entity.own_source:
            continue
        synonyms = ", ".join(
            f"{_SOURCES.get(synonym.source, 'UNKNOWN')}:{synonym.name}={_text(synonym.value)}"
            for synonym in each.synonyms
        )
        sensitive = "true" if each.is_sensitive else "false"
        sys.stdout.write(f"  {each.name}={_text(each.value)} sensitive={sensitive} synonyms={{{synonyms}}}\n")


def _text(value: str | None) -> str:
    return "null" if value is None else value


def _alter(cluster: AdminCluster, entity: _Entity, added: dict[str, str], deleted: list[str]) -> None:
    own = {each.name for each in _settings(cluster, entity) if each.config_source == entity.own_source}
    missing = [name for name in deleted if name not in own]
    if missing:
        raise CommandError(f"Invalid config(s): {','.join(missing)}")
    changes = [AlterableConfig(name=name, config_operation=_SET, value=value) for name, value in added.items()]
    changes += [AlterableConfig(name=name, config_operation=_DELETE, value=None) for name in deleted]
    resource = AlterConfigsResource(resource_type=entity.kind, resource_name=entity.name, configs=changes)
    (result,) = _ask(cluster, entity, IncrementalAlterConfigsRequest(resources=[resource])).responses
    _check(result)
    whom = f"config for {entity}" if entity.name else "default config for brokers in the cluster"
    sys.stdout.write(f"Completed updating {whom}.\n")


def _settings(cluster: AdminCluster, entity: _Entity) -> list[Any]:
    resource = DescribeConfigsResource(resource_type=entity.kind, resource_name=entity.name, configuration_keys=None)
    (result,) = _ask(cluster, entity, DescribeConfigsRequest(resources=[resource], include_synonyms=True)).results
    _check(result)
    return list(result.configs)


def _ask(cluster: AdminCluster, entity: _Entity, request: Any) -> Any:
    """The response of the broker that the settings are of, or of any."""
    if entity.kind == _BROKER and entity.name:
        return cluster.ask_broker(int(entity.name), request)
    return cluster.ask_any(request)


def _check(result: Any) -> None:
    if result.error_code:
        raise error_for(result.error_code, result.error_message or str(error_for(result.error_code)))

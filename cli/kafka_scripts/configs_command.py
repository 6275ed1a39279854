"""``kafka-configs``: describes and alters the settings of topics, brokers and groups (Kafka: ConfigCommand)."""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...base.command_parser import CommandError
from ...client.admin_cluster import AdminCluster
from ...client.connection import TlsError
from ...client.response_error import response_error
from ...protocol.errors import KafkaError
from ...protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from ...protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from ..connecting.connection_options import file_settings
from .config_entities import BROKERS, CLIENTS, GROUPS, IPS, LOGGERS, TOPICS, USERS, Entity, EntityName, given_entities
from .quota_configs import alter_quotas, describe_quotas
from .script_cluster import script_cluster
from .script_parser import ScriptParser, UsageError, check_required

__all__ = ["configs_command"]

_ABOUT = "This tool helps to manipulate and describe entity config for a topic or broker."
_RESOURCES = {TOPICS: 2, BROKERS: 4, LOGGERS: 8, GROUPS: 32}
_QUOTA_KINDS = (USERS, CLIENTS, IPS)
_OWN_SOURCES = {TOPICS: 1, BROKERS: 2, LOGGERS: 6, GROUPS: 8}
_DEFAULTS_SOURCE = 3
_SET, _DELETE = 0, 1
_SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}
_ADDED = re.compile(r"\s*([^=,\s]+)\s*=\s*(\[[^\]]*\]|[^,]*?)\s*(?:,|$)")


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
        entities = _checked_entities(options)
        added, deleted = _changes(options)
        with script_cluster(options) as cluster:
            if options.describe:
                _describe_all(cluster, entities, shows_all=options.all)
            else:
                _alter_all(cluster, entities, added, deleted)
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
    add("--entity-type", metavar="TYPE", action="append", default=[], help=_TYPES_HELP)
    add("--entity-name", dest="entity_names", metavar="NAME", action=EntityName, default=[], help="Its name.")
    add("--entity-default", dest="entity_names", nargs=0, action=EntityName, help="The defaults of all of the type.")
    for name in ("topic", "client", "user", "broker", "broker-logger", "ip", "group"):
        add(f"--{name}", metavar="NAME", help=f"The {name}.")
    for name in ("client-defaults", "user-defaults", "broker-defaults", "ip-defaults"):
        add(f"--{name}", action="store_true", help="The defaults of all.")
    add("--add-config-file", metavar="FILE", type=Path, help="Settings to add, as properties.")
    add("--add-config", metavar="SETTINGS", help="Settings to add: k1=v1,k2=[v1,v2].")
    add("--delete-config", metavar="NAMES", help="Settings to delete: k1,k2.")
    return parser


_TYPES_HELP = "topics, brokers, broker-loggers, users, clients, ips or groups; users and clients together."


def _checked_entities(options: argparse.Namespace) -> list[Entity]:
    """One entity, or a user with a client. Raises CommandError, as Kafka checks the options."""
    if options.describe == options.alter:
        raise CommandError("Command must include exactly one action: --describe, --alter")
    return given_entities(options)


def _changes(options: argparse.Namespace) -> tuple[dict[str, str], list[str]]:
    """The settings to add, and the names of those to delete. Raises CommandError."""
    if options.describe:
        if options.add_config is not None or options.delete_config is not None or options.add_config_file is not None:
            raise CommandError("--add-config, --add-config-file and --delete-config need --alter")
        return {}, []
    if options.add_config is not None and options.add_config_file is not None:
        raise CommandError("Only one of --add-config and --add-config-file must be specified")
    if options.add_config is None and options.delete_config is None and options.add_config_file is None:
        raise CommandError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    names = [name.strip() for name in (options.delete_config or "").split(",") if name.strip()]
    if options.add_config_file is not None:
        return file_settings(options.add_config_file), names
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


def _describe_all(cluster: AdminCluster, entities: Sequence[Entity], *, shows_all: bool) -> None:
    kind, name = entities[0]
    if kind in _QUOTA_KINDS:
        describe_quotas(cluster, entities)
        return
    names: list[str | None] = [name]
    if name is None and kind == TOPICS:
        names = [*sorted(topic.name or "" for topic in cluster.metadata(None).topics)]
    elif name is None:
        names = [*(str(broker.node_id) for broker in cluster.metadata().brokers), ""]
    for each in names:
        _describe(cluster, Entity(kind, each), shows_all=shows_all)


def _alter_all(cluster: AdminCluster, entities: Sequence[Entity], added: dict[str, str], deleted: list[str]) -> None:
    entity = entities[0]
    if entity.kind in _QUOTA_KINDS:
        alter_quotas(cluster, sorted(entities, reverse=True), added, deleted)
        entity = max(entities)  # the user
    else:
        _alter(cluster, entity, added, deleted)
    whom = f"config for {entity}" if entity.name else f"default config for {entity.kind} in the cluster"
    sys.stdout.write(f"Completed updating {whom}.\n")


def _describe(cluster: AdminCluster, entity: Entity, *, shows_all: bool) -> None:
    if entity.name:
        sys.stdout.write(f"{'All' if shows_all else 'Dynamic'} configs for {entity} are:\n")
    else:
        sys.stdout.write("Default configs for brokers in the cluster are:\n")
    for each in sorted(_settings(cluster, entity), key=lambda each: str(each.name)):
        if not shows_all and each.config_source != _own_source(entity):
            continue
        synonyms = ", ".join(
            f"{_SOURCES.get(synonym.source, 'UNKNOWN')}:{synonym.name}={_text(synonym.value)}"
            for synonym in each.synonyms
        )
        sensitive = "true" if each.is_sensitive else "false"
        sys.stdout.write(f"  {each.name}={_text(each.value)} sensitive={sensitive} synonyms={{{synonyms}}}\n")


def _own_source(entity: Entity) -> int:
    """The source of settings that are the entity's own."""
    return _OWN_SOURCES[entity.kind] if entity.name else _DEFAULTS_SOURCE


def _text(value: str | None) -> str:
    return "null" if value is None else value


def _alter(cluster: AdminCluster, entity: Entity, added: dict[str, str], deleted: list[str]) -> None:
    own = {each.name for each in _settings(cluster, entity) if each.config_source == _own_source(entity)}
    is_logger = entity.kind == LOGGERS
    missing = [name for name in ((*added, *deleted) if is_logger else deleted) if name not in own]
    if missing:
        what = "broker logger(s)" if is_logger else "config(s)"
        raise CommandError(f"Invalid {what}: {','.join(missing)}")
    changes = [AlterableConfig(name=name, config_operation=_SET, value=value) for name, value in added.items()]
    changes += [AlterableConfig(name=name, config_operation=_DELETE, value=None) for name in deleted]
    resource = AlterConfigsResource(
        resource_type=_RESOURCES[entity.kind], resource_name=entity.name or "", configs=changes
    )
    (result,) = _ask(cluster, entity, IncrementalAlterConfigsRequest(resources=[resource])).responses
    _check(result)


def _settings(cluster: AdminCluster, entity: Entity) -> list[Any]:
    resource = DescribeConfigsResource(
        resource_type=_RESOURCES[entity.kind], resource_name=entity.name or "", configuration_keys=None
    )
    (result,) = _ask(cluster, entity, DescribeConfigsRequest(resources=[resource], include_synonyms=True)).results
    _check(result)
    return list(result.configs)


def _ask(cluster: AdminCluster, entity: Entity, request: Any) -> Any:
    """The response of the broker that the settings are of, or of any."""
    if entity.kind in (BROKERS, LOGGERS) and entity.name:
        return cluster.ask_broker(int(entity.name), request)
    return cluster.ask_any(request)


def _check(result: Any) -> None:
    if result.error_code:
        raise response_error(result)

"""``kafka-acls``: lists, adds and removes access rules (Kafka: AclCommand)."""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ...base.acls import AclBinding, AclEntry, AclOperation, AclPermission, PatternType, ResourcePattern
from ...base.printable import printable
from ...client.acl_messages import acl_creation
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import KafkaError, error_for
from ...protocol.messages.create_acls import CreateAclsRequest
from ...protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from ..acls.rules import RuleFilter, bindings_of
from .acl_options import EntriesOfResources, entries_of_resources, pattern_type_of, principal_of, resources_of
from .kafka_errors import check_code, in_java_words
from .script_cluster import CLUSTER_ERRORS, script_cluster
from .script_parser import ScriptParser, UsageError, check_without

__all__ = ["acl_command"]

_ONE_ACTION = "Command must include exactly one action: --list, --add, --remove. "
_RESOURCES = ("topic", "group", "transactional-id", "delegation-token", "user-principal")
_PRINCIPALS = ("allow-principal", "deny-principal", "allow-host", "deny-host")
_WITHOUT_BROKERS = ("authorizer", "authorizer-properties", "zk-tls-config-file")
_NOT_WITH_ROLES = ("operation", "deny-principal", "deny-host")


def acl_command(arguments: Sequence[str]) -> int:
    """The script; returns its exit code."""
    parser = _parser()
    try:
        options = parser.parsed(arguments)
        if options is None:
            return 0
        action = _checked_action(options)
        rules = _rules(action, options)
        with script_cluster(options) as cluster:
            _ACTIONS[action](cluster, options, rules)
    except UsageError as error:
        return parser.refuse(error)
    except CLUSTER_ERRORS as error:
        sys.stdout.write(f"Error while executing ACL command: {error}\n")
        return 1
    return 0


def _parser() -> ScriptParser:
    parser = ScriptParser("kafka-acls", "This tool helps to manage acls on kafka.")
    add = parser.add_argument
    add("--bootstrap-server", metavar="SERVERS", help="REQUIRED: The servers to connect to.")
    add("--command-config", metavar="FILE", type=Path, help="Property file containing configs of the admin client.")
    for action, meaning in (("list", "List"), ("add", "Add"), ("remove", "Remove")):
        add(f"--{action}", action="store_true", help=f"{meaning} access rules.")
    for name in _RESOURCES:
        add(f"--{name}", metavar="NAME", action="append", default=[], help="A resource; '*' is all.")
    add("--cluster", action="store_true", help="The cluster as the resource.")
    add("--resource-pattern-type", metavar="TYPE", default="literal", help=_PATTERN_HELP)
    add("--operation", metavar="OPERATION", action="append", default=[], help="An operation, such as Read (All).")
    for name in _PRINCIPALS:
        add(
            f"--{name}",
            metavar="NAME",
            action="append",
            default=[],
            help="A principal, such as User:alice, or the address of a host.",
        )
    add(
        "--principal", metavar="NAME", action="append", default=[], help="To list: only rules that name this principal."
    )
    add("--producer", action="store_true", help="The rules that a producer needs.")
    add("--consumer", action="store_true", help="The rules that a consumer needs.")
    add("--idempotent", action="store_true", help="With --producer: those of an idempotent producer too.")
    add("--force", action="store_true", help="Do not ask.")
    for name in _WITHOUT_BROKERS:
        add(f"--{name}", metavar="VALUE", help="Not available: rules are changed by brokers only.")
    return parser


_PATTERN_HELP = "literal or prefixed; to list and to remove also any or match (literal)."


def _checked_action(options: argparse.Namespace) -> str:
    """The one action. Raises UsageError, as Kafka checks the options."""
    for name in _WITHOUT_BROKERS:
        if getattr(options, name.replace("-", "_")) is not None:
            raise UsageError(f"--{name} is not available; use --bootstrap-server")
    if options.bootstrap_server is None:
        raise UsageError("--bootstrap-server must be specified")
    chosen = [action for action in _ACTIONS if getattr(options, action)]
    if len(chosen) != 1:
        raise UsageError(_ONE_ACTION)
    if options.list:
        check_without(options, "list", ("producer", "consumer", *_PRINCIPALS))
    for role in ("producer", "consumer"):
        if getattr(options, role):
            check_without(options, role, _NOT_WITH_ROLES)
    if options.principal and not options.list:
        raise UsageError("The --principal option is only available if --list is set")
    if options.producer and not options.topic:
        raise UsageError("With --producer you must specify a --topic")
    if options.idempotent and not options.producer:
        raise UsageError("The --idempotent option is only available if --producer is set")
    lacks = not options.topic or not options.group
    if options.consumer and (lacks or (not options.producer and (options.cluster or options.transactional_id))):
        raise UsageError(
            "With --consumer you must specify a --topic and a --group and no --cluster or --transactional-id option "
            "should be specified."
        )
    return chosen[0]


def _rules(action: str, options: argparse.Namespace) -> EntriesOfResources:
    """The rules to add or remove. Raises UsageError, CommandError."""
    if action == "list":
        return {}
    kind = pattern_type_of(options)
    if action == "add" and kind not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise UsageError(f"A '--resource-pattern-type' value of '{kind.name}' is not valid when adding acls.")
    rules = entries_of_resources(options)
    if action == "add" and not all(rules.values()):
        raise UsageError("You must specify one of: --allow-principal, --deny-principal when trying to add ACLs.")
    return rules


def _add(cluster: AdminCluster, _: argparse.Namespace, rules: EntriesOfResources) -> None:
    for resource, entries in rules.items():
        sys.stdout.write(f"Adding ACLs for resource `{_text(resource)}`: \n {_lines(entries)} \n\n")
        creations = [acl_creation(resource, entry) for entry in entries]
        for result in cluster.ask_controller(CreateAclsRequest(creations=creations)).results:
            check_code(result.error_code, result.error_message)


def _remove(cluster: AdminCluster, options: argparse.Namespace, rules: EntriesOfResources) -> None:
    for resource, entries in rules.items():
        asked = f"Are you sure you want to delete all ACLs for resource filter `{_text(resource)}`? (y/n)"
        if entries:
            asked = (
                f"Are you sure you want to remove ACLs: \n {_lines(entries)} \n "
                f"from resource filter `{_text(resource)}`? (y/n)"
            )
        if options.force or _is_confirmed(asked):
            _delete(cluster, resource, entries)


def _delete(cluster: AdminCluster, resource: ResourcePattern, entries: Iterable[AclEntry]) -> None:
    kinds: list[tuple[str | None, str | None, AclOperation, AclPermission]] = [
        (entry.principal, entry.host, entry.operation, entry.permission) for entry in entries
    ]
    filters = [
        DeleteAclsFilter(
            resource_type_filter=resource.resource_type,
            resource_name_filter=resource.name,
            pattern_type_filter=resource.pattern_type,
            principal_filter=principal,
            host_filter=host,
            operation=operation,
            permission_type=permission,
        )
        for principal, host, operation, permission in kinds or [(None, None, AclOperation.ANY, AclPermission.ANY)]
    ]
    for result in cluster.ask_controller(DeleteAclsRequest(filters=filters)).filter_results:
        for each in (result, *result.matching_acls):
            check_code(each.error_code, each.error_message)


def _is_confirmed(question: str) -> bool:
    sys.stdout.write(f"{question}\n")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() == "y"


def _list(cluster: AdminCluster, options: argparse.Namespace, _: EntriesOfResources) -> None:
    filters = [RuleFilter(*resource) for resource in resources_of(options)] or [RuleFilter()]
    found: dict[ResourcePattern, list[AclEntry]] = {}
    for pattern, entry in _bindings(cluster, filters):
        found.setdefault(pattern, []).append(entry)
    if not options.principal:
        _print(found)
    for principal in dict.fromkeys(map(principal_of, options.principal)):
        sys.stdout.write(f"ACLs for principal `{principal}`\n")
        _print({pattern: [each for each in some if each.principal == principal] for pattern, some in found.items()})


def _bindings(cluster: AdminCluster, filters: Iterable[RuleFilter]) -> list[AclBinding]:
    try:
        return bindings_of(cluster, filters, failure="")
    except KafkaError as error:
        raise error_for(error.code, in_java_words(error.code, error.message)) from None


def _print(found: Mapping[ResourcePattern, Sequence[AclEntry]]) -> None:
    for resource, entries in found.items():
        if entries:
            sys.stdout.write(f"Current ACLs for resource `{_text(resource)}`: \n {_lines(entries)} \n\n")


def _text(resource: ResourcePattern) -> str:
    kind, name, pattern_type = resource
    return f"ResourcePattern(resourceType={kind.name}, name={printable(name)}, patternType={pattern_type.name})"


def _lines(entries: Iterable[AclEntry]) -> str:
    return "\n".join(
        f"\t(principal={printable(entry.principal)}, host={printable(entry.host)}, operation={entry.operation.name}, "
        f"permissionType={entry.permission.name})"
        for entry in entries
    )


_ACTIONS: Mapping[str, Callable[[AdminCluster, argparse.Namespace, EntriesOfResources], None]] = {
    "list": _list,
    "add": _add,
    "remove": _remove,
}

"""Access rules that the options of ``kafka-acls`` describe: the entries of each resource."""

import argparse
from collections.abc import Iterable, Mapping
from itertools import product

from ...base.acl_rules.operations_of_types import OPERATIONS_OF_TYPES, exists_for
from ...base.acl_rules.question import OPTIONS_OF_TYPES
from ...base.acls import (
    CLUSTER_NAME,
    EVERY_HOST,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from ...base.command_parser import BAD_INPUT, CommandError
from .script_parser import UsageError

__all__ = ["EntriesOfResources", "entries_of_resources", "pattern_type_of", "principal_of", "resources_of"]

EntriesOfResources = Mapping[ResourcePattern, tuple[AclEntry, ...]]

_PRODUCER = {
    AclResourceType.TOPIC: (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE),
    AclResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE, AclOperation.DESCRIBE),
}
_CONSUMER = {
    AclResourceType.TOPIC: (AclOperation.READ, AclOperation.DESCRIBE),
    AclResourceType.GROUP: (AclOperation.READ,),
}


def pattern_type_of(options: argparse.Namespace) -> PatternType:
    """The type of patterns that the options name. Raises CommandError."""
    text: str = options.resource_pattern_type
    found = PatternType.of_name(text)
    if found is PatternType.UNKNOWN:
        raise CommandError(f"Cannot parse argument '{text}' of option resource-pattern-type", BAD_INPUT)
    return found


def resources_of(options: argparse.Namespace) -> list[ResourcePattern]:
    """The resources that the options name, which may be filters. Raises CommandError."""
    pattern_type = pattern_type_of(options)
    found = [
        ResourcePattern(kind, name.strip(), pattern_type)
        for kind, option in OPTIONS_OF_TYPES.items()
        if kind is not AclResourceType.CLUSTER
        for name in getattr(options, option.replace("-", "_"))
    ]
    if pattern_type is PatternType.LITERAL and (options.cluster or options.idempotent):
        found.append(ResourcePattern(AclResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL))
    return list(dict.fromkeys(found))


def entries_of_resources(options: argparse.Namespace) -> EntriesOfResources:
    """The entries of each resource. No entries: the options name no principal. Raises UsageError, CommandError."""
    resources = resources_of(options)
    if not resources:
        raise UsageError(
            "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or "
            "--delegation-token <Delegation Token ID>"
        )
    found: dict[ResourcePattern, tuple[AclEntry, ...]] = {}
    if not options.producer and not options.consumer:
        operations = [AclOperation.of_name(each.strip().replace("_", "")) for each in options.operation or ["All"]]
        found = dict.fromkeys(resources, _entries(options, operations))
    for is_wanted, role in ((options.producer, _PRODUCER), (options.consumer, _CONSUMER)):
        if is_wanted:
            for each in resources:
                if each.resource_type in role:
                    entries = _entries(options, role[each.resource_type])
                    found[each] = tuple(dict.fromkeys((*entries, *found.get(each, ()))))
    if options.producer and options.idempotent:
        cluster = ResourcePattern(AclResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
        found[cluster] = _entries(options, [AclOperation.IDEMPOTENT_WRITE])
    _check_operations(found)
    return found


def principal_of(text: str) -> str:
    """A principal such as ``User:alice``. Raises CommandError."""
    kind, colon, _ = text.strip().partition(":")
    if not kind or not colon:
        raise CommandError(f"expected a string in format principalType:principalName but got {text.strip()}", BAD_INPUT)
    return text.strip()


def _entries(options: argparse.Namespace, operations: Iterable[AclOperation]) -> tuple[AclEntry, ...]:
    allowed = product(options.allow_principal, options.allow_host or [EVERY_HOST], [AclPermission.ALLOW])
    denied = product(options.deny_principal, options.deny_host or [EVERY_HOST], [AclPermission.DENY])
    return tuple(
        AclEntry(principal_of(principal), host.strip(), operation, permission)
        for (principal, host, permission), operation in product([*allowed, *denied], operations)
    )


def _check_operations(found: EntriesOfResources) -> None:
    for resource, entries in found.items():
        kind = resource.resource_type
        wrong = (
            each for each in entries if not (each.operation is AclOperation.ALL or exists_for(kind, each.operation))
        )
        if any(wrong):
            valid = (*OPERATIONS_OF_TYPES[kind], AclOperation.ALL)
            names = ", ".join(each.pascal_name for each in valid)
            raise UsageError(f"ResourceType {kind.name} only supports operations {names}")

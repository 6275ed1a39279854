"""The options that name rules: ``--allow User:alice --read --topic orders``."""

import argparse
from itertools import product

from ...base.acl_rules.question import OPTIONS_OF_TYPES
from ...base.acls import (
    CLUSTER_NAME,
    CONCRETE_OPERATIONS,
    EVERY_HOST,
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from .rules import RuleFilter

__all__ = ["add_rule_options", "new_rules", "principal_in", "rule_filters"]

_OPERATIONS = (AclOperation.ALL, *CONCRETE_OPERATIONS)
_PERMISSIONS = (AclPermission.ALLOW, AclPermission.DENY)


def add_rule_options(parser: CommandParser) -> None:
    """Add them to the parser of a verb. Each may be given several times; rules come from all combinations."""
    who = parser.add_argument_group("who")
    who.add_argument(
        "--allow", metavar="USER", action="append", default=[], help="as alice or User:alice; User:* is all"
    )
    who.add_argument("--deny", metavar="USER", action="append", default=[], help="as --allow; a denial goes first")
    who.add_argument("--host", metavar="ADDRESS", action="append", default=[], help="from where; default: everywhere")
    what = parser.add_argument_group("may do what")
    for operation in _OPERATIONS:
        what.add_argument(f"--{_word(operation)}", dest="operations", action="append_const", const=operation)
    parser.set_defaults(operations=[])
    on = parser.add_argument_group("with what")
    for kind, option in OPTIONS_OF_TYPES.items():
        if kind is AclResourceType.CLUSTER:
            on.add_argument("--cluster", action="append_const", const=CLUSTER_NAME, default=[])
        else:
            on.add_argument(f"--{option}", metavar="NAME", action="append", default=[])
    on.add_argument("--prefixed", action="store_true", help="all resources whose names begin with NAME")


def new_rules(options: argparse.Namespace) -> list[AclBinding]:
    """The rules that the options describe in full. Raises CommandError."""
    if not options.allow and not options.deny:
        raise CommandError("whose rule? give --allow USER or --deny USER", BAD_INPUT)
    if not options.operations:
        raise CommandError("a rule for what? give an operation, such as --read or --all", BAD_INPUT)
    if not _resources(options):
        raise CommandError("a rule for which resource? give --topic, --group, --cluster or another one", BAD_INPUT)
    return [
        AclBinding(
            ResourcePattern(each.resource_type, each.name or "", each.pattern_type),
            AclEntry(each.principal or "", each.host or EVERY_HOST, each.operation, each.permission),
        )
        for each in rule_filters(options)
    ]


def rule_filters(options: argparse.Namespace) -> list[RuleFilter]:
    """Filters for the rules that the options describe; what is not given matches all. Raises CommandError."""
    principals: list[tuple[str | None, AclPermission]] = [
        (principal_in(name), permission)
        for permission, names in zip(_PERMISSIONS, (options.allow, options.deny), strict=True)
        for name in names
    ]
    pattern_type = PatternType.PREFIXED if options.prefixed else PatternType.LITERAL
    resources: list[tuple[AclResourceType, str | None, PatternType]] = [
        (kind, name, pattern_type) for kind, name in _resources(options)
    ]
    return [
        RuleFilter(*resource, principal, host, operation, permission)
        for resource, (principal, permission), host, operation in product(
            resources or [(AclResourceType.ANY, None, PatternType.ANY)],
            principals or [(None, AclPermission.ANY)],
            options.host or [None],
            options.operations or [AclOperation.ANY],
        )
    ]


def principal_in(text: str) -> str:
    """``User:alice`` for alice. Raises CommandError."""
    if not text or text.endswith(":"):
        raise CommandError("the name of the user is empty", BAD_INPUT)
    return text if ":" in text else f"User:{text}"


def _resources(options: argparse.Namespace) -> list[tuple[AclResourceType, str]]:
    return [
        (kind, name)
        for kind, option in OPTIONS_OF_TYPES.items()
        for name in dict.fromkeys(getattr(options, option.replace("-", "_")))
    ]


def _word(operation: AclOperation) -> str:
    return operation.name.lower().replace("_", "-")

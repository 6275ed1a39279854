"""``pybroker acls add`` and ``pybroker acls remove``."""

from collections.abc import Iterable
from typing import Any

from ...base.acls import AclBinding
from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...client.acl_messages import acl_creation
from ...client.response_error import response_error
from ...protocol.errors import KafkaError
from ...protocol.messages.create_acls import CreateAclsRequest
from ...protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from ..output.columns import Column
from ..output.confirmation import confirm
from ..results import print_results
from ..verb import Call, Verb
from .rule_options import add_rule_options, new_rules, rule_filters
from .rules import RULE_COLUMNS, RuleFilter, bindings_of, resource_text, rule_of
from .shapes import AccessRuleChange

__all__ = ["ADD", "REMOVE"]


def _of_rule(column: Column) -> Column:
    """The column of a rule, for a row that has the rule."""
    return Column(column.title, lambda row: column.value(row.rule))


_COLUMNS = (
    *map(_of_rule, RULE_COLUMNS),
    Column("CHANGE", lambda row: f"would be {row.change}" if row.is_dry_run else row.change),
)


def _remove_arguments(parser: CommandParser) -> None:
    add_rule_options(parser)
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _add(call: Call) -> int:
    rules = new_rules(call.options)
    if call.options.dry_run:
        there = set(bindings_of(call.cluster, [RuleFilter()]))  # also tells whether the cluster has rules at all
        return _print(call, "added", [rule for rule in rules if rule not in there], ())
    request = CreateAclsRequest(creations=[acl_creation(*each) for each in rules])
    results = call.cluster.ask_controller(request).results
    return _print(call, "added", *_sorted_out(rules, ([result] for result in results)))


def _remove(call: Call) -> int:
    filters = rule_filters(call.options)
    if filters == [RuleFilter()]:
        raise CommandError("which rules? give at least one option, such as --topic or --allow", BAD_INPUT)
    found = bindings_of(call.cluster, filters)
    if call.options.dry_run or not found:
        if not found:
            call.output.say("no rule matches")
        return _print(call, "removed", found, ())
    if not call.options.yes:
        for rule in found:
            call.output.say(str(rule))
        confirm(f"Remove {'this rule' if len(found) == 1 else f'these {len(found):,} rules'}?")
    request = DeleteAclsRequest(
        filters=[
            DeleteAclsFilter(
                resource_type_filter=pattern.resource_type,
                resource_name_filter=pattern.name,
                pattern_type_filter=pattern.pattern_type,
                principal_filter=entry.principal,
                host_filter=entry.host,
                operation=entry.operation,
                permission_type=entry.permission,
            )
            for pattern, entry in found
        ]
    )
    results = call.cluster.ask_controller(request).filter_results
    return _print(call, "removed", *_sorted_out(found, ([result, *result.matching_acls] for result in results)))


def _sorted_out(rules: Iterable[AclBinding], results: Iterable[list[Any]]) -> tuple[list[AclBinding], list[KafkaError]]:
    """The rules that were changed, and why others were not. ``results``: those of each rule."""
    changed, failures = [], []
    for rule, of_rule in zip(rules, results, strict=True):
        failed = next((each for each in of_rule if each.error_code), None)
        if failed is None:
            changed.append(rule)
        else:
            failures.append(response_error(failed, rule))
    return changed, failures


def _print(call: Call, change: str, rules: Iterable[AclBinding], failures: Iterable[Exception]) -> int:
    rows = [AccessRuleChange(change=change, rule=rule_of(rule), is_dry_run=call.options.dry_run) for rule in rules]
    return print_results(call.output, rows, _COLUMNS, lambda row: resource_text(row.rule), failures)


ADD = Verb("add", "add access rules", add_rule_options, _add, changes=True, row=AccessRuleChange)
REMOVE = Verb("remove", "remove access rules", _remove_arguments, _remove, changes=True, row=AccessRuleChange)

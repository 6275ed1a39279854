"""``pybroker acls list``."""

from ...base.acls import PatternType
from ...base.command_parser import CommandParser
from ..exit_codes import DONE
from ..verb import Call, Verb
from .rule_options import add_rule_options, principal_in, rule_filters
from .rules import RULE_COLUMNS, bindings_of, resource_text, rule_of
from .shapes import AccessRule

__all__ = ["LIST"]


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("--user", metavar="USER", help="only rules that name this user, as alice or User:alice")
    parser.add_argument(
        "--applying", action="store_true", help="all rules that apply to a resource, prefixes and * too"
    )
    add_rule_options(parser)


def _run(call: Call) -> int:
    options = call.options
    filters = rule_filters(options)
    if options.applying:
        filters = [each._replace(pattern_type=PatternType.MATCH) for each in filters]
    elif not options.prefixed:
        filters = [each._replace(pattern_type=PatternType.ANY) for each in filters]
    if options.user is not None:
        filters = [each._replace(principal=principal_in(options.user)) for each in filters]
    rows = [rule_of(each) for each in bindings_of(call.cluster, filters)]
    call.output.rows(rows, RULE_COLUMNS, name=resource_text)
    if not rows:
        call.output.say("no rule matches")
    return DONE


LIST = Verb("list", "list access rules", _arguments, _run, row=AccessRule)

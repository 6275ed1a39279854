"""``pybroker acls check``: may a user do an operation, and which rule decides?

The command reads all rules of the cluster and decides by the rules that Kafka's authorizer uses. Brokers may keep
``super.users`` and ``allow.everyone.if.no.acl.found`` secret. Where the latter decides, the verdict is unknown; where
the former could change the verdict, a note says so.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from ...base.acl_rules.acl_index import IMPLIED_OPERATIONS, AclIndex
from ...base.acl_rules.authorizer import WITHOUT_AUTHORIZER, AclAuthorizer, DecidedBy, Explanation
from ...base.acl_rules.question import (
    OPTIONS_OF_TYPES,
    RESOURCE_FORMS,
    AclQuestion,
    QuestionError,
    read_question,
    read_resource,
)
from ...base.acls import (
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    ResourcePattern,
)
from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...base.printable import printable
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import KafkaError, SecurityDisabledError
from ..configs.found_settings import found_settings
from ..configs.resources import NamedResource, ResourceKind
from ..exit_codes import DONE, FAILED, NOT_ALLOWED
from ..verb import Call, Verb
from .rules import RuleFilter, bindings_of, rule_of
from .shapes import AccessRule, AccessVerdict

__all__ = ["CHECK", "Checked", "check_rights", "verdict_lines", "verdict_of"]

_SUPER_USERS, _ALLOW_EVERYONE = "super.users", "allow.everyone.if.no.acl.found"
_SETTINGS = [_SUPER_USERS, _ALLOW_EVERYONE]
_NEAREST = 3
_BY_DEFAULT = 5
"""The source of a setting in DescribeConfigs that nobody set: DEFAULT_CONFIG."""
_CLUSTER = AclResourceType.CLUSTER


class Checked(NamedTuple):
    """A verdict, the rules that nearly allow the operation, and what was assumed."""

    explanation: Explanation
    nearest: list[AclBinding]
    assumptions: list[str]
    is_unknown: bool = False
    """Whether a setting decides whose value the brokers keep secret."""


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("user", metavar="USER", help="as alice or User:alice")
    parser.add_argument("operation", metavar="OPERATION", help="as read, write or describe-configs")
    parser.add_argument("resource", metavar="RESOURCE", help=RESOURCE_FORMS)
    parser.add_argument("--host", metavar="ADDRESS", default="*", help="where the user comes from; default: anywhere")


def _run(call: Call) -> int:
    options = call.options
    try:
        kind, name = read_resource(options.resource)
        question = read_question(options.user, options.host, options.operation, kind, name)
    except QuestionError as error:
        raise CommandError(str(error), BAD_INPUT) from None
    checked = check_rights(call.cluster, question)
    verdict = verdict_of(question, checked)
    call.output.documents([verdict], lambda view: verdict_lines(view, kind), name=lambda view: _word(view.is_allowed))
    return FAILED if verdict.is_allowed is None else DONE if verdict.is_allowed else NOT_ALLOWED


def verdict_of(question: AclQuestion, checked: Checked) -> AccessVerdict:
    """The row of a verdict."""
    explanation = checked.explanation
    reason = explanation.decided_by.value
    if explanation.decided_by is DecidedBy.NO_ACL and not checked.is_unknown:
        reason += f": it is {str(explanation.is_allowed).lower()}"
    return AccessVerdict(
        principal=question.principal,
        host=question.host,
        operation=question.operation.pascal_name,
        resource=f"{question.resource_type.pascal_name}/{question.name}",
        is_allowed=None if checked.is_unknown else explanation.is_allowed,
        reason=reason,
        rule=None if explanation.binding is None else rule_of(explanation.binding),
        nearest=tuple(map(rule_of, checked.nearest)),
        assumptions=tuple(checked.assumptions),
    )


def check_rights(cluster: AdminCluster, question: AclQuestion) -> Checked:
    """The verdict by the rules of the cluster. Raises KafkaError."""
    try:
        bindings = bindings_of(cluster, [RuleFilter()])
    except SecurityDisabledError:
        return Checked(WITHOUT_AUTHORIZER, [], [])
    by_pattern: dict[ResourcePattern, set[AclEntry]] = defaultdict(set)
    for pattern, entry in bindings:
        by_pattern[pattern].add(entry)
    values, secret = _authorizer_settings(cluster)
    super_users = [each.strip() for each in values.get(_SUPER_USERS, "").split(";") if each.strip()]
    index = AclIndex({pattern: frozenset(entries) for pattern, entries in by_pattern.items()})
    authorizer = AclAuthorizer(index, super_users, allow_everyone=values.get(_ALLOW_EVERYONE, "").lower() == "true")
    explanation = authorizer.explain(*question)
    nearest = [] if explanation.is_allowed else sorted(bindings, key=lambda each: -_nearness(each, question))
    return Checked(
        explanation,
        [each for each in nearest if _nearness(each, question)][:_NEAREST],
        _assumptions(explanation, secret),
        explanation.decided_by is DecidedBy.NO_ACL and _ALLOW_EVERYONE in secret,
    )


def _nearness(binding: AclBinding, question: AclQuestion) -> int:
    """How many parts of a rule that allows something fit the question; 0 when too few do."""
    pattern, entry = binding
    if entry.permission is not AclPermission.ALLOW or pattern.resource_type is not question.resource_type:
        return 0
    fits = [
        pattern.matches(question.name),
        entry.principal in (question.principal, "User:*"),
        entry.operation in (question.operation, AclOperation.ALL)
        or IMPLIED_OPERATIONS.get(entry.operation) is question.operation,
    ]
    return sum(fits) if sum(fits) > 1 else 0


def _authorizer_settings(cluster: AdminCluster) -> tuple[dict[str, str], set[str]]:
    """The values of the authorizer's settings, and the settings whose values the brokers keep secret."""
    broker = NamedResource(ResourceKind.BROKER, str(min(each.node_id for each in cluster.metadata().brokers)))
    try:
        found = found_settings(cluster, [broker], _SETTINGS)[broker]
    except KafkaError:
        return {}, set(_SETTINGS)
    secret = {each.name for each in found if each.is_sensitive and each.config_source != _BY_DEFAULT}
    return {each.name: each.value or "" for each in found if not each.is_sensitive}, secret


def _assumptions(explanation: Explanation, secret: set[str]) -> list[str]:
    """Return the assumptions on which the verdict depends."""
    decisive = set() if explanation.is_allowed else {_SUPER_USERS}
    return [f"the brokers do not tell {name}; taken for none" for name in sorted(decisive & secret)]


def verdict_lines(verdict: AccessVerdict, kind: AclResourceType) -> Iterator[str]:
    """The lines that show a verdict on a resource of this kind to people."""
    yield f"{_word(verdict.is_allowed).upper()}. {verdict.reason[0].upper()}{verdict.reason[1:]}."
    if verdict.rule is not None:
        yield f"  rule      {_rule_text(verdict.rule)}"
    for rule in verdict.nearest:
        yield f"  nearest   {_rule_text(rule)}"
    if verdict.is_allowed is False and verdict.rule is None:
        name = "" if kind is _CLUSTER else f" {printable(verdict.resource.partition('/')[2])}"
        option = f"--{OPTIONS_OF_TYPES[kind]}{name}"
        operation = AclOperation.of_name(verdict.operation).name.lower().replace("_", "-")
        yield f"  would do  pybroker acls add --allow {printable(verdict.principal)} --{operation} {option}"
    for each in verdict.assumptions:
        yield f"  note      {each}"


def _word(is_allowed: bool | None) -> str:
    return "unknown" if is_allowed is None else "allowed" if is_allowed else "denied"


def _rule_text(rule: AccessRule) -> str:
    pattern = f"{rule.resource_type}/{rule.resource} ({rule.pattern.lower()})"
    return printable(f"{rule.permission} {rule.principal} {rule.operation} {pattern} from {rule.host}")


CHECK = Verb(
    "check", "say whether a user may do an operation, and which rule decides", _arguments, _run, row=AccessVerdict
)

"""``pybroker acls check``: may a user do an operation, and which rule decides?

The command reads all rules of the cluster and decides by the rules that Kafka's authorizer uses.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ...base.acl_rules.acl_index import IMPLIED_OPERATIONS
from ...base.acl_rules.question import (
    OPTIONS_OF_TYPES,
    RESOURCE_FORMS,
    AclQuestion,
    QuestionError,
    read_question,
    read_resource,
)
from ...base.acls import AclBinding, AclOperation, AclPermission, AclResourceType
from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...base.printable import printable
from ...client.admin_cluster import AdminCluster
from ...client.explained_acl import WITHOUT_ACLS, Judgement, judged
from ...protocol.errors import SecurityDisabledError
from ..exit_codes import DONE, FAILED, NOT_ALLOWED
from ..verb import Call, Verb
from .authorizer_settings import authorizer_settings
from .rules import RuleFilter, bindings_of, rule_of
from .shapes import AccessRule, AccessVerdict

__all__ = ["CHECK", "Checked", "check_rights", "verdict_lines", "verdict_of"]

_NEAREST = 3
_CLUSTER = AclResourceType.CLUSTER


class Checked(NamedTuple):
    """A verdict, and the rules that nearly allow the operation."""

    judgement: Judgement
    nearest: tuple[AclBinding, ...] = ()


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
    explanation = checked.judgement.explanation
    return AccessVerdict(
        principal=question.principal,
        host=question.host,
        operation=question.operation.pascal_name,
        resource=f"{question.resource_type.pascal_name}/{question.name}",
        is_allowed=checked.judgement.allowed,
        reason=checked.judgement.reason,
        rule=None if explanation.binding is None else rule_of(explanation.binding),
        nearest=tuple(map(rule_of, checked.nearest)),
        doubts=checked.judgement.doubts,
    )


def check_rights(cluster: AdminCluster, question: AclQuestion) -> Checked:
    """The verdict by the rules of the cluster. Raises KafkaError."""
    try:
        bindings = bindings_of(cluster, [RuleFilter()])
    except SecurityDisabledError:
        return Checked(WITHOUT_ACLS)
    judgement = judged(question, bindings, authorizer_settings(cluster))
    if judgement.explanation.is_allowed:
        return Checked(judgement)
    nearest = sorted(bindings, key=lambda each: -_nearness(each, question))[:_NEAREST]
    return Checked(judgement, tuple(each for each in nearest if _nearness(each, question)))


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
    for each in verdict.doubts:
        yield f"  note      {each}"


def _word(is_allowed: bool | None) -> str:
    return "unknown" if is_allowed is None else "allowed" if is_allowed else "denied"


def _rule_text(rule: AccessRule) -> str:
    pattern = f"{rule.resource_type}/{rule.resource} ({rule.pattern.lower()})"
    return printable(f"{rule.permission} {rule.principal} {rule.operation} {pattern} from {rule.host}")


CHECK = Verb(
    "check", "say whether a user may do an operation, and which rule decides", _arguments, _run, row=AccessVerdict
)

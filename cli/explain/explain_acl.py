"""``pybroker explain acl -b HOST:PORT``: whether a user may do something, by the ACLs that the cluster tells."""

from collections.abc import Iterator
from dataclasses import replace

from ...base.command_parser import CommandParser
from ...base.printable import printable
from ...client.explained_acl import document_of
from ...views.explanations import AclExplanation
from ..acls.check_rights import check_rights, verdict_lines, verdict_of
from ..exit_codes import DONE, FAILED, NOT_ALLOWED
from ..verb import Call, Verb
from .acl_question import add_question_options, question_in

__all__ = ["ACL"]


def _run(call: Call) -> int:
    question = question_in(call.options)
    checked = check_rights(call.cluster, question)
    text = "\n".join(verdict_lines(verdict_of(question, checked), question.resource_type))
    view = replace(document_of(question, checked.judgement), text=text)
    call.output.documents([view], _lines, name=lambda each: each.decided_by)
    return FAILED if view.allowed is None else DONE if view.allowed else NOT_ALLOWED


def _arguments(parser: CommandParser) -> None:
    add_question_options(parser)


def _lines(view: AclExplanation) -> Iterator[str]:
    yield from map(printable, view.text.split("\n"))


ACL = Verb(
    "acl",
    "say whether a user may do something, by the cluster's ACLs, or with --config FILE by a broker's files",
    _arguments,
    _run,
    row=AclExplanation,
)

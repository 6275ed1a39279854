"""Answers whether a user may do something, by the authorizer that decides about requests."""

from ...base.acl_rules.authorizer import WITHOUT_AUTHORIZER
from ...base.acl_rules.question import QuestionError, read_question
from ...base.acls import AclResourceType
from ...views.explanations import AclExplanation, acl_explanation
from ...views.query import Query
from ..http.http_error import HttpError
from .known_state import KnownState
from .own_source import source_of

__all__ = ["explain_acl"]


def explain_acl(state: KnownState, query: Query) -> AclExplanation:
    """Return the verdict with the rule that decides. Raises HttpError for a question that makes no sense."""
    word = query.given_text
    kind = AclResourceType[word("resource-type")]
    try:
        question = read_question(word("user"), word("host"), word("operation"), kind, word("resource"))
    except QuestionError as error:
        raise HttpError(404, str(error)) from error
    access = state.access
    explanation = WITHOUT_AUTHORIZER if access is None else access.explain(question)
    return acl_explanation(source_of(state), question, explanation)

"""Why a user may do something, or may not: the verdict of the authorizer and the ACL that decides."""

from typing import Annotated

from ..base.acl_rules.authorizer import Explanation
from ..base.acl_rules.question import AclQuestion
from ..base.acls import AclBinding
from ..base.frozen import frozen
from .source import Source

__all__ = ["AclExplanation", "AclRule", "acl_explanation"]


@frozen(kw_only=True)
class AclRule:
    """One ACL. Names of operations and types are those of Kafka's protocol, such as DESCRIBE_CONFIGS."""

    principal: str
    host: Annotated[str, "* stands for every host"]
    operation: str
    permission: str
    resource_type: str
    resource: Annotated[str, "the name, or the beginning of the names for PREFIXED"]
    pattern_type: Annotated[str, "LITERAL or PREFIXED"]


@frozen(kw_only=True)
class AclExplanation:
    """Whether a principal may do an operation on a resource, and the rule that decides."""

    source: Source
    principal: str
    host: str
    operation: str
    resource_type: str
    resource: str
    allowed: Annotated[bool | None, "null in the console only: a setting decides that the cluster does not tell"]
    decided_by: Annotated[str, "NO_AUTHORIZER, SUPER_USER, NO_ACL, DENY, ALLOW or NO_ALLOW"]
    rule: Annotated[AclRule | None, "the ACL that decides; null unless one does"]
    text: Annotated[str, "the reason, as `pybroker explain acl` prints it"]


def acl_explanation(source: Source, question: AclQuestion, explanation: Explanation) -> AclExplanation:
    """Return the document of an explanation."""
    return AclExplanation(
        source=source,
        principal=question.principal,
        host=question.host,
        operation=question.operation.name,
        resource_type=question.resource_type.name,
        resource=question.name,
        allowed=explanation.is_allowed,
        decided_by=explanation.decided_by.name,
        rule=None if explanation.binding is None else _rule(explanation.binding),
        text=str(explanation),
    )


def _rule(binding: AclBinding) -> AclRule:
    pattern, entry = binding
    return AclRule(
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation.name,
        permission=entry.permission.name,
        resource_type=pattern.resource_type.name,
        resource=pattern.name,
        pattern_type=pattern.pattern_type.name,
    )

"""Decides as a broker's authorizer does, by the ACLs that Kafka's protocol tells, and names the rule that decides.

**Limits.** The protocol does not tell the values of ``super.users`` and ``allow.everyone.if.no.acl.found``, only
whether they are set. The explanation says so where such a value could change it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from ..base.acl_rules.acl_index import AclIndex
from ..base.acl_rules.authorizer import WITHOUT_AUTHORIZER, AclAuthorizer, DecidedBy
from ..base.acl_rules.question import AclQuestion
from ..base.acls import AclEntry, AclOperation, AclPermission, AclResourceType, PatternType, ResourcePattern
from ..protocol.errors import ErrorCode, error_for
from ..protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from ..views.explanations import AclExplanation, acl_explanation
from ..views.source import API_VERSION, Source

__all__ = ["Acls", "HiddenSettings", "acls_in", "acls_request", "explained_by", "explained_without_authorizer"]

_SUPER_USERS = "super.users"
_ALLOW_EVERYONE = "allow.everyone.if.no.acl.found"
_SOURCE = Source(api=API_VERSION, broker_id=None, cluster_id=None, time_ms=0)

Acls = dict[ResourcePattern, frozenset[AclEntry]]


class HiddenSettings(NamedTuple):
    """The settings of the authorizer whose values are not known."""

    super_users: bool
    allow_everyone: bool

    @classmethod
    def among(cls, names: Iterable[str]) -> HiddenSettings:
        """``names``: of the settings of a broker. Kafka and pybroker list both when they are set."""
        known = set(names)
        return cls(_SUPER_USERS in known, _ALLOW_EVERYONE in known)


def explained_by(question: AclQuestion, acls: Acls, hidden: HiddenSettings) -> AclExplanation:
    """The explanation by the ACLs that may apply to the resource. `allowed` is None when a hidden setting decides."""
    explanation = AclAuthorizer(AclIndex(acls)).explain(*question)
    view = acl_explanation(_SOURCE, question, explanation)
    if explanation.decided_by is DecidedBy.NO_ACL and hidden.allow_everyone:
        text = f"{explanation.decided_by.value}: the cluster does not tell its value"
        view = replace(view, allowed=None, text=text)
    if not explanation.is_allowed and hidden.super_users:
        text = f"{view.text}\n{_SUPER_USERS} may allow it all the same: the cluster does not tell its value"
        view = replace(view, text=text)
    return view


def explained_without_authorizer(question: AclQuestion) -> AclExplanation:
    """The explanation for a cluster without ACLs."""
    return acl_explanation(_SOURCE, question, WITHOUT_AUTHORIZER)


def acls_request(question: AclQuestion) -> DescribeAclsRequest:
    """Asks for the ACLs on the resource, on prefixes of its name and on all names."""
    return DescribeAclsRequest(
        resource_type_filter=question.resource_type,
        resource_name_filter=question.name,
        pattern_type_filter=PatternType.MATCH,
        principal_filter=None,
        host_filter=None,
        operation=AclOperation.ANY,
        permission_type=AclPermission.ANY,
    )


def acls_in(answer: DescribeAclsResponse) -> Acls | None:
    """The ACLs in the response; None: the cluster has no authorizer. Raises KafkaError."""
    if answer.error_code == ErrorCode.SECURITY_DISABLED:
        return None
    if answer.error_code:
        raise error_for(answer.error_code, f"the ACLs: {answer.error_message or error_for(answer.error_code)}")
    return {
        ResourcePattern(
            AclResourceType.of_code(each.resource_type), each.resource_name, PatternType.of_code(each.pattern_type)
        ): frozenset(
            AclEntry(
                rule.principal,
                rule.host,
                AclOperation.of_code(rule.operation),
                AclPermission.of_code(rule.permission_type),
            )
            for rule in each.acls
        )
        for each in answer.resources
    }

"""Decides as a broker's authorizer does, by the ACLs that Kafka's protocol tells, and names the rule that decides.

**Limits.** The protocol does not tell the values of ``super.users`` and ``allow.everyone.if.no.acl.found``, only
whether they are set. The explanation says so where such a value could change it.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, NamedTuple

from ...base.acl_rules.acl_index import AclIndex
from ...base.acl_rules.authorizer import WITHOUT_AUTHORIZER, AclAuthorizer, DecidedBy, Explanation
from ...base.acl_rules.question import AclQuestion
from ...base.acls import AclEntry, AclOperation, AclPermission, AclResourceType, PatternType, ResourcePattern
from ...client.asynchronous.cluster import AsyncCluster
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ...protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from ...views.explanations import acl_explanation
from ...views.source import API_VERSION, Source
from .setting_views import BROKER, settings_of

_SUPER_USERS = "super.users"
_ALLOW_EVERYONE = "allow.everyone.if.no.acl.found"

Acls = dict[ResourcePattern, frozenset[AclEntry]]


class HiddenSettings(NamedTuple):
    """The settings of the authorizer whose values are not known."""

    super_users: bool
    allow_everyone: bool


async def explained_acl(cluster: AsyncCluster, question: AclQuestion) -> dict[str, Any]:
    """The explanation. Raises KafkaError when the principal of the session may not see ACLs."""
    acls = await _acls_of(cluster, question)
    if acls is None:
        return _document(question, WITHOUT_AUTHORIZER)
    return explained_by(question, acls, await _hidden_settings(cluster))


def explained_by(question: AclQuestion, acls: Acls, hidden: HiddenSettings) -> dict[str, Any]:
    """The explanation by the ACLs that may apply to the resource. `allowed` is None when a hidden setting decides."""
    explanation = AclAuthorizer(AclIndex(acls)).explain(*question)
    document = _document(question, explanation)
    if explanation.decided_by is DecidedBy.NO_ACL and hidden.allow_everyone:
        document["allowed"] = None
        document["text"] = f"{explanation.decided_by.value}: the cluster does not tell its value"
    if not explanation.is_allowed and hidden.super_users:
        document["text"] += f"\n{_SUPER_USERS} may allow it all the same: the cluster does not tell its value"
    return document


def _document(question: AclQuestion, explanation: Explanation) -> dict[str, Any]:
    return asdict(acl_explanation(Source(api=API_VERSION, broker_id=None, time_ms=0), question, explanation))


async def _acls_of(cluster: AsyncCluster, question: AclQuestion) -> Acls | None:
    """The ACLs on the resource, on prefixes of its name and on all names; None: the cluster has no authorizer."""
    answer: DescribeAclsResponse = await cluster.ask_any(
        DescribeAclsRequest(
            resource_type_filter=question.resource_type,
            resource_name_filter=question.name,
            pattern_type_filter=PatternType.MATCH,
            principal_filter=None,
            host_filter=None,
            operation=AclOperation.ANY,
            permission_type=AclPermission.ANY,
        )
    )
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


async def _hidden_settings(cluster: AsyncCluster) -> HiddenSettings:
    """Kafka and pybroker list both settings when they are set, without their values."""
    metadata = await cluster.metadata([])
    try:
        settings = await settings_of(cluster, BROKER, str(metadata.brokers[0].node_id))
    except (KafkaError, IndexError):
        return HiddenSettings(True, True)
    names = {each["name"] for each in settings}
    return HiddenSettings(_SUPER_USERS in names, _ALLOW_EVERYONE in names)

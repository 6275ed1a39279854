"""Access rules of a cluster: reads them, and turns them into rows."""

from collections.abc import Iterable
from typing import NamedTuple

from ...base.acls import AclBinding, AclOperation, AclPermission, AclResourceType, PatternType
from ...client.acl_messages import bindings_in
from ...client.admin_cluster import AdminCluster
from ...protocol.messages.describe_acls import DescribeAclsRequest
from ..output.columns import Column
from .shapes import AccessRule

__all__ = ["RULE_COLUMNS", "RuleFilter", "bindings_of", "resource_text", "rule_of"]

RULE_COLUMNS = (
    Column("RESOURCE", lambda row: resource_text(row)),
    Column("PATTERN", lambda row: row.pattern),
    Column("PRINCIPAL", lambda row: row.principal),
    Column("HOST", lambda row: row.host),
    Column("OPERATION", lambda row: row.operation),
    Column("PERMISSION", lambda row: row.permission),
)


class RuleFilter(NamedTuple):
    """Which rules are meant; None and ANY: all."""

    resource_type: AclResourceType = AclResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission: AclPermission = AclPermission.ANY


def bindings_of(
    cluster: AdminCluster, filters: Iterable[RuleFilter], failure: str = "rules cannot be listed"
) -> list[AclBinding]:
    """The rules that at least one filter matches, sorted. Raises KafkaError, as `bindings_in`."""
    found: set[AclBinding] = set()
    for each in filters:
        request = DescribeAclsRequest(
            resource_type_filter=each.resource_type,
            resource_name_filter=each.name,
            pattern_type_filter=each.pattern_type,
            principal_filter=each.principal,
            host_filter=each.host,
            operation=each.operation,
            permission_type=each.permission,
        )
        found.update(bindings_in(cluster.ask_any(request), failure))
    return sorted(found)


def rule_of(binding: AclBinding) -> AccessRule:
    """The row of a rule."""
    pattern, entry = binding
    return AccessRule(
        resource_type=pattern.resource_type.pascal_name,
        resource=pattern.name,
        pattern=pattern.pattern_type.name,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation.pascal_name,
        permission=entry.permission.name,
    )


def resource_text(rule: AccessRule) -> str:
    """The resource as people read it, such as Topic/orders or Topic/billing-*."""
    return f"{rule.resource_type}/{rule.resource}{'*' if rule.pattern == PatternType.PREFIXED.name else ''}"

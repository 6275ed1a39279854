"""The ACLs and filters of the messages CreateAcls, DescribeAcls and DeleteAcls as objects."""

from ....base.acls import (
    CLUSTER_NAME,
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from ....controller.tree.acl_nodes import is_storable
from ....protocol.errors import InvalidRequestError
from ....protocol.messages.create_acls import AclCreation
from ....protocol.messages.delete_acls import DeleteAclsFilter
from ....protocol.messages.describe_acls import DescribeAclsRequest
from ...requests.context import CloseConnectionError
from ...security.acl.acl_filters import AclFilter, EntryFilter, PatternFilter

__all__ = ["check_codes", "created_binding", "wanted_acls"]

_UNKNOWN = 0


def created_binding(creation: AclCreation) -> AclBinding:
    """The ACL to be created. Raises InvalidRequestError for an ACL that cannot be stored."""
    pattern = ResourcePattern(
        AclResourceType.of_code(creation.resource_type),
        creation.resource_name,
        PatternType.of_code(creation.resource_pattern_type),
    )
    entry = AclEntry(
        creation.principal,
        creation.host,
        AclOperation.of_code(creation.operation),
        AclPermission.of_code(creation.permission_type),
    )
    if pattern.resource_type is AclResourceType.CLUSTER and pattern.name != CLUSTER_NAME:
        raise InvalidRequestError(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not pattern.name:
        raise InvalidRequestError("Invalid empty resource name")
    if not _is_concrete(pattern, entry) or not is_storable(pattern.name) or ":" not in entry.principal:
        raise InvalidRequestError("Failed to create ACL")
    return AclBinding(pattern, entry)


def _is_concrete(pattern: ResourcePattern, entry: AclEntry) -> bool:
    """Whether no part is unknown or only for filters."""
    return (
        pattern.resource_type > AclResourceType.ANY
        and pattern.pattern_type in (PatternType.LITERAL, PatternType.PREFIXED)
        and entry.operation > AclOperation.ANY
        and entry.permission in (AclPermission.ALLOW, AclPermission.DENY)
    )


def wanted_acls(wanted: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    """The filter. A code that is unknown to this version of Kafka matches nothing that clients can create."""
    return AclFilter(
        PatternFilter(
            AclResourceType.of_code(wanted.resource_type_filter),
            wanted.resource_name_filter,
            PatternType.of_code(wanted.pattern_type_filter),
        ),
        EntryFilter(
            wanted.principal_filter,
            wanted.host_filter,
            AclOperation.of_code(wanted.operation),
            AclPermission.of_code(wanted.permission_type),
        ),
    )


def check_codes(*codes: int) -> None:
    """Raises CloseConnectionError for the code UNKNOWN: no client means it, and Kafka cannot decode such a request."""
    if _UNKNOWN in codes:
        raise CloseConnectionError("an ACL or filter of the request has a field of the type UNKNOWN")

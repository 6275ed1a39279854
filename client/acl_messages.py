"""ACLs as Kafka's protocol tells them."""

from __future__ import annotations

from ..base.acl_rules.question import AclQuestion
from ..base.acls import (
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from ..protocol.messages.create_acls import AclCreation
from ..protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from .response_error import response_error

__all__ = ["acl_creation", "acls_request", "bindings_in"]


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


def acl_creation(pattern: ResourcePattern, entry: AclEntry) -> AclCreation:
    """An ACL to be created."""
    return AclCreation(
        resource_type=pattern.resource_type,
        resource_name=pattern.name,
        resource_pattern_type=pattern.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission,
    )


def bindings_in(response: DescribeAclsResponse, failure: str = "the ACLs") -> list[AclBinding]:
    """The ACLs in the response. Raises KafkaError, whose text begins with `failure` and a colon, unless that is empty.

    The error of a cluster without an authorizer is SecurityDisabledError.
    """
    if response.error_code:
        raise response_error(response, failure)
    return [
        AclBinding(
            ResourcePattern(
                AclResourceType.of_code(resource.resource_type),
                resource.resource_name,
                PatternType.of_code(resource.pattern_type),
            ),
            AclEntry(
                acl.principal,
                acl.host,
                AclOperation.of_code(acl.operation),
                AclPermission.of_code(acl.permission_type),
            ),
        )
        for resource in response.resources
        for acl in resource.acls
    ]

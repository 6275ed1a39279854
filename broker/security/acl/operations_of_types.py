"""The operations that exist for each resource type, and which of them a principal may do, as bits (KIP-430)."""

from collections.abc import Mapping

from ....base.acls import AclOperation, ResourceType
from .authorizer import Authorizer

__all__ = ["OPERATIONS_OF_TYPES", "allowed_operations"]

OPERATIONS_OF_TYPES: Mapping[ResourceType, tuple[AclOperation, ...]] = {
    ResourceType.TOPIC: (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (AclOperation.READ, AclOperation.DELETE, AclOperation.DESCRIBE),
    ResourceType.CLUSTER: (
        AclOperation.CREATE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE,
    ),
    ResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE, AclOperation.DESCRIBE),
    ResourceType.DELEGATION_TOKEN: (AclOperation.DESCRIBE,),
    ResourceType.USER: (AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS),
}


def allowed_operations(
    authorizer: Authorizer, principal: object, host: str, resource_type: ResourceType, name: str
) -> int:
    """The bits of the operations that the principal may do with the resource."""
    return sum(
        1 << operation
        for operation in OPERATIONS_OF_TYPES[resource_type]
        if authorizer.may(principal, host, operation, resource_type, name)
    )

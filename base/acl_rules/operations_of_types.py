"""The operations that exist for each resource type: those of Kafka 3.9, and Kafka 4's for settings of groups."""

from collections.abc import Mapping

from ..acls import AclOperation, AclResourceType

__all__ = ["OPERATIONS_OF_TYPES", "OPERATIONS_ON_GROUP_SETTINGS", "exists_for"]

OPERATIONS_ON_GROUP_SETTINGS = (AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)
"""Operations on groups where the consumer protocol is served (KIP-848)."""

OPERATIONS_OF_TYPES: Mapping[AclResourceType, tuple[AclOperation, ...]] = {
    AclResourceType.TOPIC: (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    AclResourceType.GROUP: (AclOperation.READ, AclOperation.DELETE, AclOperation.DESCRIBE),
    AclResourceType.CLUSTER: (
        AclOperation.CREATE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE,
    ),
    AclResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE, AclOperation.DESCRIBE),
    AclResourceType.DELEGATION_TOKEN: (AclOperation.DESCRIBE,),
    AclResourceType.USER: (AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS),
}


def exists_for(resource_type: AclResourceType, operation: AclOperation) -> bool:
    """Whether a right to do the operation with a resource of the type makes sense."""
    is_on_group = resource_type is AclResourceType.GROUP and operation in OPERATIONS_ON_GROUP_SETTINGS
    return is_on_group or operation in OPERATIONS_OF_TYPES.get(resource_type, ())

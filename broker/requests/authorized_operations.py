"""The operations that a client may do with a resource, as a set of bits (KIP-430)."""

from ..security.operations import AclOperation, AclResourceType

__all__ = ["ALL_OPERATIONS", "NOT_ASKED", "SUPPORTED_OPERATIONS", "operation_bits"]

NOT_ASKED = -(2**31)

SUPPORTED_OPERATIONS = {
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
}
"""The operations that exist for a resource of the type, and are answered to clients that ask."""


def operation_bits(*operations: AclOperation) -> int:
    return sum(1 << operation for operation in operations)


ALL_OPERATIONS = {kind: operation_bits(*operations) for kind, operations in SUPPORTED_OPERATIONS.items()}

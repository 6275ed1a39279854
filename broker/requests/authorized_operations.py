"""The operations that a client may do with a resource, as a set of bits (KIP-430). Without an authorizer: all."""

from enum import IntEnum

__all__ = ["ALL_CLUSTER_OPERATIONS", "ALL_TOPIC_OPERATIONS", "NOT_ASKED", "AclOperation", "operation_bits"]

NOT_ASKED = -(2**31)


class AclOperation(IntEnum):
    """Kafka's numbers of the operations."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


def operation_bits(*operations: AclOperation) -> int:
    return sum(1 << operation for operation in operations)


ALL_TOPIC_OPERATIONS = operation_bits(
    AclOperation.READ,
    AclOperation.WRITE,
    AclOperation.CREATE,
    AclOperation.DELETE,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
)
ALL_CLUSTER_OPERATIONS = operation_bits(
    AclOperation.CREATE,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.CLUSTER_ACTION,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
    AclOperation.IDEMPOTENT_WRITE,
)

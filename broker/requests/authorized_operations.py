"""The operations that a client may do with a resource, as a set of bits (KIP-430)."""

from ...base.acl_rules.operations_of_types import OPERATIONS_OF_TYPES
from ...base.acls import AclOperation

__all__ = ["ALL_OPERATIONS", "NOT_ASKED", "operation_bits"]

NOT_ASKED = -(2**31)


def operation_bits(*operations: AclOperation) -> int:
    return sum(1 << operation for operation in operations)


ALL_OPERATIONS = {kind: operation_bits(*operations) for kind, operations in OPERATIONS_OF_TYPES.items()}

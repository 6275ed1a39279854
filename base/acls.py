"""Kafka's ACLs as data: operations, resource types, resource patterns and the entries on them (KIP-11, KIP-290).

The numbers of the enumerations are those of the protocol. Unknown numbers and names become `UNKNOWN`, as in Kafka: such
an entry is kept but matches no request.
"""

from enum import IntEnum
from typing import NamedTuple, Self

__all__ = [
    "CLUSTER_NAME",
    "CONCRETE_OPERATIONS",
    "CONCRETE_RESOURCE_TYPES",
    "EVERY_HOST",
    "EVERY_PRINCIPAL",
    "EVERY_RESOURCE",
    "AclBinding",
    "AclEntry",
    "AclOperation",
    "AclPermission",
    "AclResourceType",
    "PatternType",
    "ResourcePattern",
]

EVERY_PRINCIPAL = "User:*"
EVERY_HOST = "*"
EVERY_RESOURCE = "*"
"""The literal name of the pattern that matches all resources of its type."""
CLUSTER_NAME = "kafka-cluster"
"""The name of the only resource of type `AclResourceType.CLUSTER`."""


class _Coded(IntEnum):
    """A protocol enumeration that also has names in PascalCase, as in ZooKeeper's nodes and in Kafka's log."""

    @classmethod
    def of_code(cls, code: int) -> Self:
        return cls._value2member_map_.get(code, cls(0))  # type: ignore[return-value]

    @classmethod
    def of_name(cls, name: str) -> Self:
        """The member of a name like ``DescribeConfigs``, in upper or lower case too (Kafka's SecurityUtils)."""
        wanted = name.upper()
        return next((member for member in cls if member.pascal_name.upper() == wanted), cls(0))

    @property
    def pascal_name(self) -> str:
        return "".join(part.capitalize() for part in self.name.split("_"))


class AclResourceType(_Coded):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(_Coded):
    """``ANY`` and ``MATCH`` are for filters only."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(_Coded):
    """``ANY`` is for filters only; ``ALL`` in an entry means each of `CONCRETE_OPERATIONS`."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
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
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14


class AclPermission(_Coded):
    """Kafka's AclPermissionType. ``ANY`` is for filters only."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


CONCRETE_OPERATIONS = tuple(operation for operation in AclOperation if operation > AclOperation.ALL)
CONCRETE_RESOURCE_TYPES = tuple(kind for kind in AclResourceType if kind > AclResourceType.ANY)


class ResourcePattern(NamedTuple):
    """The resources of a type that have this name, or whose names begin with it."""

    resource_type: AclResourceType
    name: str
    pattern_type: PatternType

    def __str__(self) -> str:
        return f"{self.resource_type.pascal_name}:{self.pattern_type.name}:{self.name}"

    def matches(self, name: str) -> bool:
        """Whether it applies to the resource ``name`` of its type."""
        if self.pattern_type is PatternType.PREFIXED:
            return name.startswith(self.name)
        return self.name in (name, EVERY_RESOURCE)


class AclEntry(NamedTuple):
    """A rule: a principal (``Type:name``) may or may not do an operation from a host (Kafka's AccessControlEntry)."""

    principal: str
    host: str
    operation: AclOperation
    permission: AclPermission

    def __str__(self) -> str:
        verdict = "may" if self.permission is AclPermission.ALLOW else "may not"
        if self.permission is AclPermission.UNKNOWN:
            verdict = "(unknown permission)"
        return f"{self.principal} {verdict} {self.operation.pascal_name} from host {self.host}"


class AclBinding(NamedTuple):
    """One rule: an entry on a pattern."""

    pattern: ResourcePattern
    entry: AclEntry

    def __str__(self) -> str:
        return f"{self.entry} on {self.pattern}"

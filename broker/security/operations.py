"""The operations and the types of resources that rights are about, with Kafka's numbers."""

from enum import IntEnum

__all__ = ["CLUSTER_NAME", "AclOperation", "AclResourceType"]

CLUSTER_NAME = "kafka-cluster"
"""The name of the one resource of type CLUSTER."""


class AclOperation(IntEnum):
    """Kafka's ``AclOperation``, without those that only ACLs and their filters have."""

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


class AclResourceType(IntEnum):
    """Kafka's ``ResourceType``."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7

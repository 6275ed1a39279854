"""The error that tells a client that it lacks a right, by the type of the resource."""

from ...base.acls import AclResourceType
from ...protocol.errors import (
    ClusterAuthorizationError,
    DelegationTokenAuthorizationError,
    ErrorCode,
    GroupAuthorizationError,
    KafkaError,
    TopicAuthorizationError,
    TransactionalIdAuthorizationError,
)

__all__ = ["TOPIC_DENIED", "denial"]

TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_ERRORS: dict[AclResourceType, type[KafkaError]] = {
    AclResourceType.TOPIC: TopicAuthorizationError,
    AclResourceType.GROUP: GroupAuthorizationError,
    AclResourceType.CLUSTER: ClusterAuthorizationError,
    AclResourceType.TRANSACTIONAL_ID: TransactionalIdAuthorizationError,
    AclResourceType.DELEGATION_TOKEN: DelegationTokenAuthorizationError,
    AclResourceType.USER: DelegationTokenAuthorizationError,
}


def denial(resource_type: AclResourceType) -> KafkaError:
    return _ERRORS[resource_type]()

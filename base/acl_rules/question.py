"""A question to the authorizer, read from the words of a person: the command, `/v1` and the console ask alike."""

from typing import NamedTuple

from ..acls import CLUSTER_NAME, AclOperation, AclResourceType
from .host_text import host_text
from .operations_of_types import OPERATIONS_OF_TYPES, exists_for

__all__ = ["OPTIONS_OF_TYPES", "RESOURCE_FORMS", "AclQuestion", "QuestionError", "read_question", "read_resource"]

OPTIONS_OF_TYPES = {
    AclResourceType.TOPIC: "topic",
    AclResourceType.GROUP: "group",
    AclResourceType.TRANSACTIONAL_ID: "transactional-id",
    AclResourceType.DELEGATION_TOKEN: "delegation-token",
    AclResourceType.USER: "user-principal",
    AclResourceType.CLUSTER: "cluster",
}
"""The options of ``kafka-acls`` that name a resource, and those of ``pybroker explain acl``."""
_TYPES = {option: kind for kind, option in OPTIONS_OF_TYPES.items()}
_CLUSTER = OPTIONS_OF_TYPES[AclResourceType.CLUSTER]
RESOURCE_FORMS = ", ".join(f"{option}/NAME" for option in _TYPES if option != _CLUSTER) + f" or {_CLUSTER}"
"""The texts that name a resource."""
_USER = "User:"


class QuestionError(Exception):
    """The question makes no sense. One line."""


class AclQuestion(NamedTuple):
    """May ``principal`` (``User:alice``) do ``operation`` on the resource, from ``host``?"""

    principal: str
    host: str
    operation: AclOperation
    resource_type: AclResourceType
    name: str


def read_resource(text: str) -> tuple[AclResourceType, str]:
    """The type and the name of a resource, such as topic/orders or cluster. Raises QuestionError."""
    if text == _CLUSTER:
        return AclResourceType.CLUSTER, CLUSTER_NAME
    word, _, name = text.partition("/")
    if word not in _TYPES or not name:
        raise QuestionError(f"{text}: must be {RESOURCE_FORMS}")
    return _TYPES[word], name


def read_question(user: str, host: str, operation: str, resource_type: AclResourceType, name: str) -> AclQuestion:
    """Return the question. ``user``: as alice or User:alice. ``operation``: as Read, READ or describe-configs.

    ``host`` ``*`` stands for an address that no rule names. Raises QuestionError for an operation that the type of
    resource does not have, and for a name that no resource has.
    """
    wanted = AclOperation.of_name(operation.replace("-", "").replace("_", ""))
    if wanted is None or not exists_for(resource_type, wanted):
        known = OPERATIONS_OF_TYPES.get(resource_type, ())
        names = ", ".join(each.pascal_name for each in known)
        raise QuestionError(f"operation {operation}: operations on a {resource_type.pascal_name}: {names}")
    if resource_type is AclResourceType.CLUSTER and name != CLUSTER_NAME:
        raise QuestionError(f"the only resource of type Cluster is {CLUSTER_NAME}")
    if not name:
        raise QuestionError(f"the name of the {resource_type.pascal_name} is missing")
    principal = user if user.startswith(_USER) else f"{_USER}{user}"
    return AclQuestion(principal, host_text(host), wanted, resource_type, name)

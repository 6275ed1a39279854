"""The rights that ConsumerGroupDescribe and ShareGroupDescribe check: of each group, and of the topics of its members.

Behaviour: a group with a topic that the client may not describe gets an error, without its members.
"""

from collections.abc import Callable, Collection
from typing import Protocol, TypeVar

from ....base.acl_rules.operations_of_types import OPERATIONS_ON_GROUP_SETTINGS
from ....base.acls import AclOperation, AclResourceType
from ....protocol.errors import ErrorCode, KafkaError, TopicAuthorizationError
from ...requests.authorized_operations import NOT_ASKED
from ...requests.context import RequestContext
from ...requests.duplicate_names import has_many_duplicates

__all__ = ["visible_groups"]


class _AskedGroups(Protocol):
    """A request of either API."""

    group_ids: list[str]
    include_authorized_operations: bool


AnswerT = TypeVar("AnswerT")
GroupT = TypeVar("GroupT")


def visible_groups(
    context: RequestContext,
    request: _AskedGroups,
    describe: Callable[[str], GroupT],
    topics_of: Callable[[GroupT], Collection[str]],
    form: Callable[[GroupT, int], AnswerT],
    refusal: Callable[..., AnswerT],
) -> list[AnswerT]:
    """The groups of the response. ``describe`` raises KafkaError when there is no such group.

    ``topics_of``: those that the members of a group have. ``form`` gets a group and the operations on it that the
    client may do. ``refusal`` makes the group of a response from its id, error code and message.
    """

    def described(group_id: str) -> AnswerT:
        if not context.may(AclOperation.DESCRIBE, AclResourceType.GROUP, group_id):
            return refusal(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        try:
            group = describe(group_id)
            if context.denied(AclOperation.DESCRIBE, AclResourceType.TOPIC, topics_of(group)):
                raise TopicAuthorizationError(
                    "The group has described topic(s) that the client is not authorized to describe."
                )
        except KafkaError as error:
            return refusal(group_id=group_id, error_code=error.code, error_message=error.message)
        operations = NOT_ASKED
        if request.include_authorized_operations:
            operations = context.operation_bits(AclResourceType.GROUP, group_id, OPERATIONS_ON_GROUP_SETTINGS)
        return form(group, operations)

    names = request.group_ids
    return list(map(described, dict.fromkeys(names) if has_many_duplicates(names) else names))

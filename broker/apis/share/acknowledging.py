"""Checks the acknowledgements of a request, passes them on to share partitions, and waits until they are stored."""

from collections.abc import Callable, Iterable, Mapping, Set
from functools import partial
from typing import NamedTuple, Protocol

from ....base.acls import AclOperation, AclResourceType
from ....base.topic_partition import TopicPartition
from ....protocol.errors import (
    InvalidRequestError,
    KafkaError,
    TopicAuthorizationError,
    UnknownTopicIdError,
)
from ...coordinator.share.ports import SharePartitionKey
from ...requests.context import RequestContext
from ...share.acknowledgements import Acknowledgement, check_acknowledgements
from ...share.sessions import MemberKey, SessionPartition
from ...share.share_partitions import SharePartitions
from ..records.fetch import TopicNames

__all__ = ["AcknowledgeErrors", "Acknowledging", "member_key"]

AcknowledgeErrors = Mapping[SessionPartition, KafkaError | None]
_LONGEST_MEMBER_ID = 36


class Batch(Protocol):
    """AcknowledgementBatch of both APIs."""

    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


class Member(NamedTuple):
    key: MemberKey
    knows_renew: bool
    """The version of its request has renewed locks."""
    may_renew: bool


def member_key(context: RequestContext, group_id: str | None, member_id: str | None) -> MemberKey:
    """Raises GroupAuthorizationError, or InvalidRequestError for an impossible member id."""
    context.require(AclOperation.READ, AclResourceType.GROUP, group_id or "")
    if not member_id or len(member_id) > _LONGEST_MEMBER_ID:
        raise InvalidRequestError("the member id is empty or too long")
    return MemberKey(group_id or "", member_id)


class Acknowledging:
    """The acknowledgements of one request. ``done`` is called when those of all partitions are stored or refused."""

    def __init__(
        self,
        shares: SharePartitions,
        names: TopicNames,
        member: Member,
        denied: Set[str],
        done: Callable[[AcknowledgeErrors], None],
    ) -> None:
        self._shares = shares
        self._names = names
        self._member = member
        self._denied = denied
        self._done = done
        self._errors: dict[SessionPartition, KafkaError | None] = {}
        self._under_way = 1
        """The partitions whose acknowledgements are being stored, and the request until `all_passed_on`."""

    def pass_on(self, partition: SessionPartition, batches: Iterable[Batch]) -> None:
        """Apply the acknowledgements of a partition. A partition that the request names twice counts once."""
        if partition in self._errors:
            return
        self._errors[partition] = None
        said = [Acknowledgement(each.first_offset, each.last_offset, each.acknowledge_types) for each in batches]
        group_id, member_id = self._member.key
        try:
            topic = self._checked(partition, said)
        except KafkaError as error:
            self._errors[partition] = error
            return
        if said:
            self._under_way += 1
            self._shares.acknowledge(
                SharePartitionKey(group_id, *partition),
                TopicPartition(topic, partition.partition),
                member_id,
                said,
                partial(self._stored, partition),
            )

    def all_passed_on(self) -> None:
        """There is nothing more to acknowledge."""
        self._one_finished()

    def _checked(self, partition: SessionPartition, said: list[Acknowledgement]) -> str:
        """The name of the topic; raises KafkaError."""
        topic = self._names.topic_name(partition.topic_id)
        if topic is None:
            raise UnknownTopicIdError()
        max_types = 2 * self._shares.settings_of(self._member.key.group_id).max_locks
        check_acknowledgements(
            said, knows_renew=self._member.knows_renew, may_renew=self._member.may_renew, max_types=max_types
        )
        if topic in self._denied:
            raise TopicAuthorizationError()
        return topic

    def _stored(self, partition: SessionPartition, error: KafkaError | None) -> None:
        self._errors[partition] = error
        self._one_finished()

    def _one_finished(self) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._done(self._errors)

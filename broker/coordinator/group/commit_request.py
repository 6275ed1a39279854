"""A request to commit offsets of a group, as the coordinator's rules see it."""

from collections.abc import Mapping

from ....base.frozen import frozen
from ....base.topic_partition import TopicPartition
from .offsets import OffsetAndMetadata
from .results import NO_GENERATION, UNKNOWN_MEMBER_ID

__all__ = ["CommitRequest"]


@frozen
class CommitRequest:
    """An OffsetCommit. Generation −1 without a member id: a client that stores offsets but is no group member.

    ``knows_epochs``: the version of the request has member epochs (KIP-848).
    """

    group_id: str
    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    member_id: str = UNKNOWN_MEMBER_ID
    group_instance_id: str | None = None
    generation_id: int = NO_GENERATION
    knows_epochs: bool = True

"""The part of a group that APIs of older group types see, when the group has no committed offsets."""

from collections.abc import Sequence

from .....base.topic_partition import TopicPartition
from .....protocol.errors import ErrorCode
from ..commit_request import CommitRequest
from ..modern.group import ModernGroup

__all__ = ["GroupWithoutOffsets"]


class GroupWithoutOffsets(ModernGroup):
    """To APIs about offsets, and to DescribeGroups, the group does not exist. It stays until it is deleted."""

    __slots__ = ()

    @property
    def gives_way(self) -> bool:
        return False

    @property
    def is_finished(self) -> bool:
        return False

    def refuses_commit(self, request: CommitRequest, *, is_transactional: bool) -> ErrorCode:
        return ErrorCode.GROUP_ID_NOT_FOUND

    def refuses_deletion_of_offsets(self) -> ErrorCode:
        return ErrorCode.GROUP_ID_NOT_FOUND

    def expired_offsets(self, now_ms: int, retention_ms: int) -> Sequence[TopicPartition]:
        return ()

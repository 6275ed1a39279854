"""Finds the share group of a request, or begins a new one."""

import logging
from collections.abc import Callable, Iterator

from .....base.quiet_lines import QUIET
from .....protocol.errors import ErrorCode, GroupIdNotFoundError, error_for
from ..memory import group_bytes
from ..modern.space import no_space_error
from ..registry import GroupRegistry
from .heartbeat import JOIN_EPOCH, ShareHeartbeat
from .memory import metadata_bytes
from .records import MemberMetadata
from .share_group import ShareGroup

__all__ = ["ShareGroupLookup"]

logger = logging.getLogger(__name__)


class ShareGroupLookup:
    """``now_ms``: the wall clock."""

    def __init__(self, registry: GroupRegistry, now_ms: Callable[[], int]) -> None:
        self._registry = registry
        self._now_ms = now_ms

    def known(self, group_id: str) -> ShareGroup | None:
        """The group, if it is in memory and a share group."""
        group = self._registry.get(group_id)
        return group if isinstance(group, ShareGroup) else None

    def groups(self) -> Iterator[ShareGroup]:
        """The share groups in memory."""
        return (group for group in self._registry.groups() if isinstance(group, ShareGroup))

    def get(self, group_id: str) -> ShareGroup:
        """The group, if this broker coordinates it. Raises KafkaError."""
        self.check(group_id)
        group = self.known(group_id)
        if group is None:
            raise self._not_found(group_id)
        return group

    def get_or_new(self, group_id: str) -> ShareGroup:
        """The group, or a new one, which is not in the registry yet. Raises KafkaError."""
        self.check(group_id)
        if self._registry.get(group_id) is not None:
            return self.get(group_id)
        self._check_space(group_id, group_bytes(group_id))
        return ShareGroup(group_id)

    def of(self, request: ShareHeartbeat) -> ShareGroup:
        """The group of a heartbeat; a new one for a member that joins an unknown group. Raises KafkaError."""
        group = self.known(request.group_id)
        is_new = group is None and request.member_epoch == JOIN_EPOCH
        if group is None and not is_new:
            raise self._not_found(request.group_id)
        if request.names is not None and request.member_epoch >= JOIN_EPOCH:
            self._check_space(request.group_id, metadata_bytes(request.updated(MemberMetadata(request.member_id))))
        return self.get_or_new(request.group_id) if group is None else group

    def check(self, group_id: str) -> None:
        """Raises KafkaError when this broker does not coordinate the group."""
        error = self._registry.check(group_id)
        if error is not ErrorCode.NONE:
            raise error_for(error)

    def _check_space(self, group_id: str, size_bytes: int) -> None:
        if not self._registry.has_space_for(size_bytes, self._now_ms()):
            logger.warning("group %s: no space, pybroker.groups.max.bytes is reached", group_id, extra=QUIET)
            raise no_space_error()

    def _not_found(self, group_id: str) -> GroupIdNotFoundError:
        reason = "not found" if self._registry.get(group_id) is None else "is not a share group"
        return GroupIdNotFoundError(f"Group {group_id} {reason}.")

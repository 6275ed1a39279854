"""Whether the memory for groups suffices for what a group is about to get (limit: ``pybroker.groups.max.bytes``)."""

import logging
from collections.abc import Callable

from .....base.quiet_lines import QUIET
from .....protocol.errors import GroupMaxSizeReachedError
from ..registry import GroupRegistry

__all__ = ["GroupSpace", "no_space_error"]

logger = logging.getLogger(__name__)

_SMALL_TARGET_BYTES = 1_200_000
"""More than a target takes that is computed within a heartbeat, with the assignments of the members."""


def no_space_error() -> GroupMaxSizeReachedError:
    return GroupMaxSizeReachedError("The memory for groups is used up (pybroker.groups.max.bytes).")


class GroupSpace:
    """``now_ms``: the wall clock."""

    def __init__(self, registry: GroupRegistry, now_ms: Callable[[], int]) -> None:
        self._registry = registry
        self._now_ms = now_ms

    @property
    def may_be_short(self) -> bool:
        """Whether the memory may not suffice for the target of a small group."""
        return not self._registry.memory.has_space_for(_SMALL_TARGET_BYTES)

    def allows(self, group_id: str, growth_bytes: int) -> bool:
        """Whether the group may take so much more memory. Taking less is always allowed."""
        if growth_bytes <= 0 or self._registry.has_space_for(growth_bytes, self._now_ms()):
            return True
        logger.warning("group %s: partitions not assigned, pybroker.groups.max.bytes is reached", group_id, extra=QUIET)
        return False

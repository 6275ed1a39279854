"""Computes the target assignments of large groups, outside of requests."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from functools import partial
from typing import Generic, TypeVar

from .....base.timers import Scheduler
from .assignors.assignor import Assigned
from .group import ModernGroup
from .turns import TurnsOf

__all__ = ["TargetRunsOf"]

logger = logging.getLogger(__name__)

G = TypeVar("G", bound=ModernGroup)


class TargetRunsOf(ABC, Generic[G]):
    """One computation a group at a time. ``computed`` gets each result; it counts while the group has the epoch.

    A group that changes meanwhile gets a new computation.
    """

    def __init__(self, scheduler: Scheduler, computed: Callable[[G, Assigned], None]) -> None:
        self._scheduler = scheduler
        self._computed = computed
        self._running: dict[str, TurnsOf[Assigned]] = {}
        self._failed: dict[str, int] = {}
        """By group id, the epoch for which no target could be computed."""

    @abstractmethod
    def _assignor_name(self, group: G) -> str: ...

    @abstractmethod
    def _steps(self, group: G) -> Generator[None, None, Assigned]:
        """Compute the target of the group's epoch in short steps."""

    def maybe_begin(self, group: G) -> None:
        """Compute the target of a group that has none for its epoch."""
        group_id, epoch = group.group_id, group.epoch
        is_due = epoch > group.target_epoch and group.members and self._failed.get(group_id) != epoch
        if not is_due or group.is_dead or group_id in self._running:
            return
        self._failed.pop(group_id, None)
        self._running[group_id] = TurnsOf(
            self._scheduler,
            self._steps(group),
            partial(self._end, group, epoch),
            partial(self._fail, group, epoch, self._assignor_name(group)),
        )

    def is_late(self, group: G) -> bool:
        """Whether the target of the group's epoch is being computed, or cannot be."""
        return group.group_id in self._running or self._failed.get(group.group_id) == group.epoch

    def end(self, group: G) -> None:
        """The group was deleted, or is coordinated by another broker."""
        self._failed.pop(group.group_id, None)
        running = self._running.pop(group.group_id, None)
        if running is not None:
            running.cancel()

    def give_up(self, group: G) -> None:
        """The target of the group's epoch cannot be stored: compute none until the group changes."""
        self._failed[group.group_id] = group.epoch

    def _end(self, group: G, epoch: int, result: Assigned) -> None:
        del self._running[group.group_id]
        # A static member that returns under another member id leaves the epoch as it is.
        if group.epoch == epoch and group.members.keys() == result.keys():
            self._computed(group, result)
        else:
            self.maybe_begin(group)

    def _fail(self, group: G, epoch: int, assignor: str, error: Exception) -> None:
        del self._running[group.group_id]
        self._failed[group.group_id] = epoch
        logger.error("group %s: assignor %s failed in epoch %d", group.group_id, assignor, epoch, exc_info=error)

"""Computes the target assignments of large consumer groups, outside of requests."""

import logging
from collections.abc import Callable, Generator, Mapping
from functools import partial

from .....base.timers import Scheduler
from ..modern.assignors.assignor import Assigned, Assignor
from ..modern.topics import TopicLookup
from ..modern.turns import TurnsOf
from .consumer_group import ConsumerGroup
from .settings import ConsumerGroupSettings
from .targets import input_steps

__all__ = ["TargetRuns"]

logger = logging.getLogger(__name__)


class TargetRuns:
    """One computation a group at a time. ``computed`` gets each result; it counts while the group has the epoch.

    A group that changes meanwhile gets a new computation.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        settings: ConsumerGroupSettings,
        topics: TopicLookup,
        assignors: Mapping[str, Assignor],
        computed: Callable[[ConsumerGroup, Assigned], None],
    ) -> None:
        self._scheduler = scheduler
        self._settings = settings
        self._topics = topics
        self._assignors = assignors
        self._computed = computed
        self._running: dict[str, TurnsOf[Assigned]] = {}
        self._failed: dict[str, int] = {}
        """By group id, the epoch for which no target could be computed."""

    def maybe_begin(self, group: ConsumerGroup) -> None:
        """Compute the target of a group that has none for its epoch."""
        group_id, epoch = group.group_id, group.epoch
        is_due = epoch > group.target_epoch and group.members and self._failed.get(group_id) != epoch
        if not is_due or group_id in self._running:
            return
        self._failed.pop(group_id, None)
        assignor = self._assignors[group.subscriptions.assignor(self._settings.assignors)]
        self._running[group_id] = TurnsOf(
            self._scheduler,
            self._steps(group, assignor),
            partial(self._end, group, epoch),
            partial(self._fail, group, epoch, assignor.name),
        )

    def _steps(self, group: ConsumerGroup, assignor: Assignor) -> Generator[None, None, Assigned]:
        spec = yield from input_steps(group, self._topics)
        return (yield from assignor.steps(spec))

    def is_late(self, group: ConsumerGroup) -> bool:
        """Whether the target of the group's epoch is being computed, or cannot be."""
        return group.group_id in self._running or self._failed.get(group.group_id) == group.epoch

    def end(self, group: ConsumerGroup) -> None:
        """The group was deleted, or is coordinated by another broker."""
        self._failed.pop(group.group_id, None)
        running = self._running.pop(group.group_id, None)
        if running is not None:
            running.cancel()

    def give_up(self, group: ConsumerGroup) -> None:
        """The target of the group's epoch cannot be stored: compute none until the group changes."""
        self._failed[group.group_id] = group.epoch

    def _end(self, group: ConsumerGroup, epoch: int, result: Assigned) -> None:
        del self._running[group.group_id]
        # A static member that returns under another member id leaves the epoch as it is.
        if group.epoch == epoch and group.members.keys() == result.keys():
            self._computed(group, result)
        else:
            self.maybe_begin(group)

    def _fail(self, group: ConsumerGroup, epoch: int, assignor: str, error: Exception) -> None:
        del self._running[group.group_id]
        self._failed[group.group_id] = epoch
        logger.error("group %s: assignor %s failed in epoch %d", group.group_id, assignor, epoch, exc_info=error)

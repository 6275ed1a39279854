"""Computes the target assignments of large groups, outside of requests."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from functools import partial
from typing import Generic, NamedTuple, TypeVar, TypeVarTuple, Unpack

from .....protocol.errors import KafkaError, UnknownServerError
from .assignors.assignor import Assigned
from .group import ModernGroup
from .records import TargetEpoch, TargetMember
from .target_changes import target_changes
from .turns import ComputationsByGroup, Turns
from .waiters import Waiters

__all__ = ["ComputedTarget", "TargetRunsOf"]

logger = logging.getLogger(__name__)

_PAUSE_S = 60.0
"""How long a group whose target could not be computed or stored is left as it is."""

G = TypeVar("G", bound=ModernGroup)
Arguments = TypeVarTuple("Arguments")


class ComputedTarget(NamedTuple):
    """``assigned``: the target of each member. ``records``: those of members whose target differs, and of its epoch.

    ``encoded``: keys and values of the records, because encoding many at once would take the event loop for long.
    ``growth_bytes``: by how much more memory the group takes when its members have their targets.
    """

    assigned: Assigned
    records: list[TargetMember | TargetEpoch]
    encoded: list[tuple[bytes, bytes | None]]
    growth_bytes: int


class _Failure(NamedTuple):
    epoch: int
    error: KafkaError
    ends_s: float


class TargetRunsOf(ABC, Generic[G]):
    """One computation a group at a time. ``computed`` gets each result; it counts while the group has the epoch.

    A group that changes meanwhile gets a new computation. ``may_store``: whether the log would take the target of a
    group, by its id, now. If not, the first heartbeat after that begins a computation.
    """

    def __init__(
        self, turns: Turns, computed: Callable[[G, ComputedTarget], None], may_store: Callable[[str], bool]
    ) -> None:
        self._scheduler = turns.scheduler
        self._computed = computed
        self._may_store = may_store
        self._running = ComputationsByGroup[ComputedTarget](turns)
        self._failed: dict[str, _Failure] = {}
        """By group id, the epoch for which no target could be computed or stored."""
        self._waiters = Waiters[KafkaError | None](turns)
        """They are given why there is no target."""

    @abstractmethod
    def _assignor_name(self, group: G) -> str: ...

    @abstractmethod
    def _steps(self, group: G) -> Generator[None, None, Assigned]:
        """Compute the target of the group's epoch in short steps."""

    def maybe_begin(self, group: G, *, tries_again: bool = False) -> None:
        """Compute the target of a group that has none for its epoch.

        ``tries_again``: also when that failed in the last minute.
        """
        group_id, epoch = group.group_id, group.epoch
        if tries_again and group_id not in self._running:
            self._failed.pop(group_id, None)
        is_due = epoch > group.target_epoch and group.members and self._failure_of(group) is None
        if not is_due or group.is_dead or group_id in self._running or not self._may_store(group_id):
            return
        self._failed.pop(group_id, None)
        self._running.begin(
            group_id,
            self._encoded_steps(group),
            partial(self._end, group, epoch),
            partial(self._fail, group, epoch, self._assignor_name(group)),
        )

    def _encoded_steps(self, group: G) -> Generator[None, None, ComputedTarget]:
        epoch = group.epoch
        result = yield from self._steps(group)
        target, growth_bytes = ComputedTarget(result, [], [], 0), 0
        for record in target_changes(group, result, epoch):
            if record is not None:
                target.records.append(record)
                target.encoded.append(group.encoded(record))
                if isinstance(record, TargetMember):
                    growth_bytes += group.growth_with(record.member_id, record.assignment)
            yield
        return target._replace(growth_bytes=growth_bytes)

    def after(self, group_id: str, done: Callable[[Unpack[Arguments]], None], *arguments: *Arguments) -> bool:
        """Call ``done`` when the computation under way ends, whatever its result. Returns False when there is none."""
        return self.after_own(group_id, lambda error: done(*arguments))

    def after_own(self, group_id: str, done: Callable[[KafkaError | None], None]) -> bool:
        """Like `after`; ``done`` is given why the target could not be computed or stored."""
        if group_id not in self._running:
            return False
        self._waiters.add(group_id, done)
        return True

    def is_late(self, group: G) -> bool:
        """Whether the target of the group's epoch is being computed, or cannot be now."""
        if group.group_id in self._running or self._failure_of(group) is not None:
            return True
        return group.epoch > group.target_epoch and not self._may_store(group.group_id)

    def _failure_of(self, group: G) -> _Failure | None:
        failure = self._failed.get(group.group_id)
        if failure is None or failure.epoch != group.epoch or failure.ends_s <= self._scheduler.time():
            return None
        return failure

    def end(self, group: G) -> None:
        """The group was deleted, or is coordinated by another broker."""
        self._failed.pop(group.group_id, None)
        self._running.cancel(group.group_id)
        self._release(group)

    def give_up(self, group: G, error: KafkaError) -> None:
        """The target of the group's epoch cannot be stored: compute none for a while, or until the group changes."""
        self._note_failure(group, group.epoch, error)

    def _note_failure(self, group: G, epoch: int, error: KafkaError) -> None:
        self._failed[group.group_id] = _Failure(epoch, error, self._scheduler.time() + _PAUSE_S)

    def _end(self, group: G, epoch: int, target: ComputedTarget) -> None:
        # A static member that returns under another member id leaves the epoch as it is.
        if group.epoch != epoch or group.members.keys() != target.assigned.keys():
            self.maybe_begin(group)
        elif self._may_store(group.group_id):
            self._computed(group, target)
        self._release(group)

    def _fail(self, group: G, epoch: int, assignor: str, error: Exception) -> None:
        self._note_failure(group, epoch, UnknownServerError("The target assignment could not be computed."))
        logger.error("group %s: assignor %s failed in epoch %d", group.group_id, assignor, epoch, exc_info=error)
        self._release(group)

    def _release(self, group: G) -> None:
        failure = self._failure_of(group)
        self._waiters.release(group.group_id, None if failure is None else failure.error)

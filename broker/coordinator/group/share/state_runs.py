"""Has the states of a share group created or deleted by the share coordinator, one change of a group at a time.

**Why.** The share coordinator must get the calls of two changes in the order of their records: else a partition whose
record tells that it has a state could have none.
"""

from collections.abc import Callable, Iterable, Mapping
from uuid import UUID

from .....base.timers import Scheduler
from .....protocol.errors import ErrorCode
from .key_calls import KeyCalls
from .share_group import ShareGroup

__all__ = ["Codes", "Partition", "StateRun", "StateRuns"]

Partition = tuple[UUID, int]
Codes = Mapping[Partition, ErrorCode]


class StateRun:
    """A change that is under way. ``stop``: called when its group ends."""

    __slots__ = ("group_id", "stop")

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.stop: Callable[[], None] = _nothing_to_stop


class StateRuns:
    """The changes that are under way."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._runs: dict[str, StateRun] = {}

    def is_running(self, group: ShareGroup) -> bool:
        return group.group_id in self._runs

    def reserve(self, group: ShareGroup) -> StateRun:
        """Begin a change, before its record is written. No other change of the group may be under way."""
        run = self._runs[group.group_id] = StateRun(group.group_id)
        return run

    def release(self, run: StateRun) -> None:
        """The change is over. Nothing happens when it has ended with its group."""
        if self._runs.get(run.group_id) is run:
            del self._runs[run.group_id]

    def call(
        self,
        run: StateRun,
        partitions: Iterable[Partition],
        call: Callable[[Partition, Callable[[ErrorCode], None]], None],
        done: Callable[[Codes], None],
    ) -> None:
        """Make a call for each partition; the change is over when ``done`` gets their codes.

        All are NOT_COORDINATOR when the group has ended, or ends meanwhile.
        """
        keys = list(partitions)

        def finish(codes: Codes) -> None:
            self.release(run)
            done(codes)

        def stop() -> None:
            calls.cancel()
            done(dict.fromkeys(keys, ErrorCode.NOT_COORDINATOR))

        if self._runs.get(run.group_id) is run:
            calls = KeyCalls(self._scheduler, keys, call, finish)
            run.stop = stop
        else:
            done(dict.fromkeys(keys, ErrorCode.NOT_COORDINATOR))

    def end(self, group: ShareGroup) -> None:
        """The group was deleted, or is coordinated by another broker."""
        run = self._runs.pop(group.group_id, None)
        if run is not None:
            run.stop()


def _nothing_to_stop() -> None:
    """The record of the change is being written; its outcome comes later."""

"""Has the states of share partitions created: those that are to be initialised by the record of their group.

**How.** The partitions that got a state are noted in one record at the end; the others stay as they are, and the next
heartbeat after a pause tries them again, also on another coordinator.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial

from .....base.quiet_lines import QUIET
from .....base.timers import Scheduler
from .....protocol.errors import ErrorCode
from ...share.ports import SharePartitionKey, ShareState
from ..modern.topics import TopicLookup
from .share_group import ShareGroup
from .state_runs import Codes, Partition, StateRun, StateRuns

__all__ = ["Initializations"]

logger = logging.getLogger(__name__)

_PAUSE_S = 5.0
_UNKNOWN_OFFSET = -1
"""The leader of the partition chooses its start, by ``share.auto.offset.reset``."""


class Initializations:
    """``initialized`` writes the record that these partitions of a group have a state; it calls back with the error."""

    def __init__(
        self,
        scheduler: Scheduler,
        state: ShareState,
        topics: TopicLookup,
        runs: StateRuns,
        initialized: Callable[[ShareGroup, frozenset[Partition], Callable[[ErrorCode], None]], None],
    ) -> None:
        self._scheduler = scheduler
        self._state = state
        self._topics = topics
        self._runs = runs
        self._initialized = initialized
        self._paused_until_s: dict[str, float] = {}

    def maybe_begin(self, group: ShareGroup) -> None:
        """Create the states that the group's record asks for.

        Partitions by which a topic grows begin at offset 0, so that the group misses no record there (KAFKA-20742).
        """
        waiting, paused_until_s = group.states.initializing, self._paused_until_s.get(group.group_id, 0.0)
        if not waiting or self._runs.is_running(group) or self._scheduler.time() < paused_until_s:
            return
        offsets = {
            (topic_id, partition): 0 if topic_id in group.states.initialized else _UNKNOWN_OFFSET
            for topic_id, topic in waiting.items()
            if self._topics.topic_name(topic_id) is not None
            for partition in sorted(topic.partitions)
        }
        if offsets:
            self.begin(group, self._runs.reserve(group), offsets, partial(self._pause_after_failures, group))

    def begin(
        self, group: ShareGroup, run: StateRun, offsets: Mapping[Partition, int], done: Callable[[Codes], None]
    ) -> None:
        """Create the states of these partitions with these start offsets.

        ``done`` is called with the codes, once the record is written: without it another coordinator would create the
        states again, with unknown offsets. NOT_COORDINATOR: the group has ended.
        """
        epoch = group.epoch

        def create(partition: Partition, answered: Callable[[ErrorCode], None]) -> None:
            self._state.initialize(SharePartitionKey(group.group_id, *partition), epoch, offsets[partition], answered)

        def finish(codes: Codes) -> None:
            created = frozenset(partition for partition, code in codes.items() if code is ErrorCode.NONE)

            def written(error: ErrorCode) -> None:
                done(codes if error is ErrorCode.NONE else {**codes, **dict.fromkeys(created, error)})

            if created:
                self._initialized(group, created, written)
            else:
                done(codes)

        self._runs.call(run, offsets, create, finish)

    def end(self, group: ShareGroup) -> None:
        """The group was deleted, or is coordinated by another broker."""
        self._paused_until_s.pop(group.group_id, None)

    def _pause_after_failures(self, group: ShareGroup, codes: Codes) -> None:
        failed = [code for code in codes.values() if code not in (ErrorCode.NONE, ErrorCode.NOT_COORDINATOR)]
        if failed:
            self._paused_until_s[group.group_id] = self._scheduler.time() + _PAUSE_S
            logger.warning(
                "group %s: states of %d partitions not created: %s",
                group.group_id,
                len(failed),
                failed[0].name,
                extra=QUIET,
            )
        else:
            self._paused_until_s.pop(group.group_id, None)

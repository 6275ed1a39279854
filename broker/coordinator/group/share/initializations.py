"""Has the states of share partitions created: those that are to be initialised by the record of their group.

**How.** One run a group at a time. The partitions that got a state are noted in one record at the end; the others stay
as they are, and the next heartbeat after a pause tries them again, also on another coordinator.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from .....base.quiet_lines import QUIET
from .....base.timers import Scheduler
from .....protocol.errors import ErrorCode
from ...share.ports import SharePartitionKey, ShareState
from ..modern.topics import TopicLookup
from .key_calls import KeyCalls
from .share_group import ShareGroup

__all__ = ["Initializations"]

logger = logging.getLogger(__name__)

_PAUSE_S = 5.0
_UNKNOWN_OFFSET = -1
"""The leader of the partition chooses its start, by ``share.auto.offset.reset``."""
Partition = tuple[UUID, int]
Codes = Mapping[Partition, ErrorCode]


class _Run(NamedTuple):
    calls: KeyCalls[Partition, ErrorCode]
    partitions: Iterable[Partition]
    done: Callable[[ShareGroup, Codes], None]


class Initializations:
    """``initialized`` writes the record that these partitions of a group have a state; it calls back with the error."""

    def __init__(
        self,
        scheduler: Scheduler,
        state: ShareState,
        topics: TopicLookup,
        initialized: Callable[[ShareGroup, frozenset[Partition], Callable[[ErrorCode], None]], None],
    ) -> None:
        self._scheduler = scheduler
        self._state = state
        self._topics = topics
        self._initialized = initialized
        self._runs: dict[str, _Run] = {}
        self._paused_until_s: dict[str, float] = {}

    def is_running(self, group: ShareGroup) -> bool:
        return group.group_id in self._runs

    def maybe_begin(self, group: ShareGroup) -> None:
        """Create the states that the group's record asks for.

        Partitions by which a topic grows begin at offset 0, so that the group misses no record there (KAFKA-20742).
        """
        waiting, group_id = group.states.initializing, group.group_id
        if not waiting or group_id in self._runs or self._scheduler.time() < self._paused_until_s.get(group_id, 0.0):
            return
        offsets = {
            (topic_id, partition): 0 if topic_id in group.states.initialized else _UNKNOWN_OFFSET
            for topic_id, topic in waiting.items()
            if self._topics.topic_name(topic_id) is not None
            for partition in sorted(topic.partitions)
        }
        if offsets:
            self.begin(group, offsets, self._pause_after_failures)

    def begin(
        self, group: ShareGroup, offsets: Mapping[Partition, int], done: Callable[[ShareGroup, Codes], None]
    ) -> None:
        """Create the states of these partitions with these start offsets. No other run of the group may be under way.

        ``done`` is called with the group and the codes, once the record is written: without it another coordinator
        would create the states again, with unknown offsets. NOT_COORDINATOR: the group has ended.
        """
        epoch = group.epoch

        def create(partition: Partition, answered: Callable[[ErrorCode], None]) -> None:
            self._state.initialize(SharePartitionKey(group.group_id, *partition), epoch, offsets[partition], answered)

        def finish(codes: dict[Partition, ErrorCode]) -> None:
            del self._runs[group.group_id]
            created = frozenset(partition for partition, code in codes.items() if code is ErrorCode.NONE)

            def written(error: ErrorCode) -> None:
                done(group, codes if error is ErrorCode.NONE else {**codes, **dict.fromkeys(created, error)})

            if created:
                self._initialized(group, created, written)
            else:
                done(group, codes)

        self._runs[group.group_id] = _Run(KeyCalls(self._scheduler, offsets, create, finish), offsets, done)

    def end(self, group: ShareGroup) -> None:
        """The group was deleted, or is coordinated by another broker."""
        self._paused_until_s.pop(group.group_id, None)
        run = self._runs.pop(group.group_id, None)
        if run is not None:
            run.calls.cancel()
            run.done(group, dict.fromkeys(run.partitions, ErrorCode.NOT_COORDINATOR))

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

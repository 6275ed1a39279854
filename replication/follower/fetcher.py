"""A fetcher: keeps the logs of some partitions a copy of their leader's (Kafka: ReplicaFetcherThread).

    truncate    ask the leader where our last epochs end, and cut  (only if its fetch responses do not tell)
    fetch       one request in flight, for all partitions that are neither truncating nor delayed
    append      through each partition's strand; cut where logs diverge; start elsewhere if the leader lacks the offset

A step that began under one `FetchState` changes nothing once that state is replaced or gone: another leader was
elected, the replica was stopped, or the directory failed.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from ...base.gathered_lines import log_gathered
from ...base.invariant import InvariantError
from ...base.minute_rate import MinuteRate
from ...base.topic_partition import TopicPartition
from ...protocol.errors import (
    CorruptRecordError,
    ErrorCode,
    FencedLeaderEpochError,
    InvalidRecordError,
    KafkaError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
)
from ...storage.errors import NoSpaceError
from ...storage.log.log_append import LogAppendInfo
from ..partition.fetch import EpochEnd
from ..partition.hosted_partition import HostedPartition
from ..partition_set import PartitionSet
from . import follower_log
from .fetch_states import FetchState, FetchStates
from .follower_log import last_epoch_of
from .leader_endpoint import EpochQuestion, FetchedPartition, LeaderEndpoint, WantedPartition
from .truncation import epoch_truncation, offset_reset

__all__ = ["Fetcher"]

logger = logging.getLogger(__name__)

_TRANSIENT = frozenset(
    {
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
"""Errors of a leader that has not heard of a change that we have heard of, or the other way round. Both hear of an
election within milliseconds, and records with acks=all wait for the first fetch under the new leader epoch."""

_LOOK_MS = 5000
"""How often all partitions are looked at, also those without a change."""


class Fetcher:
    """Fetches some partitions from one leader. ``name`` is for log lines.

    ``is_held_back`` tells whether a quota keeps a partition that is not in sync from fetching now. ``received`` is
    called with the bytes that came for each partition. ``broken`` is called with broken invariants.
    """

    def __init__(
        self,
        name: str,
        loop: asyncio.AbstractEventLoop,
        leader: LeaderEndpoint,
        partitions: PartitionSet,
        *,
        backoff_ms: int,
        clock_ms: Callable[[], int],
        is_held_back: Callable[[TopicPartition], bool] = lambda topic_partition: False,
        received: Callable[[TopicPartition, int], None] = lambda topic_partition, size_bytes: None,
        broken: Callable[[Exception], None] = lambda error: None,
    ) -> None:
        self._name = name
        self._loop = loop
        self._leader = leader
        self._partitions = partitions
        self._backoff_ms = backoff_ms
        self._clock_ms = clock_ms
        self._is_held_back = is_held_back
        self._received = received
        self._broken = broken
        self.states = FetchStates()
        self.rate = MinuteRate(loop.time())
        self._asked: dict[TopicPartition, FetchState] = {}
        self._wanted: dict[TopicPartition, WantedPartition] = {}
        self._next_look_ms = 0
        self._changed = asyncio.Event()
        self._events: list[str] = []  # events of this step that are logged at its end
        self._unsettled = 0
        self._settled = asyncio.Event()
        self._is_reached = True
        self._task: asyncio.Task[None] | None = None

    # -- from outside

    def start(self) -> None:
        """Run as a task from now on. Without it, `step` runs one step."""
        self._task = self._loop.create_task(self._run(), name=self._name)

    def follow(self, hosted: HostedPartition, leader_epoch: int) -> None:
        """Fetch a partition from now on, under this leader epoch. Its strand already has the fence of that epoch."""
        log = hosted.log
        last_epoch = last_epoch_of(log)
        tells = self._leader.truncates_on_fetch
        offset = log.log_end_offset if tells and last_epoch >= 0 else hosted.partition.high_watermark
        state = FetchState.initial(
            hosted.partition.topic_id, offset, leader_epoch, last_epoch, truncates_on_fetch=tells
        )
        self.states.begin(hosted.topic_partition, state)
        self._changed.set()

    def unfollow(self, topic_partition: TopicPartition) -> bool:
        """Stop fetching a partition; its strand refuses appends that are queued. Returns whether the partition was
        here."""
        was_here = self.states.remove(topic_partition) is not None
        if was_here:
            self._changed.set()
        return was_here

    def wake(self) -> None:
        """A quota may allow partitions to fetch again."""
        self._changed.set()

    def kill(self) -> None:
        """Stop at once."""
        for topic_partition, _ in self.states:
            self.states.remove(topic_partition)
        if self._task is not None:
            self._task.cancel()
        self._leader.kill()

    async def close(self) -> None:
        self.kill()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await self._leader.close()

    # -- the task

    async def _run(self) -> None:
        try:
            while True:
                self._changed.clear()
                if not await self.step():
                    await self._sleep()
        except Exception as error:  # a bug: the states of this fetcher cannot be trusted any more
            logger.exception("%s failed", self._name)
            self._broken(error)

    async def step(self) -> bool:
        """Truncate, fetch once and append the response; False when there was nothing to fetch."""
        try:
            await self._truncate()
            self._tell_events()
            return await self._fetch()
        finally:
            self._tell_events()

    def _tell_events(self) -> None:
        """Log the truncations and ended epochs of a step in one line: after an election there may be thousands."""
        events, self._events = self._events, []
        log_gathered(logger, logging.INFO, "replication.follower-steps", events)

    async def _sleep(self) -> None:
        """Sleep until something changes or a delay ends."""
        now_ms = self._partitions.monotonic_ms()
        due_ms = self.states.next_due_ms(now_ms)
        wait_ms = self._backoff_ms if due_ms is None else max(due_ms - now_ms, 1)
        timer = self._loop.call_later(wait_ms / 1000, self._changed.set)
        try:
            await self._changed.wait()
        finally:
            timer.cancel()

    # -- truncating

    async def _truncate(self) -> None:
        if self.states.are_steady:
            return
        now_ms = self._partitions.monotonic_ms()
        questions: dict[TopicPartition, tuple[FetchState, EpochQuestion]] = {}
        for topic_partition, state in self.states:
            hosted = self._partitions.get(topic_partition)
            if hosted is None or not state.is_truncating(now_ms):
                continue
            last_epoch = last_epoch_of(hosted.log)
            if last_epoch >= 0:
                questions[topic_partition] = (state, EpochQuestion(state.leader_epoch, last_epoch))
            else:  # records older than leader epochs: the high watermark is the best bound
                self._cut(hosted, state, state.fetch_offset, is_final=True)
        if questions:
            await self._ask_epoch_ends(questions)
        await self._all_settled()

    async def _ask_epoch_ends(self, questions: Mapping[TopicPartition, tuple[FetchState, EpochQuestion]]) -> None:
        try:
            answers = await self._leader.epoch_ends({each: question for each, (_, question) in questions.items()})
        except (ConnectionError, TimeoutError, KafkaError) as error:
            self._not_reached(error)
            return
        self._reached()
        for topic_partition, (state, _) in questions.items():
            if not self.states.is_current(topic_partition, state):
                continue
            answer = answers.get(topic_partition)
            if answer is None or answer.error:
                code = ErrorCode.UNKNOWN_SERVER_ERROR if answer is None else answer.error
                self._refused(topic_partition, state, code)
            else:
                self._cut_by_epoch(topic_partition, state, answer.end)

    def _cut_by_epoch(self, topic_partition: TopicPartition, state: FetchState, end: EpochEnd) -> None:
        hosted = self._partitions.get(topic_partition)
        if hosted is None:
            return
        truncation = epoch_truncation(end, hosted.log, state.fetch_offset)
        is_final = truncation.is_final or self._leader.truncates_on_fetch
        self._events.append(
            f"{topic_partition}: truncated to offset {truncation.offset}, the log ended at "
            f"{hosted.log.log_end_offset}: leader epoch {end.leader_epoch} ends at {end.end_offset} in the leader's"
        )
        self._cut(hosted, state, truncation.offset, is_final=is_final)

    def _cut(self, hosted: HostedPartition, state: FetchState, offset: int, *, is_final: bool) -> None:
        if offset < hosted.partition.high_watermark:
            logger.warning(
                "%s: truncated to offset %d, below the high watermark %d",
                hosted.topic_partition,
                offset,
                hosted.partition.high_watermark,
            )

        def cut(_: object) -> None:
            hosted.partition.log_was_truncated()
            log = hosted.log
            after = state.truncated(log.log_end_offset, last_epoch_of(log), is_final=is_final)
            self.states.change(hosted.topic_partition, state, after)

        done = self._settling(hosted.topic_partition, state, cut)
        follower_log.truncate(hosted, offset, state.leader_epoch, self._clock_ms(), done)

    # -- fetching

    async def _fetch(self) -> bool:
        changed = self._look()
        asked = self._asked
        try:
            answer = await self._leader.fetch(self._wanted, changed)
        except (ConnectionError, TimeoutError, KafkaError) as error:
            self._not_reached(error)
            return True
        if answer is None:
            return False
        self.rate.mark(self._loop.time())
        self._reached()
        for topic_partition, fetched in answer.items():
            if (current := asked.get(topic_partition)) is not None:
                await self._take(topic_partition, current, fetched)
        await self._all_settled()
        return True

    def _look(self) -> Iterable[TopicPartition]:
        """Decide what to fetch next; return the partitions whose fetch position may have changed.

        Few of many partitions change at a time, so all are looked at only now and then, because the start of a log may
        have moved. All are also looked at while one waits for something that its state does not show.
        """
        now_ms = self._partitions.monotonic_ms()
        changed: Iterable[TopicPartition] = self.states.take_changed()
        if not self.states.are_steady or now_ms >= self._next_look_ms:
            self._next_look_ms = now_ms + _LOOK_MS
            self.states.end_delays(now_ms)
            changed = self._wanted | dict(self.states)
            self.states.take_changed()
        for topic_partition in changed:
            self._look_at(topic_partition, now_ms)
        return changed

    def _look_at(self, topic_partition: TopicPartition, now_ms: int) -> None:
        state, hosted = self.states.get(topic_partition), self._partitions.get(topic_partition)
        if (
            state is None
            or hosted is None
            or not state.is_fetching(now_ms)
            or (not state.is_in_sync and self._is_held_back(topic_partition))
        ):
            self._wanted.pop(topic_partition, None)
            self._asked.pop(topic_partition, None)
            return
        self._asked[topic_partition] = state
        self._wanted[topic_partition] = WantedPartition(
            state.topic_id,
            state.fetch_offset,
            hosted.log.log_start_offset,
            state.leader_epoch,
            state.last_fetched_epoch,
        )

    async def _take(self, topic_partition: TopicPartition, state: FetchState, fetched: FetchedPartition) -> None:
        hosted = self._partitions.get(topic_partition)
        if hosted is None:
            return
        if not self.states.is_current(topic_partition, state):
            if self.states.get(topic_partition) is not None:
                self._leader.repeat_offsets()  # without new records, it would not tell the high watermark again
            return
        if fetched.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            await self._begin_elsewhere(hosted, state)
        elif fetched.error:
            self._refused(topic_partition, state, fetched.error)
        elif fetched.diverging_epoch is not None:
            # The rest of the response is about another log than ours until ours is truncated.
            self._cut_by_epoch(topic_partition, state, fetched.diverging_epoch)
        elif len(fetched.records):
            size_bytes = len(fetched.records)
            self._received(topic_partition, size_bytes)
            partition = hosted.partition
            is_reassignment = partition.local_broker_id in partition.adding_replicas
            self._partitions.traffic.replicated(size_bytes, is_reassignment=is_reassignment)
            appended = self._settling(topic_partition, state, partial(self._appended, hosted, state, fetched))
            follower_log.append(hosted, fetched.records, state.leader_epoch, self._clock_ms(), appended)
        else:
            self._take_offsets(hosted, state, state.fetch_offset, fetched)

    def _appended(
        self, hosted: HostedPartition, state: FetchState, fetched: FetchedPartition, info: LogAppendInfo
    ) -> None:
        # A batch that the leader cut off is not written.
        is_written = info.last_offset >= 0 and info.size_bytes > 0
        self._take_offsets(hosted, state, info.last_offset + 1 if is_written else state.fetch_offset, fetched)

    def _take_offsets(
        self, hosted: HostedPartition, state: FetchState, next_offset: int, fetched: FetchedPartition
    ) -> None:
        """The records are appended: adopt the leader's high watermark and log start offset up to the log end."""
        partition, log = hosted.partition, hosted.log
        if partition.update_follower_high_watermark(fetched.high_watermark):
            self._partitions.wakeups.high_watermark_moved(hosted)
        after = state.advanced(next_offset, last_epoch_of(log), fetched.high_watermark)
        self.states.change(hosted.topic_partition, state, after)
        start = min(fetched.log_start_offset, partition.high_watermark)
        if start > log.log_start_offset:
            moved = self._settling(
                hosted.topic_partition, after, lambda _: self.states.note_change(hosted.topic_partition)
            )
            follower_log.move_log_start(hosted, start, state.leader_epoch, moved)

    # -- offsets that the leader does not have

    async def _begin_elsewhere(self, hosted: HostedPartition, state: FetchState) -> None:
        topic_partition, log = hosted.topic_partition, hosted.log
        try:
            leader_end = await self._leader.latest_offset(topic_partition, state.leader_epoch)
            leader_start = 0
            if leader_end >= log.log_end_offset:
                leader_start = await self._leader.earliest_offset(topic_partition, state.leader_epoch)
        except FencedLeaderEpochError:
            if self.states.is_current(topic_partition, state):
                self._fenced(topic_partition, state)
            return
        except (ConnectionError, TimeoutError, KafkaError) as error:
            logger.info("%s: where the leader's log begins and ends is not known: %s", topic_partition, error)
            self._delay(topic_partition)
            return
        if not self.states.is_current(topic_partition, state):
            return
        reset = offset_reset(log.log_end_offset, leader_start, leader_end)
        logger.warning(
            "%s: offset %d is out of the leader's range, %d to %d: fetching from %d%s",
            topic_partition,
            state.fetch_offset,
            leader_start,
            leader_end,
            reset.offset,
            ", emptying the log" if reset.empties_log else ", truncating the log" if reset.truncates else "",
        )

        def begin(_: object) -> None:
            hosted.partition.log_was_truncated()
            after = state.reset(log.log_end_offset, last_epoch_of(log), reset.lag)
            self.states.change(topic_partition, state, after)

        done = self._settling(topic_partition, state, begin)
        if reset.empties_log:
            follower_log.empty(hosted, reset.offset, state.leader_epoch, self._clock_ms(), done)
        else:
            follower_log.truncate(hosted, reset.offset, state.leader_epoch, self._clock_ms(), done)

    # -- errors

    def _refused(self, topic_partition: TopicPartition, state: FetchState, error: ErrorCode) -> None:
        if error is ErrorCode.FENCED_LEADER_EPOCH:
            self._fenced(topic_partition, state)
            return
        is_transient = error in _TRANSIENT
        level = logging.DEBUG if is_transient else logging.ERROR
        logger.log(level, "%s: the leader refuses offset %d: %s", topic_partition, state.fetch_offset, error.name)
        if is_transient:
            self.states.retry_soon(topic_partition, self._partitions.monotonic_ms(), self._backoff_ms)
        else:
            self._delay(topic_partition)

    def _fenced(self, topic_partition: TopicPartition, state: FetchState) -> None:
        """There is a later leader epoch than ours: wait for the LeaderAndIsr that tells of it."""
        self._events.append(
            f"{topic_partition}: leader epoch {state.leader_epoch} ended; waiting for the next LeaderAndIsr"
        )
        self.states.fail(topic_partition)

    def _failed(self, topic_partition: TopicPartition, state: FetchState, error: Exception) -> None:
        """A step on the log failed. ``state`` is the state it began with."""
        if isinstance(error, InvariantError):
            self._broken(error)
        if not self.states.is_current(topic_partition, state):
            return
        match error:
            case NotLeaderOrFollowerError():
                # a later leader epoch has fenced the log; its LeaderAndIsr is on the way
                self._delay(topic_partition)
            case NoSpaceError():
                logger.error("%s: not replicated, the disk is full: %s", topic_partition, error)
                self._delay(topic_partition)
            case CorruptRecordError() | InvalidRecordError():
                logger.error(
                    "%s: invalid records from the leader (%s) at offset %d, fetching them again: %s",
                    topic_partition, self._name, state.fetch_offset, error,
                )  # fmt: skip
                self._delay(topic_partition)
            case _:
                known = isinstance(error, KafkaStorageError)
                logger.error("%s: replication stops: %s", topic_partition, error, exc_info=None if known else error)
                self.states.fail(topic_partition)

    def _delay(self, *topic_partitions: TopicPartition) -> None:
        self.states.delay(topic_partitions, self._partitions.monotonic_ms(), self._backoff_ms)

    def _not_reached(self, error: Exception) -> None:
        """The leader is unreachable: delay all partitions."""
        level = logging.WARNING if self._is_reached else logging.DEBUG  # once, not every second of an outage
        logger.log(level, "%s: no response from the leader: %s", self._name, error)
        self._is_reached = False
        self._delay(*(topic_partition for topic_partition, _ in self.states))

    def _reached(self) -> None:
        if not self._is_reached:
            logger.info("%s: the leader answers again", self._name)
            self._is_reached = True

    # -- steps on logs under way

    def _settling(
        self, topic_partition: TopicPartition, state: FetchState, succeeded: Callable[[Any], None]
    ) -> Callable[[Any], None]:
        """The callback of a step on the log of ``topic_partition``, begun in ``state``; the fetcher waits for it."""
        self._unsettled += 1
        self._settled.clear()

        def done(outcome: Any) -> None:
            try:
                if isinstance(outcome, Exception):
                    self._failed(topic_partition, state, outcome)
                elif self.states.is_current(topic_partition, state):
                    succeeded(outcome)
            except InvariantError as error:
                self._broken(error)
            finally:
                self._unsettled -= 1
                if not self._unsettled:
                    self._settled.set()

        return done

    async def _all_settled(self) -> None:
        if self._unsettled:
            await self._settled.wait()

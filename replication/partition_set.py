"""The partitions on this broker, as handlers and coordinators use them.

An append or a read that can be done at once is done at once: the callback is called, or the results are returned,
before the call returns, without a task or future. Otherwise it waits in the purgatories (`wakeups`). Everything here
runs on the event loop; the log is changed on its strand.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import Any

from ..base.invariant import InvariantError
from ..base.kafka_names import INTERNAL_TOPICS
from ..base.topic_partition import TopicPartition
from ..protocol.errors import (
    CorruptRecordError,
    ErrorCode,
    InvalidTopicError,
    KafkaError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
    RecordBatchTooLargeError,
    RecordTooLargeError,
    UnknownTopicOrPartitionError,
    error_for,
)
from ..storage.errors import record_errors_of
from ..storage.log.append_chain import UNCHAINED, AppendChain
from ..storage.log.log_append import LeaderAppend, LogAppendInfo
from ..storage.log.whole_batches import read_whole_batches
from ..storage.producers.producer_state import AppendOrigin
from ..storage.producers.refused_batches import refused_batch
from ..storage.producers.verification_guards import VerificationGuard
from ..storage.segment.record_search import FoundOffset
from .leader.fetch_reads import FetchReads
from .leader.offset_lookup import OffsetQuery, edge_offset, find_by_time, offsets_before, search_of
from .leader.refused_without_log import RefusedWithoutLog
from .leader.replication_throttle import ReplicationThrottle
from .leader.suspension import LeadershipSuspension
from .partition.append_request import AppendRequest
from .partition.append_result import AppendResult
from .partition.fetch import EpochEnd
from .partition.hosted_partition import HostedPartition
from .partition.isr import PendingExpand, PendingIsr
from .partition.partition import Partition
from .partition.purgatory import DEFAULT_GATHER_MAX_MS
from .partition.topic_traffic import BrokerTraffic
from .partition.wakeups import Wakeups

__all__ = ["PartitionSet"]

_ERRORS_WITHOUT_LOG_START = (
    NotLeaderOrFollowerError,
    KafkaStorageError,
    CorruptRecordError,
    RecordTooLargeError,
    RecordBatchTooLargeError,
)
"""Errors of an append that do not tell the log start offset, as in Kafka."""
_FOREVER_MS = 2**31 - 1


class PartitionSet:
    """``is_known`` tells whether the cluster has a partition, which decides between NOT_LEADER_OR_FOLLOWER and
    UNKNOWN_TOPIC_OR_PARTITION.

    ``run_in_pool`` runs a function in the worker pool, ``run_long_in_pool`` one that may take long. ``propose_isr``
    sends a change of the ISR to the controller; without it (one broker) only LeaderAndIsr changes ISRs. ``broken`` is
    called with broken invariants. ``gather_max_ms``: how long records for many consumers of a partition gather before
    they are sent.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        is_known: Callable[[TopicPartition], bool],
        run_in_pool: Callable[[Callable[[], Any]], Awaitable[Any]],
        run_long_in_pool: Callable[[Callable[[], Any]], Awaitable[Any]] | None = None,
        propose_isr: Callable[[Partition, PendingIsr], None] | None = None,
        broken: Callable[[Exception], None] = lambda error: None,
        gather_max_ms: int = DEFAULT_GATHER_MAX_MS,
    ) -> None:
        self._loop = loop
        self._is_known = is_known
        self._run_in_pool = run_in_pool
        self._run_long_in_pool = run_long_in_pool or run_in_pool
        self._propose_isr = propose_isr
        self._broken = broken
        self._hosted: dict[TopicPartition, HostedPartition] = {}
        self._offline: set[TopicPartition] = set()
        self.isr_shrinks = 0
        self.isr_expands = 0
        self.failed_isr_updates = 0
        self.refused_without_log = RefusedWithoutLog(loop)
        self.wakeups = Wakeups(loop, gather_max_ms)
        self.traffic = BrokerTraffic()
        self.throttle = ReplicationThrottle()
        """Limits what followers read; without limit until it is configured."""
        self.suspension = LeadershipSuspension(
            self._hosted, self.wakeups, propose_isr=propose_isr, monotonic_ms=self.monotonic_ms
        )
        self.reads = FetchReads(
            self._hosted,
            self.wakeups,
            absence=self._absence,
            run_in_pool=run_in_pool,
            propose_isr=propose_isr,
            monotonic_ms=self.monotonic_ms,
            throttle=self.throttle,
            suspension=self.suspension,
            elsewhere=self.traffic.elsewhere,
        )

    # -- which partitions ---------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[HostedPartition]:
        """The online partitions."""
        return iter(self._hosted.values())

    def __len__(self) -> int:
        return len(self._hosted)

    def get(self, topic_partition: TopicPartition) -> HostedPartition | None:
        """The partition, when its log is here and online."""
        return self._hosted.get(topic_partition)

    def is_known(self, topic_partition: TopicPartition) -> bool:
        """Whether there is such a partition, here or on another broker."""
        return topic_partition in self._hosted or self._is_known(topic_partition)

    @property
    def offline_count(self) -> int:
        """The replicas here whose log directory is offline."""
        return len(self._offline)

    def is_offline(self, topic_partition: TopicPartition) -> bool:
        return topic_partition in self._offline

    def is_leader(self, topic_partition: TopicPartition) -> bool:
        hosted = self._hosted.get(topic_partition)
        return hosted is not None and hosted.partition.leader is not None

    def leader_of(self, topic_partition: TopicPartition) -> tuple[int, int] | None:
        """Leader id (−1: none) and leader epoch, as the controller ordered; None: this broker has no role in the
        partition."""
        hosted = self._hosted.get(topic_partition)
        if hosted is None or hosted.partition.role is None:
            return None
        return hosted.partition.leader_id, hosted.partition.leader_epoch

    def leaders(self) -> Iterable[HostedPartition]:
        """The online partitions that this broker leads."""
        return (hosted for hosted in self._hosted.values() if hosted.partition.leader is not None)

    def require(self, topic_partition: TopicPartition) -> HostedPartition:
        """The partition. Raises KafkaStorageError when its directory is offline, NotLeaderOrFollowerError when it is on
        other brokers, UnknownTopicOrPartitionError when it does not exist."""
        hosted = self._hosted.get(topic_partition)
        if hosted is None:
            raise self._absence(topic_partition)
        return hosted

    def _absence(self, topic_partition: TopicPartition) -> KafkaError:
        if topic_partition in self._offline:
            return KafkaStorageError(f"{topic_partition} is in an offline log directory")
        if self._is_known(topic_partition):
            return NotLeaderOrFollowerError()
        return UnknownTopicOrPartitionError()

    def host(self, hosted: HostedPartition) -> None:
        self._offline.discard(hosted.topic_partition)
        if hosted.topic_partition in self._hosted:
            self.traffic.partition_left(hosted.topic_partition.topic)
        self._hosted[hosted.topic_partition] = hosted
        hosted.traffic = self.traffic.partition_came(hosted.topic_partition.topic)
        for refused in self.refused_without_log.take(hosted.topic_partition):
            hosted.log.producer_state.note_refused(refused)

    def forget(self, topic_partition: TopicPartition) -> None:
        """Remove a partition that is not here any more; waiting requests get an error."""
        self._offline.discard(topic_partition)
        hosted = self._hosted.pop(topic_partition, None)
        if hosted is not None:
            self.traffic.partition_left(topic_partition.topic)
            hosted.partition.resign()
            self.wakeups.leadership_lost(hosted, self._absence(topic_partition).code)

    def mark_offline(self, topic_partition: TopicPartition) -> None:
        """The partition's log directory failed."""
        self._offline.add(topic_partition)
        hosted = self._hosted.pop(topic_partition, None)
        if hosted is not None:
            self.traffic.partition_left(topic_partition.topic)
            hosted.partition.resign()
            self.wakeups.leadership_lost(hosted, ErrorCode.KAFKA_STORAGE_ERROR)

    # -- appends ------------------------------------------------------------------------------------------------------

    def append(self, request: AppendRequest, done: Callable[[AppendResult], None]) -> None:
        """Append to a partition led here; ``done`` is called exactly once, possibly before this returns."""
        topic_partition = request.topic_partition
        hosted = self._hosted.get(topic_partition)
        if hosted is None:
            absence = self._absence(topic_partition)
            if not isinstance(absence, UnknownTopicOrPartitionError):
                self.traffic.elsewhere.total_produce_requests += 1
            self.note_refused(request, absence)
            done(AppendResult.failed(absence))
            return
        if topic_partition.topic in INTERNAL_TOPICS and not request.allow_internal:
            hosted.traffic.total_produce_requests += 1
            done(AppendResult.failed(InvalidTopicError(f"Cannot append to internal topic {topic_partition.topic}")))
            return
        if hosted.held_appends is not None and request.origin is AppendOrigin.CLIENT:
            hosted.held_appends.append(partial(self.append, request, done))
            return
        hosted.traffic.total_produce_requests += 1
        partition = hosted.partition
        try:
            partition.check_append(request.required_acks)
        except KafkaError as error:
            self.note_refused(request, error)
            done(self._refusal(hosted, error, request))
            return
        hosted.strand.append(
            LeaderAppend(
                request.records, partition.leader_epoch, request.now_ms, request.origin, request.guard, request.chain
            ),
            partial(self._appended, hosted, request, done),
        )

    def note_refused(self, request: AppendRequest, error: KafkaError) -> None:
        """Remember a batch that was refused before it came to the log, so that the producer's next batches are refused
        too (see `RefusedBatches`)."""
        if request.origin is not AppendOrigin.CLIENT:
            return
        refused = refused_batch(request.records, error, request.now_ms)
        if refused is None:
            return
        hosted = self._hosted.get(request.topic_partition)
        if hosted is not None:
            hosted.log.producer_state.note_refused(refused)
        else:
            self.refused_without_log.note(request.topic_partition, refused)

    def _appended(
        self,
        hosted: HostedPartition,
        request: AppendRequest,
        done: Callable[[AppendResult], None],
        outcome: LogAppendInfo | Exception,
    ) -> None:
        """The log has accepted or refused an append."""
        if isinstance(outcome, Exception):
            done(self._refusal(hosted, outcome, request))
            return
        traffic = hosted.traffic
        traffic.bytes_in += len(request.records)
        if outcome.first_offset >= 0:
            traffic.messages_in += outcome.last_offset - outcome.first_offset + 1
            traffic.produce_message_conversions += outcome.converted_records
        partition = hosted.partition
        leader = partition.leader
        if leader is not None:
            moved = partition.maybe_increment_high_watermark(self.monotonic_ms() if leader.replicas else 0)
            if hosted.waiting_followers:
                self.wakeups.log_grew(hosted)
            if moved:
                self.wakeups.high_watermark_moved(hosted)
        result = AppendResult(
            ErrorCode.NONE,
            outcome.first_offset,
            outcome.last_offset,
            outcome.log_append_time_ms,
            outcome.log_start_offset,
        )
        if request.required_acks != -1:
            done(result)
            return
        required_offset = outcome.last_offset + 1
        verdict = partition.check_acks(required_offset)
        if verdict is None:
            self.wakeups.appends.park(
                hosted.waiting_appends, required_offset, request.timeout_ms, partial(_acknowledge, result, done)
            )
        else:
            _acknowledge(result, done, verdict)

    def _refusal(self, hosted: HostedPartition, error: Exception, request: AppendRequest) -> AppendResult:
        self.traffic.count_refusal(hosted.traffic, error, len(request.records))
        if not isinstance(error, KafkaError):
            # A bug, whose traceback storage has logged. It harms no other request. Only after a broken invariant the
            # state in memory or on disk cannot be trusted any more.
            if isinstance(error, InvariantError):
                self._broken(error)
            return AppendResult(ErrorCode.UNKNOWN_SERVER_ERROR)
        result = AppendResult.failed(error)
        if not isinstance(error, _ERRORS_WITHOUT_LOG_START):
            result.log_start_offset = hosted.log.log_start_offset
        result.record_errors = record_errors_of(error)
        return result

    def append_internal(
        self,
        topic_partition: TopicPartition,
        records: bytes | bytearray,
        now_ms: int,
        timeout_ms: int = 5000,
        required_acks: int = -1,
        guard: VerificationGuard | None = None,
        chain: AppendChain = UNCHAINED,
    ) -> "asyncio.Future[int]":
        """Append for a coordinator: the base offset, once acknowledged. The future raises KafkaError."""
        future: asyncio.Future[int] = self._loop.create_future()

        def done(result: AppendResult) -> None:
            if future.done():
                return
            if result.error:
                future.set_exception(error_for(result.error, result.message))
            else:
                future.set_result(result.base_offset)

        self.append(
            AppendRequest(
                topic_partition,
                bytearray(records),
                required_acks,
                timeout_ms,
                now_ms,
                allow_internal=True,
                origin=AppendOrigin.COORDINATOR,
                guard=guard,
                chain=chain,
            ),
            done,
        )
        return future

    # -- reads --------------------------------------------------------------------------------------------------------

    async def read_all(self, topic_partition: TopicPartition, max_bytes: int) -> AsyncIterator[memoryview]:
        """All record batches from the log start to the LEO, including batches appended meanwhile, for a coordinator
        that loads its partition. Reads in the worker pool, whole batches of up to ``max_bytes`` at a time unless one is
        larger.

        Raises KafkaError.
        """
        log = self.require(topic_partition).log
        offset = 0
        while max(offset, log.log_start_offset) < log.log_end_offset:
            whole: memoryview | None
            whole, offset = await self._run_in_pool(partial(read_whole_batches, log, offset, max_bytes))
            if whole is None:
                break  # the rest was compacted away
            yield whole

    async def all_committed(self, topic_partition: TopicPartition) -> None:
        """Wait until the high watermark reaches what is now the log end offset. Raises KafkaError when this broker does
        not lead the partition, or stops leading it."""
        hosted = self.require(topic_partition)
        end_offset = hosted.log.log_end_offset
        verdict = hosted.partition.check_acks(end_offset)
        if verdict is None:
            future: asyncio.Future[ErrorCode] = self._loop.create_future()
            self.wakeups.appends.park(
                hosted.waiting_appends, end_offset, _FOREVER_MS, partial(_set_unless_done, future)
            )
            verdict = await future
        if verdict not in (ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND):
            raise error_for(verdict)

    # -- offsets ------------------------------------------------------------------------------------------------------

    def list_offset(
        self, topic_partition: TopicPartition, query: OffsetQuery
    ) -> FoundOffset | Awaitable[FoundOffset | None] | None:
        """An offset by time or at an end of the log (ListOffsets); awaitable when the log must be read. None: no such
        record.

        Raises what `require` and `Partition.check_readable` raise, and OffsetNotAvailableError; also when awaited.
        """
        hosted = self.require(topic_partition)
        partition = hosted.partition
        partition.check_readable(query.leader_epoch, leader_only=query.leader_only)
        found = edge_offset(partition, hosted.log, query)
        return found if found is not None else self._search_offset(hosted, query)

    async def _search_offset(self, hosted: HostedPartition, query: OffsetQuery) -> FoundOffset | None:
        found = await self._run_long_in_pool(search_of(hosted.log, query.timestamp))
        hosted.partition.check_readable(query.leader_epoch, leader_only=query.leader_only)
        return find_by_time(hosted.partition, query, found)

    def offsets_before(
        self, topic_partition: TopicPartition, query: OffsetQuery, max_count: int, now_ms: int
    ) -> list[int]:
        """ListOffsets v0: up to ``max_count`` offsets at or before a time, the highest first. Raises KafkaError."""
        hosted = self.require(topic_partition)
        hosted.partition.check_readable(query.leader_epoch, leader_only=query.leader_only)
        return offsets_before(hosted.partition, hosted.log, query, max_count, now_ms)

    def end_offset_for_epoch(
        self, topic_partition: TopicPartition, leader_epoch: int, current_leader_epoch: int
    ) -> EpochEnd:
        """Where ``leader_epoch``, or the last one before it, ends in the leader's log; (-1, -1) when that is unknown.

        ``current_leader_epoch`` is the caller's view of the current epoch. Raises KafkaError.
        """
        hosted = self.require(topic_partition)
        hosted.partition.check_readable(current_leader_epoch, leader_only=True)
        found = hosted.log.end_offset_for_epoch(leader_epoch)
        return _UNKNOWN_EPOCH_END if found is None else EpochEnd(*found)

    # -- time ---------------------------------------------------------------------------------------------------------

    def shrink_isrs(self) -> None:
        """Propose ISRs without the followers that lag; called every half of replica.lag.time.max.ms."""
        if self._propose_isr is None:
            return
        now_ms = self.monotonic_ms()
        for hosted in tuple(self.leaders()):
            change = hosted.partition.maybe_shrink_isr(now_ms)
            if change is not None:
                self._propose_isr(hosted.partition, change)

    def isr_change_accepted(
        self, partition: Partition, change: PendingIsr, isr: Iterable[int], leader_epoch: int, partition_epoch: int
    ) -> None:
        """The controller has written ``isr``; see `Partition.isr_change_accepted`."""
        hosted = self._hosted.get(partition.topic_partition)
        if hosted is None or hosted.partition is not partition:  # offline, or deleted and created again
            return
        leader = partition.leader
        was_pending = leader is not None and leader.isr is change
        moved = partition.isr_change_accepted(change, tuple(isr), leader_epoch, partition_epoch, self.monotonic_ms())
        if not was_pending or leader is None or leader.isr is change:  # the response was overtaken
            self.failed_isr_updates += 1
        elif isinstance(change, PendingExpand):
            self.isr_expands += 1
        else:
            self.isr_shrinks += 1
        if moved:
            self.wakeups.high_watermark_moved(hosted)

    def isr_change_refused(self, partition: Partition, change: PendingIsr, error: ErrorCode) -> bool:
        """Returns whether to send the change again; see `Partition.isr_change_refused`."""
        self.failed_isr_updates += 1
        should_send_again = partition.isr_change_refused(change, error)
        hosted = self._hosted.get(partition.topic_partition)
        if hosted is not None and hosted.partition is partition:
            self._stop_waiting(hosted)  # the maximal ISR may be smaller now
        return should_send_again

    def brokers_gone(self) -> None:
        """Brokers are no longer registered: stop waiting for followers that were about to join an ISR. Nothing else
        would notice before the next record, and a producer that waits for acknowledgements may not send one."""
        for hosted in tuple(self.leaders()):  # woken requests may change the set
            self._stop_waiting(hosted)

    def _stop_waiting(self, hosted: HostedPartition) -> None:
        if hosted.partition.maybe_increment_high_watermark(self.monotonic_ms()):
            self.wakeups.high_watermark_moved(hosted)
        self.wakeups.low_watermark_moved(hosted)

    def monotonic_ms(self) -> int:
        """The clock of lags and timeouts."""
        return int(self._loop.time() * 1000)

    def close(self) -> None:
        self.wakeups.close()
        self.refused_without_log.close()


_UNKNOWN_EPOCH_END = EpochEnd(-1, -1)


def _set_unless_done(future: "asyncio.Future[ErrorCode]", code: ErrorCode) -> None:
    if not future.done():  # a load that is not wanted any more is cancelled
        future.set_result(code)


def _acknowledge(result: AppendResult, done: Callable[[AppendResult], None], error: ErrorCode) -> None:
    """Complete an append with acks=-1: it is written, and ``error`` says whether it is committed."""
    if error:
        result.error = error
        result.base_offset = -1 if error is ErrorCode.NOT_LEADER_OR_FOLLOWER else result.base_offset
    done(result)

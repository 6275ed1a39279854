"""Fetches over several partitions: read at once, read by a worker first when a page is not cached, or parked."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode, KafkaError, UnknownTopicOrPartitionError
from ...storage.files.files import NotCachedError
from ..partition.delayed_fetch import DelayedFetch
from ..partition.fetch import FetchParams, FetchResult, FetchResults, PartitionFetch
from ..partition.hosted_partition import HostedPartition
from ..partition.isolation import Isolation
from ..partition.isr import PendingIsr
from ..partition.partition import Partition
from ..partition.reader import available_bytes, read_partition, sent_on, warm_up
from ..partition.reads_at_end import end_for_follower, result_at_end
from ..partition.topic_traffic import TopicTraffic
from ..partition.wakeups import Wakeups
from .replication_throttle import ReplicationThrottle
from .suspension import LeadershipSuspension

__all__ = ["FetchReads"]

Done = Callable[[FetchResults], None]
Parked = Callable[[DelayedFetch], None]

_LITTLE_BYTES = 192 * 1024
"""A fetch that gets more does not wait for more still."""


_EXPECTED_CODES = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.OFFSET_OUT_OF_RANGE,
    )
)
"""Errors with which a read does not count as failed, as in Kafka."""


class _Read(NamedTuple):
    """The result of one pass over the partitions of a fetch."""

    results: FetchResults
    size_bytes: int
    is_urgent: bool
    """The client must hear of this at once: an error, a divergence, another replica to read from."""


class FetchReads:
    """``hosted``: the online partitions. ``absence``: the error for any other partition. ``run_in_pool`` runs a
    function in the worker pool. ``propose_isr`` sends a change of the ISR to the controller. ``throttle`` limits what
    followers read. ``suspension`` gets the fetches of followers from a partition that this broker does not lead.
    ``elsewhere`` counts the reads of partitions that are not here."""

    def __init__(
        self,
        hosted: Mapping[TopicPartition, HostedPartition],
        wakeups: Wakeups,
        *,
        absence: Callable[[TopicPartition], KafkaError],
        run_in_pool: Callable[[Callable[[], Any]], Awaitable[Any]],
        propose_isr: Callable[[Partition, PendingIsr], None] | None,
        monotonic_ms: Callable[[], int],
        throttle: ReplicationThrottle,
        suspension: LeadershipSuspension,
        elsewhere: TopicTraffic,
    ) -> None:
        self._suspension = suspension
        self._elsewhere = elsewhere
        self._throttle = throttle
        self._hosted = hosted
        self._wakeups = wakeups
        self._absence = absence
        self.run_in_pool = run_in_pool
        self._propose_isr = propose_isr
        self._monotonic_ms = monotonic_ms

    def fetch(
        self, params: FetchParams, fetches: list[PartitionFetch], done: Done, parked: Parked | None = None
    ) -> FetchResults | None:
        """Read partitions in their order: the results, or None when ``done`` gets them later, once.

        The results come at once when there are ``min_bytes`` of them, when there is an error or a divergence to tell,
        or when the fetch does not want to wait. A missing partition is by itself no reason to answer at once, because
        it may be created meanwhile. ``parked`` gets the operation when the fetch has begun to wait for records.
        """
        try:
            read = self._read(params, fetches, from_fetcher=True, cached_only=True)
        except NotCachedError:
            self._fetch_after_warm_up(params, fetches, done, parked)
            return None
        if self._is_enough(params, read):
            return read.results
        self._park(params, fetches, read, done, parked)
        return None

    def _fetch_after_warm_up(
        self, params: FetchParams, fetches: list[PartitionFetch], done: Done, parked: Parked | None
    ) -> None:
        """Look the offsets up in the worker pool first. The same look-up on the loop then finds its pages cached."""
        positions = [
            (hosted.log, fetch.fetch_offset)
            for fetch in fetches
            if fetch.topic_partition is not None and (hosted := self._hosted.get(fetch.topic_partition)) is not None
        ]

        def warm_up_all() -> None:
            for log, offset in positions:
                warm_up(log, offset)

        def warmed(future: "asyncio.Future[None]") -> None:
            if future.cancelled():
                return
            read = self._read(params, fetches, from_fetcher=True, cached_only=False)
            if self._is_enough(params, read):
                done(read.results)
            else:
                self._park(params, fetches, read, done, parked)

        asyncio.ensure_future(self.run_in_pool(warm_up_all)).add_done_callback(warmed)

    def _is_enough(self, params: FetchParams, read: _Read) -> bool:
        """Whether the fetch is answered now."""
        if read.is_urgent or params.max_wait_ms <= 0:
            return True
        if read.size_bytes >= params.min_bytes:
            return read.size_bytes > _LITTLE_BYTES or not self._should_gather(params, read.results)
        return read.size_bytes > 0 and self._is_at_a_segments_end(params, read.results)

    def _should_gather(self, params: FetchParams, results: FetchResults) -> bool:
        """Whether the fetch waits for more although it has enough: a consumer with few new records of partitions that
        have just been sent to many consumers."""
        if params.isolation is Isolation.LOG_END or params.min_bytes > 1 or params.max_bytes <= _LITTLE_BYTES:
            return False
        is_paused = self._wakeups.fetches.is_paused
        return all(
            fetch.max_bytes > _LITTLE_BYTES and is_paused(self._hosted[fetch.topic_partition].waiting_consumers)
            for fetch, result in results
            if result.size_bytes and fetch.topic_partition is not None
        )

    def _is_at_a_segments_end(self, params: FetchParams, results: FetchResults) -> bool:
        """Whether waiting would bring no more of a partition with new records: a read stops where its segment ends."""
        return any(
            result.size_bytes
            and fetch.topic_partition is not None
            and available_bytes(self._hosted[fetch.topic_partition], fetch, params) is None
            for fetch, result in results
        )

    def _park(
        self, params: FetchParams, fetches: list[PartitionFetch], read: _Read, done: Done, parked: Parked | None
    ) -> None:
        """Wait at each partition until they have enough together, or until ``max_wait_ms`` have passed."""

        def finish() -> None:
            done(self._read(params, fetches, from_fetcher=False, cached_only=False).results)

        operation = self._wakeups.fetches.delayed_fetch(params, finish)
        is_follower = params.isolation is Isolation.LOG_END
        gathering: list[HostedPartition] = []
        for fetch, result in read.results:
            hosted = self._hosted.get(fetch.topic_partition) if fetch.topic_partition is not None else None
            if hosted is not None:
                operation.watch(hosted.waiting_followers if is_follower else hosted.waiting_consumers, fetch)
                if result.size_bytes:
                    operation.note_available(fetch, result.size_bytes)
                    if params.min_bytes <= 1:
                        gathering.append(hosted)
        self._wakeups.fetches.park(operation)
        for hosted in gathering:
            self._wakeups.look_at_consumers(hosted)
        if parked is not None:
            parked(operation)

    def _read(
        self, params: FetchParams, fetches: list[PartitionFetch], *, from_fetcher: bool, cached_only: bool
    ) -> _Read:
        """Read each partition. ``from_fetcher``: a request has just come, so a follower's progress is noted; False when
        a parked fetch is read again. ``cached_only``: this is the first pass, which counts the reads, and it raises
        NotCachedError."""
        limit = params.max_bytes
        min_one_batch = not params.hard_max_bytes
        nearest = params.nearest
        results: FetchResults = []
        total = 0
        is_urgent = False
        is_anything_there = False
        for fetch in fetches:
            topic_partition = fetch.topic_partition
            hosted = self._hosted.get(topic_partition) if topic_partition is not None else None
            if cached_only and hosted is not None:
                hosted.traffic.total_fetch_requests += 1
            max_bytes = fetch.max_bytes if fetch.max_bytes < limit else limit
            try:
                if hosted is None:
                    raise UnknownTopicOrPartitionError() if topic_partition is None else self._absence(topic_partition)
                if params.is_follower:
                    result = self._read_for_follower(
                        hosted, fetch, params, max_bytes, min_one_batch, from_fetcher, cached_only
                    )
                else:
                    result = (
                        (None if nearest is None else sent_on(hosted, fetch, nearest, self._monotonic_ms()))
                        or result_at_end(hosted, fetch, params)
                        or read_partition(
                            hosted, fetch, params, max_bytes, min_one_batch=min_one_batch, cached_only=cached_only
                        )
                    )
            except NotCachedError:
                for uncounted in fetches[len(results) + 1 :]:
                    self._traffic_of(uncounted).total_fetch_requests += 1
                raise
            except KafkaError as error:
                result = FetchResult(error.code)
                self._count_failure(fetch, error, is_first_pass=cached_only)
                is_urgent = is_urgent or not isinstance(error, UnknownTopicOrPartitionError)
            else:
                is_anything_there = True
                size = result.size_bytes
                if size:
                    min_one_batch = False
                    total += size
                    limit = limit - size if size < limit else 0
                elif result.diverging_epoch is not None or result.preferred_read_replica >= 0:
                    is_urgent = True
            results.append((fetch, result))
        return _Read(results, total, is_urgent or not is_anything_there)

    def _traffic_of(self, fetch: PartitionFetch) -> TopicTraffic:
        hosted = self._hosted.get(fetch.topic_partition) if fetch.topic_partition is not None else None
        return self._elsewhere if hosted is None else hosted.traffic

    def _count_failure(self, fetch: PartitionFetch, error: KafkaError, *, is_first_pass: bool) -> None:
        traffic = self._traffic_of(fetch)
        if traffic is self._elsewhere and is_first_pass and not isinstance(error, UnknownTopicOrPartitionError):
            traffic.total_fetch_requests += 1
        if error.code not in _EXPECTED_CODES:
            traffic.failed_fetch_requests += 1

    def _read_for_follower(
        self,
        hosted: HostedPartition,
        fetch: PartitionFetch,
        params: FetchParams,
        max_bytes: int,
        min_one_batch: bool,
        from_fetcher: bool,
        cached_only: bool,
    ) -> FetchResult:
        partition = hosted.partition
        if partition.leader is None and from_fetcher:
            self._suspension.follower_fetched(hosted, params.replica_id, fetch.current_leader_epoch)
        partition.check_readable(fetch.current_leader_epoch, leader_only=True)
        replica = partition.check_follower(params.replica_id, fetch.current_leader_epoch)
        leader_end_offset = hosted.log.log_end_offset  # before the read: appends meanwhile are no lag of the follower's
        result = end_for_follower(hosted, fetch) or read_partition(
            hosted, fetch, params, max_bytes, min_one_batch=min_one_batch, cached_only=cached_only
        )
        if result.size_bytes and hosted.is_throttled_as_leader:
            self._apply_throttle(hosted, params.replica_id, result)
        if from_fetcher and result.diverging_epoch is None:
            progress = partition.record_follower_fetch(
                replica,
                fetch.fetch_offset,
                fetch.log_start_offset,
                self._monotonic_ms(),
                leader_end_offset,
                params.replica_epoch,
                may_propose=self._propose_isr is not None,
            )
            if progress.isr_change is not None and self._propose_isr is not None:
                self._propose_isr(partition, progress.isr_change)
            if progress.high_watermark_moved:
                hosted.high_watermark_mover = params.replica_id
                self._wakeups.high_watermark_moved(hosted)
            self._wakeups.low_watermark_moved(hosted)
        return result

    def _apply_throttle(self, hosted: HostedPartition, replica_id: int, result: FetchResult) -> None:
        """Withhold the records from a replica that is not in sync when throttled replicas have had too much lately."""
        leader, now_ms = hosted.partition.leader, self._monotonic_ms()
        if leader is not None and replica_id not in leader.isr.members and self._throttle.is_exceeded(now_ms):
            result.records = None
            result.size_bytes = 0
        else:
            self._throttle.record(result.size_bytes, now_ms)

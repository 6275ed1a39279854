"""The reads of fetches over several partitions: answered at once, looked up by a worker first, or parked for more."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ...base.topic_partition import TopicPartition
from ...protocol.errors import KafkaError, UnknownTopicOrPartitionError
from ...storage.files.files import NotCachedError
from ..partition.delayed_fetch import DelayedFetch
from ..partition.fetch import FetchParams, FetchResult, PartitionFetch
from ..partition.hosted_partition import HostedPartition
from ..partition.isolation import Isolation
from ..partition.isr import PendingIsr
from ..partition.partition import Partition
from ..partition.reader import available_bytes, read_partition, sent_on, warm_up
from ..partition.reads_at_end import end_for_follower, result_at_end
from ..partition.wakeups import Wakeups
from .replication_throttle import ReplicationThrottle

__all__ = ["FetchReads", "FetchResults"]

FetchResults = list[tuple[PartitionFetch, FetchResult]]
Done = Callable[[FetchResults], None]
Parked = Callable[[DelayedFetch], None]

_LITTLE_BYTES = 192 * 1024
"""Who gets more is not kept waiting for more still."""


class FetchReads:
    """``absence``: the error for a partition that is not among those ``hosted``. ``throttle`` is for followers. The
    rest is as for `PartitionSet`."""

    def __init__(
        self,
        hosted: Mapping[TopicPartition, HostedPartition],
        wakeups: Wakeups,
        *,
        absence: Callable[[TopicPartition], KafkaError],
        offload: Callable[[Callable[[], Any]], Awaitable[Any]],
        propose_isr: Callable[[Partition, PendingIsr], None] | None,
        monotonic_ms: Callable[[], int],
        throttle: ReplicationThrottle,
    ) -> None:
        self._throttle = throttle
        self._hosted = hosted
        self._wakeups = wakeups
        self._absence = absence
        self._offload = offload
        self._propose_isr = propose_isr
        self._monotonic_ms = monotonic_ms

    def fetch(
        self, params: FetchParams, fetches: list[PartitionFetch], done: Done, parked: Parked | None = None
    ) -> FetchResults | None:
        """See `PartitionSet.fetch`."""
        try:
            return self._fetch_or_park(params, fetches, done, parked, cached_only=True)
        except NotCachedError:
            self._fetch_cold(params, fetches, done, parked)
            return None

    def _fetch_cold(
        self, params: FetchParams, fetches: list[PartitionFetch], done: Done, parked: Parked | None
    ) -> None:
        """Look the offsets up in the worker pool first; done again on the loop, that touches no disk."""
        positions = [
            (hosted.log, fetch.fetch_offset)
            for fetch in fetches
            if fetch.topic_partition is not None and (hosted := self._hosted.get(fetch.topic_partition)) is not None
        ]

        def warm_up_all() -> None:
            for log, offset in positions:
                warm_up(log, offset)

        def warmed(future: "asyncio.Future[None]") -> None:
            if not future.cancelled():
                results = self._fetch_or_park(params, fetches, done, parked, cached_only=False)
                if results is not None:
                    done(results)

        asyncio.ensure_future(self._offload(warm_up_all)).add_done_callback(warmed)

    def _fetch_or_park(
        self,
        params: FetchParams,
        fetches: list[PartitionFetch],
        done: Done,
        parked: Parked | None,
        *,
        cached_only: bool,
    ) -> FetchResults | None:
        results, size_bytes, is_urgent = self._read_all(params, fetches, from_fetcher=True, cached_only=cached_only)
        if is_urgent or params.max_wait_ms <= 0:
            return results
        if size_bytes >= params.min_bytes:
            until_s = self._gathers_until_s(params, results) if size_bytes <= _LITTLE_BYTES else None
            if until_s is None:
                return results
            self._wakeups.fetches.gather([self._park(params, fetches, results, done, parked)], until_s)
            return None
        if size_bytes and self._is_at_a_segments_end(params, results):
            return results
        self._park(params, fetches, results, done, parked)
        return None

    def _gathers_until_s(self, params: FetchParams, results: FetchResults) -> float | None:
        """For a consumer that gets little because it has read up to the end just now, as many others have: when the
        first of the partitions ends its pause. None for anyone else."""
        if params.isolation is Isolation.LOG_END or params.max_bytes <= _LITTLE_BYTES:
            return None
        until_s = None
        for fetch, result in results:
            if result.size_bytes and fetch.topic_partition is not None:
                watchers = self._hosted[fetch.topic_partition].waiting_consumers
                if fetch.max_bytes <= _LITTLE_BYTES or not self._wakeups.fetches.is_paused(watchers):
                    return None
                until_s = watchers.paused_until_s if until_s is None else min(until_s, watchers.paused_until_s)
        return until_s

    def _is_at_a_segments_end(self, params: FetchParams, results: FetchResults) -> bool:
        """Whether waiting would bring no more of what was found: a read stops where its segment ends."""
        return any(
            result.size_bytes
            and fetch.topic_partition is not None
            and available_bytes(self._hosted[fetch.topic_partition], fetch, params) is None
            for fetch, result in results
        )

    def _park(
        self,
        params: FetchParams,
        fetches: list[PartitionFetch],
        results: FetchResults,
        done: Done,
        parked: Parked | None,
    ) -> DelayedFetch:
        def finish() -> None:
            done(self._read_all(params, fetches, from_fetcher=False, cached_only=False)[0])

        operation = self._wakeups.fetches.delayed_fetch(params, finish)
        is_follower = params.isolation is Isolation.LOG_END
        hosted_partitions = self._hosted
        for fetch, result in results:
            hosted = hosted_partitions.get(fetch.topic_partition) if fetch.topic_partition is not None else None
            if hosted is not None:
                operation.watch(hosted.waiting_followers if is_follower else hosted.waiting_consumers, fetch)
                if result.size_bytes:
                    operation.note_available(fetch, result.size_bytes)
        self._wakeups.fetches.park(operation)
        if parked is not None:
            parked(operation)
        return operation

    def _read_all(
        self, params: FetchParams, fetches: list[PartitionFetch], *, from_fetcher: bool, cached_only: bool
    ) -> tuple[FetchResults, int, bool]:
        """(results, bytes read, whether something should be told at once). ``from_fetcher``: it is here to ask, so a
        follower's progress is noted; else we read for it because something changed."""
        limit = params.max_bytes
        min_one_batch = not params.hard_max_bytes
        is_follower = params.is_follower
        results: FetchResults = []
        total = 0
        is_urgent = False
        is_anything_there = False
        hosted_partitions = self._hosted
        nearest = params.nearest
        for fetch in fetches:
            topic_partition = fetch.topic_partition
            hosted = hosted_partitions.get(topic_partition) if topic_partition is not None else None
            if nearest is not None and hosted is not None:
                elsewhere = sent_on(hosted, fetch, nearest, self._monotonic_ms())
                if elsewhere is not None:
                    is_anything_there = is_urgent = True
                    results.append((fetch, elsewhere))
                    continue
            max_bytes = fetch.max_bytes if fetch.max_bytes < limit else limit
            try:
                if hosted is None:
                    raise (
                        self._absence(topic_partition)
                        if topic_partition is not None
                        else UnknownTopicOrPartitionError()
                    )
                if is_follower:
                    result = self._read_for_follower(
                        hosted, fetch, params, max_bytes, min_one_batch, from_fetcher, cached_only
                    )
                else:
                    result = result_at_end(hosted, fetch, params) or read_partition(
                        hosted, fetch, params, max_bytes, min_one_batch=min_one_batch, cached_only=cached_only
                    )
            except KafkaError as error:
                result = FetchResult(error.code)
                is_urgent = is_urgent or not isinstance(error, UnknownTopicOrPartitionError)
            else:
                is_anything_there = True
                size = result.size_bytes
                if size:
                    min_one_batch = False
                    total += size
                    limit = limit - size if size < limit else 0
                elif result.diverging_epoch is not None:
                    is_urgent = True
            results.append((fetch, result))
        return results, total, is_urgent or not is_anything_there

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
                self._wakeups.high_watermark_moved(hosted)
            self._wakeups.low_watermark_moved(hosted)
        return result

    def _apply_throttle(self, hosted: HostedPartition, replica_id: int, result: FetchResult) -> None:
        """A replica that is not in sync gets nothing when throttled replicas have had too much lately."""
        leader, now_ms = hosted.partition.leader, self._monotonic_ms()
        if leader is not None and replica_id not in leader.isr.members and self._throttle.is_exceeded(now_ms):
            result.records = None
            result.size_bytes = 0
        else:
            self._throttle.record(result.size_bytes, now_ms)

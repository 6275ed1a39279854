"""One fetch of a member of a share group: reads what may be acquired, acquires it, or waits for it.

While the fetch waits, others may acquire the records that it reads; then it looks again. Records come to be available
by appends, which wake the fetch as they wake a consumer's, and by changes of share partitions.
"""

from asyncio import Future, ensure_future
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...base.timers import TimerHandle
from ...protocol.errors import ErrorCode
from ...replication.partition.delayed_fetch import DelayedFetch
from ...replication.partition.fetch import FetchParams, FetchResults, PartitionFetch
from ...storage.files.files import FileRegion
from .acquisition import Acquisition
from .active_share_partition import ActiveSharePartition
from .fetched_records import FetchedRecords, ShareFetchParams, ShareFetchParts, partition_fetch
from .read_batches import RegionToRead, read_batches, region_to_read

__all__ = ["ShareFetch"]

_MAX_VAIN_LOOKS = 10
"""After so many reads of which others had all records, the fetch waits for a change of a share partition."""


class ShareFetch:
    """``done`` gets the results once, unless the fetch is abandoned."""

    def __init__(
        self,
        parts: ShareFetchParts,
        params: ShareFetchParams,
        actives: Sequence[ActiveSharePartition],
        done: Callable[[list[FetchedRecords]], None],
    ) -> None:
        self._parts = parts
        self._params = params
        self._actives = actives
        self._done: Callable[[list[FetchedRecords]], None] | None = done
        self._deadline_s = parts.timers.time() + max(params.max_wait_ms, 0) / 1000
        self._operation: DelayedFetch | None = None
        self._timer: TimerHandle | None = None
        self._is_reading = False
        self._is_stale = False
        self._vain_looks = 0
        self._by_key: dict[tuple[str | int, int], ActiveSharePartition] = {}

    @property
    def is_done(self) -> bool:
        return self._done is None

    def look(self) -> None:
        """Read what may be acquired now, or wait for it."""
        if self._done is None or self._is_reading:
            return
        self._stop_waiting()
        self._is_stale = False
        if not any(active.error is ErrorCode.NONE for active in self._actives):
            self._finish([])
            return
        params = self._params
        ready = [
            (active, active.records.next_fetch_offset())
            for active in self._actives
            if active.records is not None and active.can_acquire()
        ]
        for active in self._actives:
            if active.error is ErrorCode.NONE:
                active.waiting[self._woken] = None
        self._parts.memory.call_when_not_full(self._woken)
        if not ready:
            self._wait()
            return
        max_bytes = max(params.max_bytes // len(ready), 1)
        fetches = [partition_fetch(active.place, offset, max_bytes) for active, offset in ready]
        self._by_key = {fetch.key: active for fetch, (active, _) in zip(fetches, ready, strict=True)}
        self._is_reading = True
        fetch_params = FetchParams(self._left_ms, params.min_bytes, params.max_bytes, params.isolation)
        results = self._parts.reads.fetch(fetch_params, fetches, self._read, self._parked)
        if results is not None:
            self._read(results)

    def answer_early(self) -> None:
        """Respond with the records that are there."""
        self._deadline_s = self._parts.timers.time()
        if self._operation is not None:
            self._operation.complete()
        elif not self._is_reading:
            self._finish([])

    def abandon(self) -> None:
        """The client has gone."""
        self._done = None
        self._stop_waiting()

    @property
    def _left_ms(self) -> int:
        return max(int((self._deadline_s - self._parts.timers.time()) * 1000), 0)

    def _parked(self, operation: DelayedFetch) -> None:
        self._operation, self._is_reading, self._vain_looks = operation, False, 0
        if self._is_stale:  # a share partition changed while the log was read
            self._woken()

    def _wait(self) -> None:
        self._timer = self._parts.timers.call_later(self._left_ms / 1000, self._finish, [])

    def _woken(self) -> None:
        """A share partition changed: look again in the loop's next iteration."""
        self._is_stale = True
        if self._done is not None and not self._is_reading:
            self._parts.timers.call_soon(self.look)

    def _stop_waiting(self) -> None:
        for active in self._actives:
            active.waiting.pop(self._woken, None)
        self._parts.memory.waiting.pop(self._woken, None)
        if self._operation is not None:
            self._operation.abandon()
            self._operation = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _read(self, results: FetchResults) -> None:
        """The log was read, up to where records are; now find out which batches these are."""
        self._operation, self._is_reading = None, True
        if self._done is None:
            return
        fetched: list[FetchedRecords] = []
        readable: list[tuple[PartitionFetch, FileRegion]] = []
        to_read: list[RegionToRead] = []
        for fetch, result in results:
            active = self._by_key[fetch.key]
            if result.error is ErrorCode.OFFSET_OUT_OF_RANGE:
                self._starts_later(active)
            elif result.error is not ErrorCode.NONE:
                fetched.append(FetchedRecords(active, result.error))
            elif result.records is not None:
                readable.append((fetch, result.records))
                most = self._params.max_records
                to_read.append(region_to_read(result.records, active.records, most, result.aborted_transactions))
        if readable:
            future = ensure_future(self._parts.reads.run_in_pool(partial(read_batches, to_read)))
            future.add_done_callback(partial(self._batches_known, fetched, readable))
        else:
            self._conclude(fetched)

    def _starts_later(self, active: ActiveSharePartition) -> None:
        """The log has no record at the offset. If it does not begin later either, it may grow up to there again."""
        offset = self._parts.log_start_offset(active)
        if active.records is not None and offset > active.records.start_offset:
            active.log_starts_at(offset)
        else:
            self._vain_looks = _MAX_VAIN_LOOKS

    def _batches_known(
        self,
        fetched: list[FetchedRecords],
        readable: Sequence[tuple[PartitionFetch, FileRegion]],
        future: "Future[Any]",
    ) -> None:
        if self._done is None or future.cancelled():
            return
        left, params = self._params.max_records, self._params
        for (fetch, region), batches in zip(readable, future.result(), strict=True):
            active = self._by_key[fetch.key]
            if isinstance(batches, ErrorCode):
                fetched.append(FetchedRecords(active, batches))
                continue
            deadline_ms = active.lock_deadline_ms()
            wish = Acquisition(params.member_id, left, params.batch_size, deadline_ms, params.is_record_limit)
            acquired = active.acquire(wish, fetch.fetch_offset, batches)
            if acquired:
                left -= sum(each.last - each.first + 1 for each in acquired)
                records = batches.part(region, acquired[0].first, acquired[-1].last)
                fetched.append(FetchedRecords(active, ErrorCode.NONE, records, acquired))
        self._conclude(fetched)

    def _conclude(self, fetched: list[FetchedRecords]) -> None:
        """Answer, or look again when others had all the records."""
        self._is_reading = False
        self._vain_looks += 1
        if fetched or self._left_ms <= 0 or self._params.min_bytes <= 0:
            self._finish(fetched)
        elif self._vain_looks > _MAX_VAIN_LOOKS and not self._is_stale:
            self._wait()
        else:
            self._parts.timers.call_soon(self.look)

    def _finish(self, fetched: list[FetchedRecords]) -> None:
        done, self._done = self._done, None
        self._stop_waiting()
        if done is not None:
            told = {each.active for each in fetched}
            gone = [active for active in self._actives if active.error is not ErrorCode.NONE and active not in told]
            done([*fetched, *(FetchedRecords(active, active.error) for active in gone)])

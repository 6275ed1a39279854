"""One partition's log: appends, reads, rolls, truncations, retention.

Plain sequential code without locks. All that changes the log runs on its strand, one step at a time; `read` and the
other look-ups work from `view`, which is replaced by each such step, and may be called from any thread meanwhile.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, NoReturn, TypeVar

from ..protocol.errors import KafkaError, KafkaStorageError, NotLeaderOrFollowerError, RecordBatchTooLargeError
from ..protocol.records.batch import NO_TIMESTAMP
from . import checkpoint_file, partition_metadata, retention
from .append_validation import prepare_leader_append
from .files import Buffer, File, Files, is_out_of_descriptors, is_passing
from .invariant import invariant
from .leader_epochs import EpochEntry, LeaderEpochs
from .log_config import LogConfig
from .log_host import LogHost
from .log_view import LogReadResult, LogView
from .no_space import NoDescriptorsError, NoSpaceError
from .prepared_append import PreparedAppend
from .producer_recovery import rebuild_producer_state
from .producer_snapshots import ProducerSnapshots
from .producer_state import AppendOrigin, EndMarker, ProducerState
from .replica_append import prepare_replica_append
from .segment import FoundTimestamp, Segment
from .topic_partition import TopicPartition
from .transaction_index import AbortedTransaction

logger = logging.getLogger(__name__)

LEADER_EPOCH_FILE = "leader-epoch-checkpoint"
_MAX_RELATIVE_OFFSET = (1 << 31) - 1
T = TypeVar("T")


class LogAppendInfo(NamedTuple):
    """What became of an append. Nothing was written when `duplicate`, or when `first_offset` is -1 (no whole batch).

    A duplicate has the offsets, and in `log_append_time_ms` the timestamp, of the batch that it repeats.
    `log_append_time_ms` is -1 with CreateTime.
    """

    first_offset: int
    last_offset: int
    max_timestamp: int
    offset_of_max_timestamp: int
    log_append_time_ms: int
    log_start_offset: int
    size_bytes: int
    duplicate: bool


class LeaderAppend(NamedTuple):
    """An append that waits in a strand. `records` may be patched in place."""

    records: Buffer
    leader_epoch: int
    now_ms: int
    origin: AppendOrigin = AppendOrigin.CLIENT


class FollowerAppend(NamedTuple):
    """Records from a leader; dropped with NotLeaderOrFollowerError behind a fence of a later epoch."""

    records: Buffer
    now_ms: int
    leader_epoch: int | None = None


class FlushPlan(NamedTuple):
    """What to sync, without the strand, so that the log is durable before `end_offset`."""

    targets: list[str | File]
    directory: str | None
    end_offset: int
    truncation_count: int

    def run(self, files: Files) -> None:
        for target in self.targets:
            if isinstance(target, str):
                files.sync_path(target)
            else:
                target.sync()
        if self.directory is not None:
            files.sync_directory(self.directory)


class Log:
    """See the module's text. Made by `log_loader.load_log`."""

    def __init__(
        self,
        files: Files,
        host: LogHost,
        directory: str,
        topic_partition: TopicPartition,
        config: LogConfig,
        segments: Sequence[Segment],
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        leader_epochs: LeaderEpochs,
        producer_state: ProducerState,
        snapshots: ProducerSnapshots,
        topic_id: uuid.UUID | None,
        now_ms: int,
    ) -> None:
        self._files = files
        self._host = host
        self.directory = directory
        self.topic_partition = topic_partition
        self.config = config
        self.recovery_point = recovery_point
        self.leader_epochs = leader_epochs
        self.producer_state = producer_state
        self.topic_id = topic_id
        self.last_flush_ms = now_ms
        self.is_offline = False
        self._is_closed = False
        self.is_full = False
        """The last write found no space. Cleared by the next one that does."""
        self._snapshots = snapshots
        self._fence_epoch = -1
        self._epochs_unwritten = False  # for want of space
        self._high_watermark_hint = 0
        self._truncation_count = 0
        self._roll_jitter_of(segments[-1])
        self.view = self._view_of(tuple(segments), log_start_offset, log_end_offset)

    # --- what the loop may look at ------------------------------------------------------------------------------

    @property
    def log_start_offset(self) -> int:
        return self.view.log_start_offset

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets (LEO)."""
        return self.view.log_end_offset

    @property
    def size_bytes(self) -> int:
        return self.view.size_bytes

    @property
    def segments(self) -> tuple[Segment, ...]:
        return self.view.segments

    @property
    def unflushed_messages(self) -> int:
        return self.view.log_end_offset - self.recovery_point

    def read(
        self,
        start_offset: int,
        max_bytes: int,
        max_offset: int,
        min_one_batch: bool,
        with_aborted_transactions: bool = False,
    ) -> LogReadResult:
        """The batches from the one with `start_offset` on, as a region of at most `max_bytes`, before `max_offset`.

        With `min_one_batch` the first batch is there whole, whatever its size. The region may end inside a batch and
        may begin with one that also holds records before `start_offset`. From any thread. Raises OffsetOutOfRangeError
        outside [log start, log end], KafkaStorageError when the files cannot be read.
        """
        return self._look_up(
            lambda view: view.read(start_offset, max_bytes, max_offset, min_one_batch, with_aborted_transactions)
        )

    def offset_for_timestamp(self, timestamp: int) -> FoundTimestamp | None:
        """The first record at or above `timestamp` (ms); None when there is none. Reads records: not for the loop."""
        return self._look_up(lambda view: view.offset_for_timestamp(timestamp))

    def offset_of_max_timestamp(self) -> FoundTimestamp | None:
        """The first record that has the greatest timestamp (KIP-734). Reads records: not for the loop."""
        return self._look_up(lambda view: view.offset_of_max_timestamp())

    def aborted_transactions(self, start_offset: int, upper_bound: int) -> list[AbortedTransaction]:
        """The aborted transactions that touch [start_offset, upper_bound)."""
        return self._look_up(lambda view: view.aborted_transactions(start_offset, upper_bound))

    def bytes_between(self, start_offset: int, end_offset: int) -> int:
        """Bytes of the batches from `start_offset` up to, not including, `end_offset`."""
        return self._look_up(lambda view: view.bytes_between(start_offset, end_offset))

    def _look_up(self, search: Callable[[LogView], T]) -> T:
        """Run a search on the current view; once more on a newer one when files went away under it."""
        if self.is_offline:
            raise self._offline_error()
        for attempt in (1, 2):
            view = self.view
            try:
                return search(view)
            except (OSError, IndexError) as error:
                if attempt == 2 or self.view is view:
                    if isinstance(error, OSError) and is_out_of_descriptors(error):
                        raise self._passing_error(error) from error
                    if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
                        self._fail("cannot read", error)
                    raise KafkaStorageError(f"{self.topic_partition}: cannot read: {error}") from error
        raise AssertionError("unreachable")

    def last_stable_offset(self, high_watermark: int) -> int:
        """Before it every transaction is decided and its marker is below `high_watermark` (LSO). From any thread."""
        self._high_watermark_hint = high_watermark
        return self.view.last_stable_offset(high_watermark)

    def end_offset_for_epoch(self, epoch: int) -> EpochEntry | None:
        """The largest leader epoch at or below `epoch` and the offset where it ends; None when that is not known."""
        found = self.leader_epochs.end_offset_for(epoch, self.view.log_end_offset)
        return None if found.start_offset < 0 else found

    @property
    def latest_epoch(self) -> int | None:
        """The leader epoch of the last entry; None when there is none."""
        epoch = self.leader_epochs.latest_epoch
        return None if epoch < 0 else epoch

    # --- appending ----------------------------------------------------------------------------------------------

    def fence(self, leader_epoch: int) -> None:
        """Appends of an older leader epoch fail from now on."""
        self._fence_epoch = max(self._fence_epoch, leader_epoch)

    def append_as_leader(
        self, records: Buffer, leader_epoch: int, now_ms: int, origin: AppendOrigin = AppendOrigin.CLIENT
    ) -> LogAppendInfo:
        """Check a record set, give it offsets and `leader_epoch`, and write it. `records` may be patched in place.

        Raises what `prepare_leader_append` and `ProducerState` raise, NotLeaderOrFollowerError behind a fence,
        RecordBatchTooLargeError, KafkaStorageError.
        """
        prepared = self._prepare_leader(LeaderAppend(records, leader_epoch, now_ms, origin), self.view.log_end_offset)
        return self._append_one(prepared, now_ms, origin)

    def append_as_follower(self, records: Buffer, now_ms: int, leader_epoch: int | None = None) -> LogAppendInfo:
        """Write what a leader sent, offsets and all. Raises what `prepare_replica_append` raises, and as above."""
        prepared = self._prepare_follower(FollowerAppend(records, now_ms, leader_epoch), self.view.log_end_offset)
        return self._append_one(prepared, now_ms, AppendOrigin.REPLICATION)

    def append_many(self, appends: Sequence[LeaderAppend | FollowerAppend]) -> list[LogAppendInfo | KafkaError]:
        """Appends in order, written together where possible; an append that is refused harms no other."""
        group = _AppendGroup(self)
        for append in appends:
            group.add(append)
        group.write()
        return group.results

    def _prepare_leader(self, append: LeaderAppend, next_offset: int) -> PreparedAppend | None:
        self._check_online()
        if append.leader_epoch < self._fence_epoch:
            raise self._fenced_error(append.leader_epoch)
        return prepare_leader_append(
            append.records,
            self.topic_partition,
            self.config,
            next_offset,
            append.leader_epoch,
            append.now_ms,
            append.origin,
        )

    def _prepare_follower(self, append: FollowerAppend, next_offset: int) -> PreparedAppend | None:
        self._check_online()
        if append.leader_epoch is not None and append.leader_epoch < self._fence_epoch:
            raise self._fenced_error(append.leader_epoch)
        return prepare_replica_append(append.records, self.topic_partition, next_offset)

    def _append_one(self, prepared: PreparedAppend | None, now_ms: int, origin: AppendOrigin) -> LogAppendInfo:
        if prepared is None:
            return self._nothing_appended()
        duplicate = self._check_producers(prepared, origin)
        if duplicate is not None:
            return duplicate
        self._make_room(prepared, now_ms)
        self._write((prepared,))
        self._maybe_flush(now_ms)
        return self._appended(prepared)

    def _check_producers(self, prepared: PreparedAppend, origin: AppendOrigin) -> LogAppendInfo | None:
        """Raise when a producer may not write this; return what answers a batch that is in the log already."""
        if origin is AppendOrigin.REPLICATION:
            return None
        state = self.producer_state
        for update in prepared.producers:
            if isinstance(update, EndMarker):
                state.check_marker(update)
                continue
            if origin is AppendOrigin.CLIENT:
                known = state.find_duplicate(update)
                if known is not None:
                    start, size = self.view.log_start_offset, prepared.size_bytes
                    return LogAppendInfo(
                        known.first_offset, known.last_offset, known.timestamp, -1, known.timestamp, start, size, True
                    )
            state.check_batch(update, origin)
        return None

    def _make_room(self, prepared: PreparedAppend, now_ms: int) -> None:
        """Note new leader epochs, and roll when the active segment is not to take this append."""
        if prepared.size_bytes > self.config.segment_bytes:
            raise RecordBatchTooLargeError(
                f"{self.topic_partition}: {prepared.size_bytes} bytes are too many for a segment of "
                f"{self.config.segment_bytes}"
            )
        latest_epoch = self.leader_epochs.latest_epoch
        for batch in prepared.batches:
            if batch.leader_epoch != latest_epoch or batch.magic < 2:
                self._note_epochs(prepared)
                break
        active = self.view.segments[-1]
        if active.should_roll(self.config, prepared.size_bytes, prepared.max_timestamp, prepared.last_offset, now_ms):
            expected = prepared.first_offset
            if expected < 0:  # magic 0 and 1 do not tell: the lowest that the last offset can be relative to
                expected = prepared.last_offset - _MAX_RELATIVE_OFFSET
            self.roll(now_ms, expected)

    def _note_epochs(self, prepared: PreparedAppend) -> None:
        changed = False
        epochs = self.leader_epochs
        for batch in prepared.batches:
            if batch.magic < 2:
                changed = epochs.clear() or changed
            elif batch.leader_epoch >= 0:
                changed = epochs.assign(batch.leader_epoch, batch.base_offset) or changed
        if changed:
            self._write_epochs()

    def _write(self, group: Sequence[PreparedAppend]) -> None:
        """Write appends that are checked and fit into the active segment; then note what they change, and publish."""
        view = self.view
        active = view.segments[-1]
        invariant(active.size_bytes == view.end_position, f"{self.topic_partition}: the view lags behind its segment")
        aborted = self._index_aborted(active, group)
        try:
            active.write([prepared.data for prepared in group])
        except OSError as error:
            self._undo_write(active, aborted, error)
        self.is_full = False
        next_offset = view.log_end_offset
        state = self.producer_state
        recent = active.recent
        try:
            for prepared in group:
                position = active.size_bytes
                if recent is not None:
                    for batch in prepared.batches:
                        recent.add(next_offset, position)
                        position += batch.size_bytes
                        next_offset = batch.last_offset + 1
                invariant(
                    prepared.last_offset >= view.log_end_offset, f"{self.topic_partition}: an append went backwards"
                )
                next_offset = prepared.last_offset + 1
                for update in prepared.producers:
                    if isinstance(update, EndMarker):
                        state.apply_marker(update)
                        state.forget_replicated(self._high_watermark_hint)
                    else:
                        state.apply_batch(update)
                state.end_offset = next_offset
                active.note_append(
                    prepared.size_bytes, prepared.last_offset, prepared.max_timestamp, prepared.offset_of_max
                )
        except OSError as error:
            raise self._fail("cannot write an index", error) from error
        self.view = LogView(
            self.topic_partition,
            view.segments,
            view.base_offsets,
            view.log_start_offset,
            next_offset,
            active.size_bytes,
            state.unstable,
        )

    def _index_aborted(self, active: Segment, group: Sequence[PreparedAppend]) -> int | None:
        """Note aborted transactions in the index, before their markers are written; return the first one's marker."""
        updates = [update for prepared in group for update in prepared.producers]
        if not any(isinstance(update, EndMarker) and update.is_abort for update in updates):
            return None
        aborted = self.producer_state.aborted_by(updates)
        if not aborted:
            return None
        first = aborted[0].last_offset
        try:
            active.log_ref.file()  # once it is open, a want of descriptors cannot come between index and log
            for transaction in aborted:
                active.transaction_index.append(transaction)
        except OSError as error:
            self._undo_write(active, first, error)
        return first

    def _undo_write(self, active: Segment, aborted_from: int | None, error: OSError) -> NoReturn:
        """After a failed write: back to the known length when it may work later, else the directory is lost."""
        if not is_passing(error):
            raise self._fail("cannot write", error) from error
        try:
            if not is_out_of_descriptors(error):  # then nothing was written
                active.log_ref.file().truncate(active.size_bytes)
            if aborted_from is not None:
                active.transaction_index.truncate_to(aborted_from)
        except OSError as second_error:
            raise self._fail("cannot cut back after a failed write", second_error) from second_error
        raise self._passing_error(error) from error

    def _passing_error(self, error: OSError) -> NoSpaceError:
        if is_out_of_descriptors(error):
            return NoDescriptorsError(f"{self.topic_partition}: no file descriptor left ({error})")
        if not self.is_full:
            logger.error(
                "%s: no space left in %s: appends are refused until there is", self.topic_partition, self.directory
            )
        self.is_full = True
        return NoSpaceError(f"{self.topic_partition}: no space left on device ({error})")

    def _appended(self, prepared: PreparedAppend) -> LogAppendInfo:
        return LogAppendInfo(
            prepared.first_offset,
            prepared.last_offset,
            prepared.max_timestamp,
            prepared.offset_of_max,
            prepared.log_append_time_ms,
            self.view.log_start_offset,
            prepared.size_bytes,
            False,
        )

    def _nothing_appended(self) -> LogAppendInfo:
        return LogAppendInfo(-1, -1, NO_TIMESTAMP, -1, NO_TIMESTAMP, self.view.log_start_offset, 0, False)

    # --- rolling and flushing -----------------------------------------------------------------------------------

    def roll(self, now_ms: int, expected_offset: int = 0) -> Segment:
        """Close the active segment and begin one at the log's end, or at `expected_offset` when that is greater."""
        self._check_online()
        view = self.view
        active = view.segments[-1]
        base_offset = max(expected_offset, view.log_end_offset)
        if active.size_bytes == 0 and active.base_offset == base_offset:
            return active
        invariant(
            base_offset > active.base_offset, f"{self.topic_partition}: a segment at {base_offset} is there already"
        )
        self._guard("cannot write the indexes of a segment", active.deactivate)
        if active.recent is not None:
            active.recent.end(view.log_end_offset, active.size_bytes)
        self.producer_state.end_offset = base_offset
        self._guard("cannot write a producer snapshot", lambda: self._take_snapshot(sync=False))
        segment = self._guard(
            "cannot make a segment",
            lambda: Segment.create(self._files, self.directory, base_offset, self.config, now_ms),
        )
        self._roll_jitter_of(segment)
        if len(view.segments) > 1:
            view.segments[-2].recent = None  # readers that lag this far find their way by the index
        self.view = self._view_of((*view.segments, segment), view.log_start_offset, view.log_end_offset)
        logger.info("%s: rolled to a new segment at offset %d", self.topic_partition, base_offset)
        self._host.rolled(self)
        return segment

    def _take_snapshot(self, *, sync: bool) -> None:
        self._snapshots.take(self.producer_state, sync=sync)

    def _roll_jitter_of(self, segment: Segment) -> None:
        segment.roll_jitter_ms = self._host.roll_jitter_ms(min(self.config.segment_jitter_ms, self.config.segment_ms))

    def plan_flush(self, *, with_active: bool = True) -> FlushPlan | None:
        """What has to be synced up to the log's end, or up to the active segment; None when that is done already.

        Its `run` needs no strand; afterwards `mark_flushed` moves the recovery point.
        """
        view = self.view
        end_offset = view.log_end_offset if with_active else view.base_offsets[-1]
        if end_offset <= self.recovery_point:
            return None
        first = max(view.slot_of(self.recovery_point), 0)
        segments = view.segments[first:] if with_active else view.segments[first:-1]
        targets: list[str | File] = []
        for segment in segments:
            targets.extend(self._guard("cannot write an index", segment.sync_targets))
            if segment.base_offset in self._snapshots.offsets:
                targets.append(self._snapshots.path(segment.base_offset))
        has_new_files = any(segment.base_offset >= self.recovery_point for segment in segments)
        return FlushPlan(targets, self.directory if has_new_files else None, end_offset, self._truncation_count)

    def mark_flushed(self, plan: FlushPlan, now_ms: int) -> None:
        """`plan` was run. It says nothing of a log that was truncated meanwhile."""
        self.last_flush_ms = now_ms
        if plan.truncation_count == self._truncation_count:
            self.recovery_point = max(self.recovery_point, plan.end_offset)

    def flush(self, now_ms: int) -> None:
        """Sync all of the log, on the strand."""
        plan = self.plan_flush()
        if plan is None:
            return
        self._guard("cannot sync", lambda: plan.run(self._files), may_be_full=False)
        self.mark_flushed(plan, now_ms)

    def _maybe_flush(self, now_ms: int) -> None:
        if self.view.log_end_offset - self.recovery_point >= self.config.flush_messages:
            self.flush(now_ms)

    # --- truncation and retention -------------------------------------------------------------------------------

    def truncate_to(self, offset: int, now_ms: int) -> bool:
        """Remove the batches that hold `offset` and what is behind it; return whether there were any."""
        self._check_online()
        if offset < 0:
            raise ValueError(f"{self.topic_partition}: cannot truncate to {offset}")
        view = self.view
        if offset >= view.log_end_offset:
            # This broker may have noted an epoch as leader and then appended nothing under it.
            self._change_epochs(self.leader_epochs.truncate_from_end(view.log_end_offset))
            return False
        if view.base_offsets[0] > offset:
            self.truncate_fully_and_start_at(offset, now_ms)
            return True
        logger.info(
            "%s: truncating to offset %d, the log ended at %d", self.topic_partition, offset, view.log_end_offset
        )
        kept = tuple(segment for segment in view.segments if segment.base_offset <= offset)
        removed = view.segments[len(kept) :]
        self._guard("cannot truncate", lambda: kept[-1].truncate_to(offset, now_ms=now_ms))
        log_start_offset = min(offset, view.log_start_offset)
        self._truncation_count += 1
        self.recovery_point = min(self.recovery_point, offset)
        self._change_epochs(self.leader_epochs.truncate_from_end(offset))
        self._guard(
            "cannot rebuild the producer state", lambda: self._rebuild_producers(kept, log_start_offset, offset, now_ms)
        )
        self.view = self._view_of(kept, log_start_offset, offset)
        self._delete_segments(removed)
        self._host.truncated(self)
        return True

    def truncate_fully_and_start_at(self, offset: int, now_ms: int, log_start_offset: int | None = None) -> None:
        """Remove everything; the next record gets `offset`."""
        self._check_online()
        start = offset if log_start_offset is None else log_start_offset
        view = self.view
        logger.info("%s: emptying the log, it starts at offset %d", self.topic_partition, offset)
        self._delete_segments(view.segments)
        segment = self._guard(
            "cannot make a segment", lambda: Segment.create(self._files, self.directory, offset, self.config, now_ms)
        )
        self._roll_jitter_of(segment)
        self._truncation_count += 1
        self.recovery_point = min(self.recovery_point, offset)
        self._change_epochs(self.leader_epochs.clear())
        self._guard("cannot delete the producer snapshots", self._snapshots.delete_all)
        self.producer_state.clear(offset)
        self._guard("cannot write a producer snapshot", lambda: self._take_snapshot(sync=True))
        self.view = self._view_of((segment,), start, offset)
        self._host.truncated(self)

    def _rebuild_producers(
        self, segments: Sequence[Segment], log_start_offset: int, end_offset: int, now_ms: int
    ) -> None:
        rebuild_producer_state(self.producer_state, self._snapshots, segments, log_start_offset, end_offset, now_ms)

    def increment_log_start_offset(self, offset: int) -> bool:
        """Records before `offset` are no longer there (their segments go with retention); return whether that is new.

        The caller has checked that it is not above the high watermark.
        """
        self._check_online()
        view = self.view
        if offset <= view.log_start_offset:
            return False
        invariant(
            offset <= view.log_end_offset, f"{self.topic_partition}: log start {offset} behind {view.log_end_offset}"
        )
        self._change_epochs(self.leader_epochs.truncate_from_start(offset))
        state = self.producer_state
        state.forget_replicated(offset)
        state.end_offset = max(state.end_offset, offset)
        self.view = self._view_of(view.segments, offset, view.log_end_offset)
        logger.info("%s: log start offset is %d now", self.topic_partition, offset)
        return True

    def apply_retention(self, now_ms: int, high_watermark: int) -> list[int]:
        """Delete the segments that are before the log start, beyond `retention.bytes` or older than `retention.ms`;
        return their base offsets. A compacted topic keeps the last two kinds."""
        self._check_online()
        config = self.config
        deleted: list[int] = []
        start = self.view.log_start_offset
        deleted += self._delete_leading(
            retention.before_log_start(self._facts(), high_watermark, start), "log start", now_ms
        )
        if config.delete:
            count = retention.beyond_size(self._facts(), high_watermark, config.retention_bytes)
            deleted += self._delete_leading(count, f"retention.bytes={config.retention_bytes}", now_ms)
            count = retention.beyond_time(self._facts(), high_watermark, config.retention_ms, now_ms)
            deleted += self._delete_leading(count, f"retention.ms={config.retention_ms}", now_ms)
        return deleted

    def _facts(self) -> list[retention.SegmentFacts]:
        view = self.view
        ends = (*view.base_offsets[1:], view.log_end_offset)
        facts: list[retention.SegmentFacts] = []
        for segment, end_offset in zip(view.segments, ends, strict=True):
            largest = self._guard("cannot read an index", segment.largest_timestamp)
            is_last = segment is view.segments[-1]
            facts.append(retention.SegmentFacts(segment.base_offset, end_offset, segment.size_bytes, largest, is_last))
        return facts

    def _delete_leading(self, count: int, reason: str, now_ms: int) -> list[int]:
        if count == 0:
            return []
        if count == len(self.view.segments):
            self.roll(now_ms)
        view = self.view
        removed = view.segments[:count]
        self.increment_log_start_offset(view.base_offsets[count])
        view = self.view
        self.view = self._view_of(view.segments[count:], view.log_start_offset, view.log_end_offset)
        bases = [segment.base_offset for segment in removed]
        logger.info("%s: deleting the segments %s by %s", self.topic_partition, bases, reason)
        self._delete_segments(removed)
        return bases

    def _delete_segments(self, segments: Iterable[Segment]) -> None:
        """Rename the files to `.deleted`; they go for good once readers had time to finish."""

        def mark() -> list[str]:
            paths: list[str] = []
            for segment in segments:
                paths += segment.mark_deleted()
                paths += self._snapshots.mark_deleted(segment.base_offset)
                segment.close_files()
            return paths

        paths = self._guard("cannot rename deleted segments", mark)
        if paths:
            self._host.delete_later(paths, self.config.file_delete_delay_ms)

    # --- epochs, names, end -------------------------------------------------------------------------------------

    def assign_epoch_start(self, leader_epoch: int) -> None:
        """Note that `leader_epoch` begins at the log's end: done by who becomes leader."""
        self._check_online()
        changed = self.leader_epochs.assign(leader_epoch, self.view.log_end_offset)
        self._change_epochs(changed or self._epochs_unwritten)

    def _change_epochs(self, changed: bool) -> None:
        if changed:
            self._write_epochs()

    def _write_epochs(self) -> None:
        path = os.path.join(self.directory, LEADER_EPOCH_FILE)
        entries = self.leader_epochs.entries
        self._epochs_unwritten = True
        self._guard("cannot write the leader epochs", lambda: checkpoint_file.write_epochs(self._files, path, entries))
        self._epochs_unwritten = False

    def assign_topic_id(self, topic_id: uuid.UUID) -> None:
        """Write the topic id; a log keeps the one it has. Raises ValueError when that is another."""
        if self.topic_id == topic_id:
            return
        if self.topic_id is not None:
            raise ValueError(f"{self.topic_partition} has topic id {self.topic_id}, not {topic_id}")
        path = os.path.join(self.directory, partition_metadata.FILE_NAME)
        self._guard("cannot write the topic id", lambda: partition_metadata.write_topic_id(self._files, path, topic_id))
        self.topic_id = topic_id

    def remove_expired_producers(self, now_ms: int) -> None:
        self.producer_state.remove_expired(now_ms)

    def update_config(self, config: LogConfig) -> None:
        """Go by other settings from now on; those of the indexes' size hold for new segments."""
        self.config = config
        self.producer_state.expiration_ms = config.producer_id_expiration_ms
        for segment in self.view.segments:
            segment.index_interval_bytes = config.index_interval_bytes

    def rename_directory(self, directory: str) -> None:
        """Move the log to another name in the same log directory (`topic-0.<id>-delete`)."""

        def rename() -> None:
            self._files.rename(self.directory, directory)
            self._files.sync_directory(os.path.dirname(directory))

        self._guard("cannot rename the directory", rename, may_be_full=False)
        self.directory = directory
        self._snapshots.directory = directory
        for segment in self.view.segments:
            segment.move_to(directory)

    def close(self) -> None:
        """Snapshot the producers and close the files; nothing changes the log any more. The caller has flushed."""
        if self.is_offline or self._is_closed:
            self.close_files()
            return
        self._guard("cannot write a producer snapshot", lambda: self._take_snapshot(sync=True))
        for segment in self.view.segments:
            if segment is self.view.segments[-1]:
                self._guard("cannot write an index", segment.close)
            else:
                segment.close_files()
        self._is_closed = True

    def close_files(self) -> None:
        """Let go of the files without writing anything."""
        for segment in self.view.segments:
            segment.close_files()

    def delete(self) -> None:
        """Remove the directory and all that is in it."""
        self.close_files()
        self._guard("cannot delete", lambda: self._files.delete_tree(self.directory), may_be_full=False)

    # --- failure ------------------------------------------------------------------------------------------------

    def mark_offline(self) -> None:
        """Every further use fails with KafkaStorageError: the log directory is lost."""
        self.is_offline = True

    def _guard(self, what: str, step: Callable[[], T], *, may_be_full: bool = True) -> T:
        """Run a step on files; an OSError takes the directory offline, unless the same step may work later."""
        try:
            return step()
        except OSError as error:
            if is_out_of_descriptors(error) or (may_be_full and is_passing(error)):
                raise self._passing_error(error) from error
            raise self._fail(what, error) from error

    def _fail(self, what: str, error: OSError) -> KafkaStorageError:
        self.is_offline = True
        self._host.directory_failed(f"{self.topic_partition}: {what} in {self.directory}", error)
        return KafkaStorageError(f"{self.topic_partition}: {what}: {error}")

    def _check_online(self) -> None:
        if self.is_offline:
            raise self._offline_error()
        if self._is_closed:
            raise KafkaStorageError(f"{self.topic_partition}: the log is closed")

    def _offline_error(self) -> KafkaStorageError:
        return KafkaStorageError(f"{self.topic_partition}: its log directory is offline")

    def _fenced_error(self, leader_epoch: int) -> NotLeaderOrFollowerError:
        return NotLeaderOrFollowerError(
            f"{self.topic_partition}: accepted under leader epoch {leader_epoch}, it is {self._fence_epoch} now"
        )

    def _view_of(self, segments: tuple[Segment, ...], log_start_offset: int, log_end_offset: int) -> LogView:
        invariant(log_start_offset <= log_end_offset, f"{self.topic_partition}: log start behind the log's end")
        return LogView(
            self.topic_partition,
            segments,
            tuple(segment.base_offset for segment in segments),
            log_start_offset,
            log_end_offset,
            segments[-1].size_bytes,
            self.producer_state.unstable,
        )

    def __repr__(self) -> str:
        return f"Log({self.topic_partition}, {self.log_start_offset}..{self.log_end_offset}, {self.directory})"


class _AppendGroup:
    """Appends that go into the log in one write. What must see an earlier one's effect ends the group first."""

    def __init__(self, log: Log) -> None:
        self.results: list[LogAppendInfo | KafkaError] = []
        self._log = log
        self._members: list[tuple[int, PreparedAppend]] = []
        self._size_bytes = 0
        self._producer_ids: set[int] = set()
        self._now_ms = 0

    def add(self, append: LeaderAppend | FollowerAppend) -> None:
        log = self._log
        self._now_ms = append.now_ms
        try:
            if isinstance(append, LeaderAppend):
                prepared = log._prepare_leader(append, self._next_offset())
                origin = append.origin
            else:
                prepared = log._prepare_follower(append, self._next_offset())
                origin = AppendOrigin.REPLICATION
            if prepared is None:
                self.results.append(log._nothing_appended())
                return
            if self._members and self._ends_group(prepared, append.now_ms):
                error = self.write()
                if error is not None:  # this one has offsets behind those that are not there now
                    self.results.append(error)
                    return
            duplicate = log._check_producers(prepared, origin)
            if duplicate is not None:
                self.results.append(duplicate)
                return
            if not self._members:
                log._make_room(prepared, append.now_ms)
        except KafkaError as refusal:
            self.results.append(refusal)
            return
        self._members.append((len(self.results), prepared))
        self.results.append(_PENDING)
        self._size_bytes += prepared.size_bytes
        self._producer_ids.update(update.producer_id for update in prepared.producers)

    def _next_offset(self) -> int:
        return self._members[-1][1].last_offset + 1 if self._members else self._log.view.log_end_offset

    def _ends_group(self, prepared: PreparedAppend, now_ms: int) -> bool:
        log = self._log
        latest_epoch = log.leader_epochs.latest_epoch
        return (
            any(update.producer_id in self._producer_ids for update in prepared.producers)
            or any(isinstance(update, EndMarker) for update in prepared.producers)
            or any(batch.leader_epoch != latest_epoch for batch in prepared.batches)
            or log.view.segments[-1].should_roll(
                log.config,
                self._size_bytes + prepared.size_bytes,
                prepared.max_timestamp,
                prepared.last_offset,
                now_ms,
            )
        )

    def write(self) -> KafkaError | None:
        """Write what is collected; when that fails, all of it has failed, with the error returned."""
        members, self._members = self._members, []
        self._size_bytes = 0
        self._producer_ids.clear()
        if not members:
            return None
        log = self._log
        try:
            log._write([prepared for _, prepared in members])
            log._maybe_flush(self._now_ms)
        except KafkaError as error:
            for number, _ in members:
                self.results[number] = error
            return error
        for number, prepared in members:
            self.results[number] = log._appended(prepared)
        return None


_PENDING = KafkaStorageError("not written yet")

"""The log of one partition: appends, reads, segment rolls, flushes.

How: plain sequential code without locks. Every change runs on the log's strand, one step at a time. Reads use `view`,
an immutable value that each change replaces, so they may run on any thread. Truncation (`log_truncation.py`), retention
(`log_retention.py`) and the swap of compacted segments (`compaction_swap.py`) are functions that take a log.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

from ...base.buffer import Buffer
from ...base.invariant import invariant
from ...base.topic_partition import TopicPartition
from ...protocol.errors import (
    KafkaError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
    OutOfOrderSequenceError,
    RecordBatchTooLargeError,
)
from ..errors import NoSpaceError
from ..files.files import FileRegion, is_out_of_descriptors
from ..leader_epochs import EpochEntry, LeaderEpochs
from ..log_config import LogConfig
from ..producers.prepared_append import PreparedAppend
from ..producers.producer_recovery import recall_last_batches
from ..producers.producer_state import AppendOrigin, BatchMetadata, ProducerState
from ..producers.refused_batches import refused_batch
from ..segment.offset_index import MAX_RELATIVE_OFFSET
from ..segment.record_search import FoundOffset
from ..segment.segment import Segment
from ..segment.transaction_index import AbortedTransaction
from .append_validation import prepare_leader_append
from .append_write import write_appends
from .flush_plan import FlushPlan, plan_flush
from .log_append import FollowerAppend, LeaderAppend, LogAppendInfo, appended, appended_before, nothing_appended
from .log_files import LogFiles
from .log_host import LogHost
from .log_view import LogReadResult, LogView
from .replica_append import prepare_replica_append

logger = logging.getLogger(__name__)

T = TypeVar("T")


class LogContents(NamedTuple):
    """The contents of a log when it is opened: its segments, of which the last is active, and their state.

    `topic_id` is None when the directory has no `partition.metadata`.
    """

    segments: tuple[Segment, ...]
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    leader_epochs: LeaderEpochs
    producer_state: ProducerState
    topic_id: uuid.UUID | None


class Log:
    """One partition's log, made by `log_loader.load_log`."""

    def __init__(
        self,
        files: LogFiles,
        host: LogHost,
        topic_partition: TopicPartition,
        config: LogConfig,
        contents: LogContents,
        now_ms: int,
    ) -> None:
        self.files = files
        self.host = host
        self.topic_partition = topic_partition
        self.config = config
        self.recovery_point = contents.recovery_point
        self.leader_epochs = contents.leader_epochs
        self.producer_state = contents.producer_state
        self.topic_id = contents.topic_id
        self.last_flush_ms = now_ms
        self._fence_epoch = -1
        self.high_watermark_hint = 0
        """The last known HW, or an older one: appends forget the transactions whose markers are below it."""
        self._truncation_count = 0
        self.future_timestamp_warned_for = -1
        """Base offset of the segment for which retention last warned about a timestamp in the future; -1 for none."""
        files.draw_roll_jitter(contents.segments[-1], config)
        self.view = self._view_of(contents.segments, contents.log_start_offset, contents.log_end_offset)

    # --- reads, from any thread ------------------------------------------------------------------------------

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
    def directory(self) -> str:
        return self.files.directory

    @property
    def is_offline(self) -> bool:
        """The log directory is lost, and every use fails with KafkaStorageError."""
        return self.files.is_offline

    @property
    def truncation_count(self) -> int:
        """How often the log was truncated or changed its files. A plan made under another count must be discarded."""
        return self._truncation_count

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
        *,
        cached_only: bool = False,
    ) -> LogReadResult:
        """Return the batches from `start_offset` up to `max_offset` as a region of at most `max_bytes`.

        With `min_one_batch` the region holds the first batch whole, whatever its size. The region may end inside a
        batch, and its first batch may also hold records before `start_offset`. From any thread. Raises
        OffsetOutOfRangeError outside [log start, log end], KafkaStorageError when the files cannot be read, and with
        `cached_only` NotCachedError when finding the position would have to wait for the disk.
        """
        return self._look_up(
            lambda view: view.read(
                start_offset, max_bytes, max_offset, min_one_batch, with_aborted_transactions, cached_only
            )
        )

    def read_region(self, region: FileRegion) -> bytes:
        """Return the bytes of a region that `read` returned. Raises KafkaStorageError."""
        return self.files.attempt("cannot read", region.read)

    def offset_for_timestamp(self, timestamp: int) -> FoundOffset | None:
        """Return the first record at or above `timestamp` (ms), or None. Reads records, so not for the event loop."""
        config = self.config
        return self._look_up(
            lambda view: view.offset_for_timestamp(timestamp, config.max_decompressed_bytes, config.inline)
        )

    def offset_of_max_timestamp(self) -> FoundOffset | None:
        """Return the first record with the greatest timestamp (KIP-734). Reads records, so not for the event loop."""
        config = self.config
        return self._look_up(lambda view: view.offset_of_max_timestamp(config.max_decompressed_bytes, config.inline))

    def aborted_transactions(self, start_offset: int, upper_bound: int) -> list[AbortedTransaction]:
        """The aborted transactions that touch [start_offset, upper_bound)."""
        return self._look_up(lambda view: view.aborted_transactions(start_offset, upper_bound))

    def bytes_between(self, start_offset: int, end_offset: int) -> int:
        """Bytes of the batches from `start_offset` up to, not including, `end_offset`."""
        return self._look_up(lambda view: view.bytes_between(start_offset, end_offset))

    def _look_up(self, search: Callable[[LogView], T]) -> T:
        """Run a search on the current view, and once more on a newer view when files disappeared during the search."""
        files = self.files
        if files.is_offline:
            raise files.offline_error()
        for attempt in (1, 2):
            view = self.view
            try:
                return search(view)
            except (OSError, IndexError) as error:
                # A missing file may just have been renamed; the same view then leads to it under its new name.
                if attempt == 2 or (self.view is view and not isinstance(error, FileNotFoundError)):
                    if isinstance(error, OSError) and is_out_of_descriptors(error):
                        raise files.transient_error(error) from error
                    if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
                        files.failed("cannot read", error)
                    raise KafkaStorageError(f"{self.topic_partition}: cannot read: {error}") from error
        raise AssertionError("unreachable")

    def last_stable_offset(self, high_watermark: int) -> int:
        """Return the offset below which every transaction is decided and replicated (LSO). From any thread."""
        return self.view.last_stable_offset(high_watermark)

    def end_offset_for_epoch(self, epoch: int) -> EpochEntry | None:
        """Return the largest known leader epoch at or below `epoch` and its end offset, or None."""
        found = self.leader_epochs.end_offset_for(epoch, self.view.log_end_offset)
        return None if found.start_offset < 0 else found

    @property
    def latest_epoch(self) -> int | None:
        """The leader epoch of the last entry, or None."""
        epoch = self.leader_epochs.latest_epoch
        return None if epoch < 0 else epoch

    # --- appending ----------------------------------------------------------------------------------------------

    def fence(self, leader_epoch: int) -> None:
        """Make appends of an older leader epoch fail from now on."""
        self._fence_epoch = max(self._fence_epoch, leader_epoch)

    def check_fence(self, leader_epoch: int) -> None:
        """Raise NotLeaderOrFollowerError when `leader_epoch` is older than the epoch of the last `fence`."""
        if leader_epoch < self._fence_epoch:
            raise NotLeaderOrFollowerError(
                f"{self.topic_partition}: the request has leader epoch {leader_epoch}, "
                f"the current one is {self._fence_epoch}"
            )

    def append_as_follower(self, records: Buffer, now_ms: int, leader_epoch: int | None = None) -> LogAppendInfo:
        """Append records that a leader sent, under the offsets they have. Raises as `append` does."""
        return self.append(FollowerAppend(records, now_ms, leader_epoch))

    def append(self, append: LeaderAppend | FollowerAppend) -> LogAppendInfo:
        """Check a record set and write it.

        Raises the errors of `prepare_leader_append` or `prepare_replica_append` and of `ProducerState`,
        NotLeaderOrFollowerError behind a fence, RecordBatchTooLargeError, KafkaStorageError.
        """
        done = self.append_unless_roll_needed(append)
        return done if isinstance(done, LogAppendInfo) else self.append_to_new_segment(done, append)

    def append_unless_roll_needed(self, append: LeaderAppend | FollowerAppend) -> LogAppendInfo | PreparedAppend:
        """Append, unless a new segment must be created first.

        Then nothing is written, and the caller passes the returned append to `append_to_new_segment` before any step.
        """
        try:
            return self._append_unless_roll_needed(append)
        except KafkaError as error:
            self.refused(append, error)
            raise

    def _append_unless_roll_needed(self, append: LeaderAppend | FollowerAppend) -> LogAppendInfo | PreparedAppend:
        prepared = self.prepare(append, self.view.log_end_offset)
        if prepared is None:
            return nothing_appended(self.view.log_start_offset)
        known = self.check_producers(prepared, append) if prepared.producers else None
        if known is not None:
            return appended_before(known, prepared.size_bytes, self.view.log_start_offset)
        self.begin(prepared)
        if self.needs_roll(prepared, append.now_ms):
            return prepared
        self.write((prepared,), append.now_ms)
        return appended(prepared, self.view.log_start_offset)

    def append_to_new_segment(self, prepared: PreparedAppend, append: LeaderAppend | FollowerAppend) -> LogAppendInfo:
        """Create a segment and write an append for which `append_unless_roll_needed` has returned `prepared`."""
        try:
            self.roll_for(prepared, append.now_ms)
            self.write((prepared,), append.now_ms)
        except KafkaError as error:
            self.refused(append, error)
            raise
        return appended(prepared, self.view.log_start_offset)

    def refused(self, append: LeaderAppend | FollowerAppend, error: KafkaError) -> None:
        """Remember a client's refused batch, so that the producer's next batches are refused too; break a chain off."""
        append.chain.break_off()
        if append.origin is AppendOrigin.CLIENT:
            refused = refused_batch(append.records, error, append.now_ms)
            if refused is not None:
                self.producer_state.note_refused(refused)

    def check_producers(self, prepared: PreparedAppend, append: LeaderAppend | FollowerAppend) -> BatchMetadata | None:
        """Run `ProducerState.check`; return the batch that `append` repeats, or None.

        A producer snapshot holds only the last batch of each producer. So before the first OutOfOrderSequenceError
        after a start, the earlier batches are read from the log. This happens once, and hardly any log needs it.
        """
        state, now_ms, guard = self.producer_state, append.now_ms, append.guard
        try:
            return state.check(prepared.producers, append.origin, now_ms, guard)
        except OutOfOrderSequenceError:
            if not state.is_of_snapshot:
                raise
            state.is_of_snapshot = False
            self.files.attempt("cannot read", lambda: recall_last_batches(state, self.view.segments))
            return state.check(prepared.producers, append.origin, now_ms, guard)

    def prepare(self, append: LeaderAppend | FollowerAppend, next_offset: int) -> PreparedAppend | None:
        """Check an append, except against the producers. Return None when it holds no whole batch."""
        self.files.check_online()
        if append.leader_epoch is not None:
            self.check_fence(append.leader_epoch)
        append.chain.check()
        if isinstance(append, FollowerAppend):
            return prepare_replica_append(append.records, self.topic_partition, next_offset)
        now_ms = append.now_ms
        return prepare_leader_append(
            append.records, self.topic_partition, self.config, next_offset, append.leader_epoch, now_ms, append.origin
        )

    def begin(self, prepared: PreparedAppend) -> None:
        """Check the size, and write new leader epochs to their file before the first batch of such an epoch."""
        if prepared.size_bytes > self.config.segment_bytes:
            raise RecordBatchTooLargeError(
                f"{self.topic_partition}: an append of {prepared.size_bytes} bytes is larger than a segment "
                f"(segment.bytes={self.config.segment_bytes})"
            )
        latest_epoch = self.leader_epochs.latest_epoch
        are_written = self.files.are_epochs_written
        for batch in prepared.batches:
            if batch.leader_epoch != latest_epoch or not are_written:  # magic 0 and 1 have no epoch
                self._note_epochs(prepared)
                break

    def needs_roll(self, prepared: PreparedAppend, now_ms: int) -> bool:
        """Whether this append needs a new segment."""
        try:
            return self.view.segments[-1].should_roll(
                self.config, prepared.size_bytes, prepared.max_timestamp, prepared.last_offset, now_ms
            )
        except OSError as error:  # it may have to read when its first record was written
            raise self.files.error_of("cannot read the first record of a segment", error) from error

    def roll_for(self, prepared: PreparedAppend, now_ms: int) -> None:
        """Begin a segment at the log's end. Kafka begins it at the first offset of `prepared`.

        Why: when offsets are missing between two segments, recovery assumes that the end of the first one was lost. The
        segment begins later only if the offsets of `prepared` are too far from the log's end for one segment.
        """
        expected = 0
        if prepared.last_offset - self.view.log_end_offset >= MAX_RELATIVE_OFFSET:
            # magic 0 and 1 do not give the first offset: take the lowest base that the last offset allows
            expected = max(prepared.first_offset, prepared.last_offset - MAX_RELATIVE_OFFSET)
        self.roll(now_ms, expected)

    def _note_epochs(self, prepared: PreparedAppend) -> None:
        changed = False
        epochs = self.leader_epochs
        for batch in prepared.batches:
            if batch.magic < 2:
                changed = epochs.clear() or changed
            elif batch.leader_epoch >= 0:
                changed = epochs.assign(batch.leader_epoch, batch.base_offset) or changed
        self._write_epochs_if(changed or not self.files.are_epochs_written)

    def write(self, appends: Sequence[PreparedAppend], now_ms: int) -> None:
        """Write checked appends that fit into the active segment; sync them when `flush.messages` says so."""
        self.view = write_appends(self.files, self.view, self.producer_state, appends, self.high_watermark_hint)
        if self.view.log_end_offset - self.recovery_point >= self.config.flush_messages:
            self.flush(now_ms)

    # --- rolling and flushing -----------------------------------------------------------------------------------

    def roll(self, now_ms: int, expected_offset: int = 0) -> Segment:
        """Close the active segment and begin one at the log's end, or at `expected_offset` if that is greater."""
        self.files.check_online()
        view = self.view
        active = view.segments[-1]
        base_offset = max(expected_offset, view.log_end_offset)
        if active.size_bytes == 0 and active.base_offset == base_offset:
            return active
        invariant(base_offset > active.base_offset, f"{self.topic_partition}: offset {base_offset} has a segment")
        end_before = self.producer_state.end_offset
        try:
            self.files.attempt("cannot write the indexes of a segment", active.deactivate)
            self.producer_state.end_offset = base_offset
            self.files.take_snapshot(self.producer_state, sync=False)
            segment = self.files.create_segment(base_offset, self.config, now_ms)
        except NoSpaceError:  # the next append may still fit into the old segment
            self.producer_state.end_offset = end_before
            self.files.delete_snapshots_behind(view.log_end_offset)
            self.files.attempt("cannot read the indexes of a segment", lambda: active.activate(now_ms=now_ms))
            raise
        if active.recent is not None:
            active.recent.end(view.log_end_offset, active.size_bytes)
        if len(view.segments) > 1:
            view.segments[-2].recent = None  # readers this far behind use the offset index
        self.set_view((*view.segments, segment), view.log_start_offset, view.log_end_offset)
        logger.info("%s: rolled to a new segment at offset %d", self.topic_partition, base_offset)
        self.host.rolled(self.topic_partition)
        return segment

    def plan_flush(self, *, with_active: bool = True) -> FlushPlan | None:
        """Return what must be synced up to the log's end or up to the active segment; None when nothing must be.

        `FlushPlan.run` needs no strand. Afterwards `mark_flushed` moves the recovery point.
        """
        files = self.files
        files.write_unwritten_indexes(self.view.segments)
        return files.attempt(
            "cannot write an index",
            lambda: plan_flush(
                self.view, files.snapshots, self.recovery_point, self._truncation_count, with_active=with_active
            ),
        )

    def mark_flushed(self, plan: FlushPlan, now_ms: int) -> None:
        """Move the recovery point after `plan` was run, unless the log was truncated meanwhile."""
        self.last_flush_ms = now_ms
        if plan.truncation_count == self._truncation_count:
            self.recovery_point = max(self.recovery_point, plan.end_offset)

    def flush(self, now_ms: int) -> None:
        """Sync all of the log, on the strand."""
        plan = self.plan_flush()
        if plan is None:
            return
        self.files.attempt("cannot sync", lambda: plan.run(self.files.files), may_be_full=False)
        self.mark_flushed(plan, now_ms)

    # --- truncation and retention -------------------------------------------------------------------------------

    def lower_recovery_point(self, offset: int) -> None:
        """Lower the recovery point to `offset` and write it to the checkpoint, before the log becomes shorter.

        Raises NoSpaceError when the checkpoint cannot be written; the log must then stay as it is.
        """
        self._truncation_count += 1
        if offset < self.recovery_point:
            self.recovery_point = offset
            is_written = self.host.truncating(self.topic_partition)
            self.files.check_online()
            if not is_written:
                raise NoSpaceError(f"{self.topic_partition}: not truncated, the recovery point cannot be written")

    def increment_log_start_offset(self, offset: int) -> bool:
        """Raise the log start offset to `offset`; return whether it changed. Retention deletes the segments later.

        The caller has checked that `offset` is not above the high watermark.
        """
        self.files.check_online()
        view = self.view
        if offset <= view.log_start_offset:
            return False
        invariant(
            offset <= view.log_end_offset,
            f"{self.topic_partition}: log start {offset} is above the log end {view.log_end_offset}",
        )
        self.write_truncated_epochs(self.leader_epochs.truncate_from_start(offset))
        state = self.producer_state
        state.forget_replicated(offset)
        state.end_offset = max(state.end_offset, offset)
        self.set_view(view.segments, offset, view.log_end_offset)
        logger.info("%s: log start offset is %d now", self.topic_partition, offset)
        return True

    def delete_segments(self, segments: Sequence[Segment]) -> None:
        """Delete the files of segments that are no longer in the view, after `file.delete.delay.ms`."""
        self.files.delete_segments(segments, self.config.file_delete_delay_ms)

    # --- epochs, names, end -------------------------------------------------------------------------------------

    def assign_epoch_start(self, leader_epoch: int) -> None:
        """Note that `leader_epoch` begins at the log's end. The replica that becomes leader calls this.

        When NoSpaceError is raised the epoch is noted in memory only. Its file is then written before the next append,
        or by `write_epochs`.
        """
        self.files.check_online()
        changed = self.leader_epochs.assign(leader_epoch, self.view.log_end_offset)
        self._write_epochs_if(changed or not self.files.are_epochs_written)

    @property
    def are_epochs_written(self) -> bool:
        """Whether the checkpoint file has all known epochs. No append is accepted until it has."""
        return self.files.are_epochs_written

    def write_epochs(self) -> None:
        """Write the leader epochs unless the file has them. Raises KafkaStorageError, NoSpaceError."""
        self.files.check_online()
        self._write_epochs_if(not self.files.are_epochs_written)

    def _write_epochs_if(self, changed: bool) -> None:
        if changed:
            self.files.write_epochs(self.leader_epochs.entries)

    def write_truncated_epochs(self, changed: bool) -> None:
        """Write the leader epochs after some were removed.

        A full disk is ignored: truncation and retention free space, and the next start removes the same entries.
        """
        with suppress(NoSpaceError):
            self._write_epochs_if(changed)

    def assign_topic_id(self, topic_id: uuid.UUID) -> None:
        """Write the topic id. Raises ValueError when the log has another one."""
        if self.topic_id == topic_id:
            return
        if self.topic_id is not None:
            raise ValueError(f"{self.topic_partition} has topic id {self.topic_id}, not {topic_id}")
        self.files.write_topic_id(topic_id)
        self.topic_id = topic_id

    def remove_expired_producers(self, now_ms: int) -> None:
        self.producer_state.remove_expired(now_ms)

    def update_config(self, config: LogConfig) -> None:
        """Use other settings from now on. Index sizes apply to new segments only."""
        self.config = config
        self.producer_state.expiration_ms = config.producer_id_expiration_ms
        self.producer_state.max_producers = config.max_producer_ids
        for segment in self.view.segments:
            segment.index_interval_bytes = config.index_interval_bytes

    def rename_directory(self, directory: str) -> None:
        """Move the log to another name in the same log directory (`topic-0.<id>-delete`)."""
        self.files.rename_directory(directory, self.view.segments)

    # --- moves to another log directory (`LogMove`) ------------------------------------------------------------

    def skip_to(self, offset: int, now_ms: int) -> None:
        """Move the log's end to `offset`; the log being copied has deleted the records before it."""
        self.roll(now_ms, offset)
        self.producer_state.end_offset = offset
        self.set_view(self.view.segments, self.view.log_start_offset, offset)

    def inherit(self, original: Log) -> None:
        """Write the leader epochs and producers of the original.

        They cannot always be derived from the copied records.
        """
        files = self.files
        files.write_epochs(original.leader_epochs.entries)
        files.attempt("cannot write a producer snapshot", lambda: files.snapshots.retake(original.producer_state))

    def adopt(self, copy: Log) -> None:
        """Continue in the files of `copy`, which must have the same log end offset."""
        invariant(
            copy.view.log_end_offset == self.view.log_end_offset,
            f"{self.topic_partition}: the log and its copy end at different offsets",
        )
        former = self.view.segments
        self._truncation_count += 1
        self.recovery_point = copy.recovery_point
        self.host = copy.host
        self.files = copy.files
        self.set_view(copy.view.segments, self.view.log_start_offset, self.view.log_end_offset)
        for segment in former:
            segment.close_files()

    # --- the end ------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Write a producer snapshot and close the files. No change is possible afterwards. The caller has flushed."""
        files = self.files
        if files.is_offline or files.is_closed:
            self.close_files()
            return
        if not files.are_epochs_written:  # the epochs were read from the batches, which the next start does not do
            files.write_epochs(self.leader_epochs.entries)
        files.take_snapshot(self.producer_state, sync=True)
        files.close_segments(self.view.segments)

    def close_files(self) -> None:
        """Close the files without writing anything."""
        for segment in self.view.segments:
            segment.close_files()

    def delete(self) -> None:
        """Delete the directory and everything in it."""
        self.close_files()
        self.files.delete_directory()

    def mark_offline(self) -> None:
        """Make every further use fail with KafkaStorageError, because the log directory has failed."""
        self.files.is_offline = True

    def set_view(self, segments: tuple[Segment, ...], log_start_offset: int, log_end_offset: int) -> None:
        """Show readers these segments and offsets from now on."""
        self.view = self._view_of(segments, log_start_offset, log_end_offset)

    def _view_of(self, segments: tuple[Segment, ...], log_start_offset: int, log_end_offset: int) -> LogView:
        invariant(
            log_start_offset <= log_end_offset, f"{self.topic_partition}: log start offset above the log end offset"
        )
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

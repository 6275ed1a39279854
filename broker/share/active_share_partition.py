"""A share partition whose leader is this broker: loads its state, stores its changes, and ends its locks in time."""

from collections.abc import Callable, Sequence
from functools import partial

from ...base.timers import TimerHandle
from ...protocol.errors import ErrorCode, InvalidRecordStateError, KafkaError, error_for
from ..coordinator.share.ports import StateRead, StateWrite
from .acknowledgements import Acknowledgement
from .acquisition import Acquired, Acquisition
from .partition_memory import PartitionMemory
from .ports import Place, SharePorts
from .read_batches import ReadBatches
from .record_runs import Change
from .settings import ShareSettings
from .share_partition import SharePartition
from .state_errors import error_of_load, error_of_write, must_load_again

__all__ = ["ActiveSharePartition"]

_UNKNOWN_OFFSET = -1


class ActiveSharePartition:
    """``settings`` are read at each use. ``settled`` is called when no change is being stored any more, ``ended`` once,
    when it must not be used any more; ``error`` says then why.

    ``waiting``: called when a fetch may acquire records that it could not acquire before; each of them once.
    """

    def __init__(
        self,
        place: Place,
        ports: SharePorts,
        settings: Callable[[], ShareSettings],
        *,
        settled: Callable[["ActiveSharePartition"], None],
        ended: Callable[["ActiveSharePartition"], None],
    ) -> None:
        self.place = place
        self.records: SharePartition | None = None
        """None while the state is being loaded."""
        self.error = ErrorCode.NONE
        self.waiting: dict[Callable[[], None], None] = {}
        self.changes_under_way = 0
        self._ports = ports
        self._memory = PartitionMemory(ports.memory, place.key.group_id)
        self._settings = settings
        self._settled = settled
        self._ended = ended
        self._state_epoch = 0
        self._timer: TimerHandle | None = None

    def load(self) -> None:
        """Raises UnknownServerError when there is no memory for it."""
        self._memory.begin()
        self._ports.state.read(self.place.key, self.place.leader_epoch, self._loaded)

    def now_ms(self) -> int:
        return int(self._ports.timers.time() * 1000)

    def lock_deadline_ms(self) -> int:
        """When a lock ends that begins now."""
        return self.now_ms() + self._settings().lock_ms

    def end(self, error: ErrorCode) -> None:
        """Stop using it, for instance because another broker leads the partition."""
        if self.error is not ErrorCode.NONE:
            return
        self.error = error
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._memory.give_back()
        self._ended(self)
        self._wake()

    def acquire(self, wish: Acquisition, fetch_offset: int, batches: ReadBatches) -> list[Acquired]:
        """Lock records for a member, as `SharePartition.acquire` does, and time their locks."""
        if self.records is None or self.error is not ErrorCode.NONE:
            return []
        may_grow = self._memory.has_space()
        acquired = self.records.acquire(wish, fetch_offset, batches.spans, batches.aborted, may_grow=may_grow)
        self._memory.count(self.records)
        self._time_locks()
        return acquired

    def can_acquire(self) -> bool:
        """Whether `acquire` from the next fetch offset could lock records."""
        records = self.records if self.error is ErrorCode.NONE else None
        return records is not None and records.can_acquire(may_grow=self._memory.has_space())

    def log_starts_at(self, offset: int) -> None:
        """The log has lost the records below ``offset``."""
        if self.records is not None:
            self.records.log_starts_at(offset)
            self._memory.count(self.records)

    def acknowledge(
        self, member_id: str, said: Sequence[Acknowledgement], done: Callable[[KafkaError | None], None]
    ) -> None:
        """Apply what a member says, and call ``done`` when it is stored, or with the error."""
        if self.records is None:
            done(InvalidRecordStateError("the state of the share partition is being loaded"))
            return
        try:
            change = self.records.acknowledge(member_id, said, self.lock_deadline_ms())
        except KafkaError as error:
            done(error)
            return
        self._time_locks()
        self._store(change, done)

    def release(self, member_id: str) -> None:
        """Give back what the member holds, because its session ended."""
        if self.records is not None and self.error is ErrorCode.NONE:
            self._store(self.records.release(member_id), lambda error: None)  # the member has gone

    def _loaded(self, read: StateRead | ErrorCode) -> None:
        if self.error is not ErrorCode.NONE:
            return
        if isinstance(read, ErrorCode):
            self.end(error_of_load(read))
            return
        self._state_epoch = read.state_epoch
        if read.start_offset == _UNKNOWN_OFFSET:
            self._ports.first_offset(self.place.topic_partition, self._settings(), partial(self._begin, read))
        else:
            self._begin(read, read.start_offset)

    def _begin(self, read: StateRead, start_offset: int | ErrorCode) -> None:
        if self.error is not ErrorCode.NONE:
            return
        if isinstance(start_offset, ErrorCode):
            self.end(start_offset)
            return
        settings = self._settings()
        self.records = SharePartition(
            start_offset, read.batches, max_locks=settings.max_locks, max_deliveries=settings.max_deliveries
        )
        self._memory.count(self.records)
        self._wake()

    def _store(self, change: Change, done: Callable[[KafkaError | None], None]) -> None:
        if not change.batches or self.records is None:
            done(None)
            return
        self.changes_under_way += 1
        start_offset, complete = self.records.progress()
        write = StateWrite(self._state_epoch, self.place.leader_epoch, start_offset, complete, change.batches)
        self._ports.state.write(self.place.key, write, partial(self._stored, change, done))

    def _stored(self, change: Change, done: Callable[[KafkaError | None], None], code: ErrorCode) -> None:
        self.changes_under_way -= 1
        assert self.records is not None
        offered = self._offered()
        self.records.finish(change, is_stored=code is ErrorCode.NONE, now_ms=self.now_ms())
        self._memory.count(self.records)
        if code is not ErrorCode.NONE:
            told = error_of_write(code)
            if must_load_again(told):
                self.end(told)
            done(error_for(told))
        else:
            done(None)
        if self.error is ErrorCode.NONE:
            self._time_locks()
            if self._offered() != offered:
                self._wake()
            if not self.changes_under_way:
                self._settled(self)

    def _offered(self) -> tuple[int, bool] | None:
        """The next fetch offset, and whether a fetch can acquire records; both change without appends, too."""
        records = self.records
        return None if records is None else (records.next_fetch_offset(), records.can_acquire())

    def _wake(self) -> None:
        waiting, self.waiting = self.waiting, {}
        for wake in waiting:
            wake()

    def _time_locks(self) -> None:
        """Have the next lock ended in time. A timer that comes too early looks again."""
        if self._timer is None and self.records is not None and self.error is ErrorCode.NONE:
            deadline_ms = self.records.next_deadline_ms()
            if deadline_ms is not None:
                delay_s = max(deadline_ms - self.now_ms(), 0) / 1000
                self._timer = self._ports.timers.call_later(delay_s, self._locks_ended)

    def _locks_ended(self) -> None:
        self._timer = None
        if self.records is None or self.error is not ErrorCode.NONE:
            return
        change = self.records.expire(self.now_ms())
        self._store(change, lambda error: None)  # no member asked
        self._time_locks()
        if change.batches:
            self._wake()

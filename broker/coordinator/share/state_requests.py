"""The requests for the states of share partitions that this broker stores."""

from collections.abc import Callable, Iterator
from functools import partial

from ....protocol.errors import ErrorCode
from .coordinator_ports import ShareCoordinatorPorts
from .entry import Change, Result
from .ports import SharePartitionKey, StateRead, StateSummary, StateWrite
from .registry import ShareRegistry
from .rules import initialized, read_by_leader, written
from .settings import ShareCoordinatorSettings
from .state import DELETION, StateRecord, StoredState
from .state_writer import StateWriter
from .write_parts import parts_of

__all__ = ["StateRequests"]

_NOT_INITIALIZED = StateSummary(state_epoch=0, leader_epoch=0, start_offset=-1, delivery_complete_count=-1)

Decide = Callable[[StoredState | None], StateRecord | ErrorCode | None]


class StateRequests:
    """Implements `ShareState`, whose docstrings are not repeated. NOT_COORDINATOR: another broker stores the state."""

    def __init__(
        self,
        settings: ShareCoordinatorSettings,
        registry: ShareRegistry,
        writer: StateWriter,
        ports: ShareCoordinatorPorts,
    ) -> None:
        self._settings = settings
        self._registry = registry
        self._writer = writer
        self._now_ms = ports.now_ms
        self._has_partition = ports.has_partition

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, done: Callable[[ErrorCode], None]
    ) -> None:
        def decide(state: StoredState | None) -> StateRecord | ErrorCode:
            code = ErrorCode.NONE if state is not None else self._registry.check_new(key)
            return code or initialized(state, state_epoch, start_offset, self._now_ms())

        self._change(key, decide, partial(_tell_code, done))

    def read(self, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateRead | ErrorCode], None]) -> None:
        def decide(state: StoredState | None) -> StateRecord | ErrorCode | None:
            return read_by_leader(state, leader_epoch, self._now_ms(), self._settings.updates_per_snapshot)

        self._change(key, decide, partial(_tell_state, done))

    def write(self, key: SharePartitionKey, write: StateWrite, done: Callable[[ErrorCode], None]) -> None:
        """The parts of a large write are stored one by one; after an error some of them may be stored."""
        self._write_next(key, parts_of(write), done, ErrorCode.NONE)

    def _write_next(
        self, key: SharePartitionKey, parts: Iterator[StateWrite], done: Callable[[ErrorCode], None], code: ErrorCode
    ) -> None:
        part = next(parts, None) if code is ErrorCode.NONE else None
        if part is None:
            done(code)
        else:
            self._write_part(key, part, partial(self._write_next, key, parts, done))

    def _write_part(self, key: SharePartitionKey, write: StateWrite, done: Callable[[ErrorCode], None]) -> None:
        def decide(state: StoredState | None) -> StateRecord | ErrorCode:
            record = written(state, write, self._now_ms(), self._settings.updates_per_snapshot)
            if isinstance(record, ErrorCode):
                return record
            return self._registry.check_growth(key, state, record) or record

        self._change(key, decide, partial(_tell_code, done))

    def delete(self, key: SharePartitionKey, done: Callable[[ErrorCode], None]) -> None:
        def decide(state: StoredState | None) -> StateRecord | None:
            return None if state is None else DELETION

        self._change(key, decide, partial(_tell_code, done), needs_topic=False)

    def read_summary(
        self, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateSummary | ErrorCode], None]
    ) -> None:
        self._change(key, lambda state: None, partial(_tell_summary, done))

    def _change(
        self, key: SharePartitionKey, decide: Decide, done: Callable[[Result], None], *, needs_topic: bool = True
    ) -> None:
        partition = self._registry.partition_for(key)
        code = self._registry.ownership.check(partition)
        if needs_topic and code is ErrorCode.NONE and not self._has_partition(key.topic_id, key.partition):
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if code is not ErrorCode.NONE:
            done(code)
            return
        self._writer.submit(self._registry.entry(partition, key), Change(decide, done))


def _tell_code(done: Callable[[ErrorCode], None], result: Result) -> None:
    done(result if isinstance(result, ErrorCode) else ErrorCode.NONE)


def _tell_state(done: Callable[[StateRead | ErrorCode], None], result: Result) -> None:
    if isinstance(result, ErrorCode):
        done(result)
        return
    assert result is not None  # a read without a state is refused
    snapshot = result.snapshot
    done(StateRead(snapshot.state_epoch, snapshot.start_offset, snapshot.batches))


def _tell_summary(done: Callable[[StateSummary | ErrorCode], None], result: Result) -> None:
    if isinstance(result, ErrorCode):
        done(result)
        return
    if result is None:
        done(_NOT_INITIALIZED)
        return
    snapshot = result.snapshot
    done(
        StateSummary(
            snapshot.state_epoch, snapshot.leader_epoch, snapshot.start_offset, snapshot.delivery_complete_count
        )
    )

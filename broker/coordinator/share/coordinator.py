"""The share coordinator of one broker (KIP-932).

Everything runs on the event loop. The rules are in other files, without I/O; this file connects requests to them, and
has what happens when a partition comes or goes.
"""

from collections.abc import Callable
from functools import partial

from ....protocol.errors import ErrorCode
from ..append_bridge import AppendBridge
from ..coordinator_partitions import CoordinatorPartitions
from ..internal_log import InternalLog
from .coordinator_ports import ShareCoordinatorPorts
from .entry import Change, Entry, Result
from .memory import BATCH_BYTES
from .ports import SharePartitionKey, StateRead, StateSummary, StateWrite
from .registry import ShareRegistry
from .replay import Replay
from .rules import initialized, read_by_leader, written
from .settings import ShareCoordinatorSettings
from .state import DELETION, StateRecord, StoredState
from .state_writer import StateWriter
from .upkeep import Upkeep

__all__ = ["ShareCoordinator"]

_NOT_INITIALIZED = StateSummary(state_epoch=0, leader_epoch=0, start_offset=-1, delivery_complete_count=-1)

Decide = Callable[[StoredState | None], StateRecord | ErrorCode | None]


class ShareCoordinator:
    """Implements `ShareState`, whose docstrings are not repeated, for the share partitions that this broker
    coordinates; NOT_COORDINATOR for others."""

    def __init__(self, settings: ShareCoordinatorSettings, log: InternalLog, ports: ShareCoordinatorPorts) -> None:
        self._settings = settings
        self._now_ms = ports.now_ms
        self._has_partition = ports.has_partition
        self._appends = AppendBridge(log)
        self.registry = ShareRegistry(lambda: log.partition_count, settings.max_bytes)
        self._writer = StateWriter(
            self._appends, self.registry, ports.scheduler, ports.now_ms, settings.write_timeout_ms
        )
        self.upkeep = Upkeep(settings, self.registry, self._writer, ports)
        owned = self.registry.ownership
        self.partitions = CoordinatorPartitions(log, owned, self, self._appends, ports.now_ms, reloads=True)

    # -- the state of share partitions (`ShareState`)

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, done: Callable[[ErrorCode], None]
    ) -> None:
        def decide(state: StoredState | None) -> StateRecord | ErrorCode:
            if not self._has_space(0):
                return ErrorCode.COORDINATOR_NOT_AVAILABLE
            return initialized(state, state_epoch, start_offset, self._now_ms())

        self._change(key, decide, partial(_tell_code, done))

    def read(self, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateRead | ErrorCode], None]) -> None:
        def decide(state: StoredState | None) -> StateRecord | ErrorCode | None:
            return read_by_leader(state, leader_epoch, self._now_ms(), self._settings.updates_per_snapshot)

        self._change(key, decide, partial(_tell_state, done))

    def write(self, key: SharePartitionKey, write: StateWrite, done: Callable[[ErrorCode], None]) -> None:
        def decide(state: StoredState | None) -> StateRecord | ErrorCode:
            if not self._has_space(len(write.batches)):
                return ErrorCode.COORDINATOR_NOT_AVAILABLE
            return written(state, write, self._now_ms(), self._settings.updates_per_snapshot)

        self._change(key, decide, partial(_tell_code, done))

    def delete(self, key: SharePartitionKey, done: Callable[[ErrorCode], None]) -> None:
        def decide(state: StoredState | None) -> StateRecord | None:
            return None if state is None else DELETION

        self._change(key, decide, partial(_tell_code, done))

    def read_summary(
        self, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateSummary | ErrorCode], None]
    ) -> None:
        self._change(key, lambda state: None, partial(_tell_summary, done))

    def _change(self, key: SharePartitionKey, decide: Decide, done: Callable[[Result], None]) -> None:
        partition = self.registry.partition_for(key)
        code = self.registry.ownership.check(partition)
        if code is ErrorCode.NONE and not self._has_partition(key.topic_id, key.partition):
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if code is not ErrorCode.NONE:
            done(code)
            return
        self._writer.submit(self.registry.entry(partition, key), Change(decide, done))

    def _has_space(self, batches: int) -> bool:
        return self.registry.memory.has_space_for(BATCH_BYTES * batches)

    # -- the states of partitions (`KeptEntries`)

    @property
    def kind(self) -> str:
        return "share partitions"

    def new_replay(self, partition: int) -> Replay:
        return Replay(partition, self.registry.partition_for)

    def loaded(self, partition: int, entries: list[Entry]) -> None:
        self.registry.finish_loading(partition, entries)

    def unloaded(self, partition: int) -> int:
        entries = self.registry.remove_partition(partition)
        for entry in entries:
            self._writer.drop(entry)
        return len(entries)

    # -- start and stop

    def start(self) -> None:
        """Start the periodic work."""
        self.upkeep.start()

    async def close(self) -> None:
        """Stop answering and cancel all timers, without waiting for appends, which have no timeout."""
        self.kill()
        self._appends.abandon_all()

    def kill(self) -> None:
        """Stop answering and cancel all timers."""
        self.registry.ownership.is_active = False
        self.upkeep.stop()


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

"""The periodic work of the share coordinator: it keeps ``__share_group_state`` short.

Records before the oldest of the last snapshots of all share partitions are deleted. So that one that is seldom used
does not keep them, its state is stored anew from time to time. State of deleted topics is deleted.
"""

from collections.abc import Callable, Iterable, Iterator

from ....base.timers import TimerHandle
from .coordinator_ports import ShareCoordinatorPorts
from .entry import Change, Entry, Result
from .registry import ShareRegistry
from .rules import is_cold, snapshot_again
from .settings import ShareCoordinatorSettings
from .state import DELETION, StateRecord, StoredState
from .state_writer import StateWriter

__all__ = ["Upkeep"]


class Upkeep:
    """Each share partition is looked at in its own iteration of the event loop."""

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
        self._ports = ports
        self._timers: dict[Callable[[], None], TimerHandle] = {}
        self._deleted_before: dict[int, int] = {}
        """By partition, the offset before which records were deleted."""

    def start(self) -> None:
        """Begin the periodic work."""
        self._repeat(self.delete_old_records, self._settings.prune_interval_ms)
        self._repeat(self.store_cold_states, self._settings.cold_snapshot_interval_ms)

    def stop(self) -> None:
        """Cancel the timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def delete_old_records(self) -> None:
        """Delete the records that no share partition needs, and the state of topics that were deleted."""
        for partition in self._registry.partitions():
            entries = self._registry.entries_in(partition)
            needed = _first_needed(entries)
            if needed > self._deleted_before.get(partition, 0):
                self._ports.delete_records(partition, needed)
            self._deleted_before[partition] = needed
            self._for_each(self._look_for_topic, iter(entries))

    def store_cold_states(self) -> None:
        """Store old states anew, unless all states of a partition are such copies: then nothing has changed."""
        for partition in self._registry.partitions():
            entries = self._registry.entries_in(partition)
            if not all(entry.state is None or _is_copy(entry.state) for entry in entries):
                self._for_each(self._store_if_cold, iter(entries))

    def _look_for_topic(self, entry: Entry) -> None:
        """The topic must be missing twice, because this broker may learn of a new one later than the leaders of it."""
        lacked_topic = entry.lacks_topic
        entry.lacks_topic = not self._ports.has_partition(entry.key.topic_id, entry.key.partition)
        if entry.lacks_topic and lacked_topic and entry.state is not None:
            self._writer.submit(entry, Change(_delete, _ignore))

    def _store_if_cold(self, entry: Entry) -> None:
        def decide(state: StoredState | None) -> StateRecord | None:
            now_ms = self._ports.now_ms()
            is_old = state is not None and is_cold(state, now_ms, self._settings.cold_snapshot_interval_ms)
            return snapshot_again(state, now_ms) if state is not None and is_old else None

        if entry.state is not None:
            self._writer.submit(entry, Change(decide, _ignore))

    def _for_each(self, action: Callable[[Entry], None], entries: Iterator[Entry]) -> None:
        entry = next(entries, None)
        if entry is not None and self._registry.ownership.is_active:
            if not entry.is_out_of_use:
                action(entry)
            self._ports.scheduler.call_soon(self._for_each, action, entries)

    def _repeat(self, work: Callable[[], None], interval_ms: int) -> None:
        def begin() -> None:
            self._repeat(work, interval_ms)
            work()

        self._timers[work] = self._ports.scheduler.call_later(interval_ms / 1000, begin)


def _first_needed(entries: Iterable[Entry]) -> int:
    """The offset of the oldest of the last snapshots."""
    return min((entry.snapshot_offset for entry in entries if entry.state is not None), default=0)


def _is_copy(state: StoredState) -> bool:
    return state.updates == 0 and state.snapshot.created_ms != state.snapshot.written_ms


def _delete(state: StoredState | None) -> StateRecord | None:
    return None if state is None else DELETION


def _ignore(result: Result) -> None:
    """Nobody waits; what failed is tried again at the next look."""

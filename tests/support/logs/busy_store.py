"""A log store at work on a recorded disk, with the data that must survive a power cut after each step.

Every value is used once, so a record tells where it was appended and which record came before it.
"""

from __future__ import annotations

import os
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from pybroker.base.topic_partition import TopicPartition
from pybroker.config.config import Config
from pybroker.config.dynamic_layers import DynamicLayers
from pybroker.config.load import load_config, with_dynamic
from pybroker.protocol.errors import KafkaStorageError
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.storage.files.files import Files
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_retention import apply_retention
from pybroker.storage.log.log_truncation import truncate_fully_and_start_at, truncate_to
from pybroker.storage.producers.producer_state import AppendOrigin
from pybroker.storage.store.log_store import LogStore
from support.logs.storage_logs import append_as_leader
from support.logs.storage_pools import InlinePool

from .disk_history import DiskHistory
from .storage_logs import NOW_MS, batch_of
from .storage_pools import HeldRunner

SEGMENT_BYTES = 700
DIRECTORIES = ("disk-a", "disk-b")
MOVE_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
MOVED_BYTES = "250"
"""The bytes that a move copies in a second and in one step: a batch or two."""


@lru_cache
def store_config(root: Path, **settings: object) -> Config:
    """Small segments, dense indexes, and syncs only on request."""
    chosen = {
        "log.segment.bytes": SEGMENT_BYTES,
        "log.index.interval.bytes": 100,
        "num.recovery.threads.per.data.dir": 1,
        **settings,
    }
    directories = ",".join(str(root / name) for name in DIRECTORIES)
    return load_config(f"log.dirs={directories}\n", {name: str(value) for name, value in chosen.items()})


def open_store(
    root: Path,
    clock: Callable[[], int] = lambda: NOW_MS,
    seed: int = 0,
    files: Files | None = None,
    **settings: object,
) -> LogStore:
    """`seed` of the generated ids; two stores opened one after another must use different seeds."""
    return LogStore.open(
        store_config(root, **settings),
        files or Files(),
        InlinePool(),
        clock,
        topic_overrides=topic_overrides,
        randomness=random.Random(seed),
    )


def topic_overrides(topic: str) -> dict[str, str]:
    """The settings of a topic, which its name implies."""
    return {"synced": {"flush.messages": "1"}, "bounded": {"retention.bytes": "1500"}}.get(topic, {})


@dataclass(frozen=True)
class Promise:
    """The records that one log must hold, and those that it may hold: `records` are the values by offset, of that
    `generation`.

    Records in [start, synced_end) must be there; nothing before `least_start` may be there, except in a log
    that is being deleted, because its checkpoints go before its name. `may_be_missing`: the log is being made or
    deleted.
    """

    generation: int = 0
    exists: bool = False
    may_be_missing: bool = True
    least_start: int = 0
    start: int = 0
    synced_end: int = 0
    records: dict[int, bytes] = field(default_factory=dict)

    def until(self, after: Promise) -> Promise:
        """While the step that leads to `after` is under way."""
        if self.generation != after.generation:
            return replace(after, may_be_missing=True, synced_end=0)
        return Promise(
            self.generation,
            self.exists or after.exists,
            not (self.exists and after.exists),
            self.least_start if after.exists else 0,
            max(self.start, after.start),
            min(self.synced_end, after.synced_end),
            self.records,
        )


NOTHING = Promise()


@dataclass
class Told:
    """All records ever appended to a log: value → offset, and each record's predecessors."""

    offsets: dict[bytes, int] = field(default_factory=dict)
    behind: set[tuple[bytes, bytes]] = field(default_factory=set)
    timestamps: dict[bytes, int] = field(default_factory=dict)


class BusyStore:
    """Runs steps on a store. After each, `notes` gets (number of operations so far, the promises by partition)."""

    def __init__(self, root: Path, history: DiskHistory, files: Files | None = None, **settings: object) -> None:
        self.root = root
        self._files = files
        self.history = history
        self._settings = settings
        self.opened = 0
        self.refused: list[KafkaStorageError] = []
        self.told: dict[tuple[TopicPartition, int], Told] = {}
        self.notes: list[tuple[int, dict[TopicPartition, Promise]]] = [(0, {})]
        self._now: dict[TopicPartition, Promise] = {}
        self._values = 0
        self._sequences: dict[tuple[TopicPartition, int], int] = {}
        self._later: list[Callable[[], None]] = []
        self._background: list[Callable[[], None]] = []
        self._moves = HeldRunner(NOW_MS, 1000)
        self.store: LogStore | None = None

    # --- promises -----------------------------------------------------------------------------------------------

    def promises_at(self, operations: int) -> dict[TopicPartition, Promise]:
        """The promise that holds after a power cut that follows this many operations."""
        slot = bisect_right(self.notes, operations, key=lambda note: note[0]) - 1
        count, promises = self.notes[slot]
        if count == operations or slot + 1 == len(self.notes):
            return promises
        following = self.notes[slot + 1][1]
        return {tp: promises.get(tp, NOTHING).until(after) for tp, after in following.items()}

    def told_of(self, tp: TopicPartition, generation: int) -> Told:
        return self.told.setdefault((tp, generation), Told())

    @contextmanager
    def _step(
        self, tp: TopicPartition | None = None, undecided: Callable[[Promise], Promise] | None = None
    ) -> Iterator[None]:
        """Run a step. A refusal is noted and ends the step; its possible effects are then `undecided`."""
        try:
            yield
        except KafkaStorageError as error:
            self.refused.append(error)
            if tp in self._now and undecided is not None:
                self._now[tp] = undecided(self._now[tp])
        for known, promise in self._now.items():
            log = self.store.get(known) if self.store is not None else None
            if log is not None and not log.is_offline:
                start, end = log.log_start_offset, log.log_end_offset
                records = {offset: value for offset, value in promise.records.items() if start <= offset < end}
                synced_end = min(log.recovery_point, end)
                self._now[known] = replace(promise, start=start, synced_end=synced_end, records=records)
        self.notes.append((len(self.history), dict(self._now)))

    def acknowledged(self) -> dict[TopicPartition, Promise]:
        """The promise if only the process dies: every record that was not refused."""
        return {
            tp: replace(promise, synced_end=max(promise.records, default=-1) + 1) for tp, promise in self._now.items()
        }

    @property
    def open_store(self) -> LogStore:
        assert self.store is not None
        return self.store

    def log(self, tp: TopicPartition) -> Log:
        log = None if self.store is None else self.store.get(tp)
        if log is None or log.is_offline:
            raise KafkaStorageError(f"{tp} has no log")
        return log

    # --- the store ----------------------------------------------------------------------------------------------

    def open(self) -> None:
        with self._step():
            self._moves = HeldRunner(self._moves.now_ms, 1000)
            self.opened += 1
            self.store = store = open_store(
                self.root, lambda: self._moves.now_ms, self.opened, self._files, **self._settings
            )
            store.deletion.run_later = lambda delay_ms, step: self._later.append(step)
            store.upkeep.in_background = self._background.append
            store.moves.update_config(with_dynamic(store.config, DynamicLayers({MOVE_RATE: MOVED_BYTES})))
            store.moves.start(self._moves)
            store.deletion.delete_leftovers()

    def close(self) -> None:
        with self._step():
            if self.store is not None:
                self.store.close()

    def crash(self) -> None:
        """Close the files without running postponed work."""
        if self.store is not None:
            self.store.release()
        self._later.clear()
        self._background.clear()

    def run_background(self) -> None:
        """Run the syncs planned for the background."""
        while self._background:
            with self._step():
                self._background.pop(0)()

    def run_later(self) -> None:
        """Run the delayed deletions."""
        while self._later:
            with self._step():
                self._later.pop(0)()

    def move(self, tp: TopicPartition, to: str) -> None:
        """Move a log to another disk; `go_on_moving` copies it. A move to its own disk cancels a running move."""
        with self._step():
            assert self.store is not None
            self.store.moves.begin(tp, str(self.root / to))

    def move_away(self, tp: TopicPartition) -> None:
        """Move a log to the other disk."""
        with self._step():
            (other,) = {*DIRECTORIES} - {self.disk_of(tp)}
            self.open_store.moves.begin(tp, str(self.root / other))

    def go_on_moving(self, steps: int = 1 << 30) -> None:
        """Run up to this many steps of log moves."""
        while steps and self._moves.steps:
            steps -= 1
            with self._step():
                self._moves.run_one()

    def disk_of(self, tp: TopicPartition) -> str:
        """The name of the disk that holds the log."""
        return os.path.basename(os.path.dirname(self.log(tp).directory))

    def checkpoint(self) -> None:
        with self._step():
            assert self.store is not None
            self.store.checkpoints.write_recovery_points()
        with self._step():
            assert self.store is not None
            self.store.checkpoints.write_log_starts()
            self._note_log_starts()
        with self._step():
            assert self.store is not None
            self.store.checkpoints.write_high_watermarks(
                {log.topic_partition: log.log_end_offset for log in self.store.all_logs()}
            )

    def _note_log_starts(self) -> None:
        """Log starts are durable now, unless the directory is full or gone: then the earlier ones are."""
        if self.history.fault is None:
            for tp, promise in self._now.items():
                log = self.store.get(tp) if self.store is not None else None
                if log is not None:
                    self._now[tp] = replace(promise, least_start=log.log_start_offset)

    # --- one log ------------------------------------------------------------------------------------------------

    def create(self, tp: TopicPartition) -> None:
        with self._step():
            assert self.store is not None
            self.store.get_or_create(tp, is_new=True)
            generation = self._now[tp].generation + 1 if tp in self._now else 0
            self._now[tp] = Promise(generation, exists=True, may_be_missing=False)

    def create_missing(self, tp: TopicPartition) -> None:
        """Create the log unless it exists."""
        if self.open_store.get(tp) is None:
            self.create(tp)

    def delete(self, tp: TopicPartition) -> None:
        with self._step(tp, lambda promise: replace(promise, may_be_missing=True)):
            assert self.store is not None
            outcomes: list[object] = []
            self.store.deletion.delete_log(tp, outcomes.append)
            if isinstance(outcomes[0], KafkaStorageError):
                raise outcomes[0]
            self._now[tp] = Promise(self._now[tp].generation)
            self._sequences = {key: value for key, value in self._sequences.items() if key[0] != tp}

    def append(
        self, tp: TopicPartition, count: int = 1, *, epoch: int = 0, producer_id: int = -1, transactional: bool = False
    ) -> None:
        """Append one batch of `count` records."""
        with self._step():
            log = self.log(tp)
            values = [f"{tp}/{self._values + number:04d}".encode() for number in range(count)]
            self._values += count
            fields: dict[str, object] = {}
            if producer_id >= 0:
                known = log.producer_state.producers.get(producer_id)
                sequence = known.last_sequence + 1 if known is not None else 0
                fields = {
                    "producer_id": producer_id,
                    "producer_epoch": 0,
                    "base_sequence": sequence,
                    "is_transactional": transactional,
                }
            batch = batch_of(*values, timestamp_ms=NOW_MS + self._values * 10, **fields)  # type: ignore[arg-type]
            self._tell(tp, log, values, NOW_MS + self._values * 10)
            append_as_leader(log, batch, epoch, NOW_MS)
            self._appended(tp, log, values)

    def end_transaction(self, tp: TopicPartition, producer_id: int, *, commit: bool, epoch: int = 0) -> None:
        with self._step():
            log = self.log(tp)
            self._values += 1  # makes the marker's value one of its own
            timestamp = NOW_MS + self._values * 10
            marker = EndTransactionMarker(commit, self._values)
            batch = build_marker_batch(marker, producer_id=producer_id, producer_epoch=0, timestamp_ms=timestamp)
            value = b"\0\0" + self._values.to_bytes(4, "big")
            self._tell(tp, log, [value], timestamp)
            append_as_leader(log, bytearray(batch), epoch, NOW_MS, AppendOrigin.COORDINATOR)
            self._appended(tp, log, [value])

    def _tell(self, tp: TopicPartition, log: Log, values: list[bytes], timestamp: int) -> None:
        """Note records before their append, because some may reach the disk even if it fails."""
        told = self.told_of(tp, self._now[tp].generation)
        end = log.log_end_offset
        before = self._now[tp].records.get(end - 1)
        if before is None and end > log.log_start_offset:  # the append was refused after its write
            before = next(value for value, offset in reversed(told.offsets.items()) if offset == end - 1)
        for number, value in enumerate(values):
            told.offsets[value] = end + number
            told.timestamps[value] = timestamp + number
            if before is not None:
                told.behind.add((before, value))
            before = value

    def _appended(self, tp: TopicPartition, log: Log, values: list[bytes]) -> None:
        first = log.log_end_offset - len(values)
        added = {first + number: value for number, value in enumerate(values)}
        self._now[tp] = replace(self._now[tp], records={**self._now[tp].records, **added})

    def flush(self, tp: TopicPartition) -> None:
        with self._step():
            self.log(tp).flush(NOW_MS)

    def roll(self, tp: TopicPartition) -> None:
        with self._step():
            self.log(tp).roll(NOW_MS)

    def lead(self, tp: TopicPartition, epoch: int) -> None:
        with self._step():
            self.log(tp).assign_epoch_start(epoch)

    def truncate(self, tp: TopicPartition, offset: int) -> None:
        with self._step(tp, lambda promise: _without(promise, lambda known: known >= offset)):
            truncate_to(self.log(tp), offset, NOW_MS)

    def start_anew(self, tp: TopicPartition, offset: int) -> None:
        with self._step(tp, lambda promise: _without(promise, lambda known: True)):
            truncate_fully_and_start_at(self.log(tp), offset, NOW_MS)

    def delete_records(self, tp: TopicPartition, offset: int) -> None:
        with self._step():
            log = self.log(tp)
            log.increment_log_start_offset(min(offset, log.log_end_offset))

    def retain(self, tp: TopicPartition) -> None:
        with self._step(tp, lambda promise: _without(promise, lambda known: known < max(promise.records) - 5)):
            log = self.log(tp)
            apply_retention(log, NOW_MS, log.log_end_offset)


def _without(promise: Promise, may_be_gone: Callable[[int], bool]) -> Promise:
    records = {offset: value for offset, value in promise.records.items() if not may_be_gone(offset)}
    return replace(promise, records=records, start=min(records, default=promise.start), may_be_missing=not records)

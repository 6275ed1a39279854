"""The table of all logs: each with its strand, its log directory, and its move to another directory."""

from __future__ import annotations

import threading
from typing import NamedTuple

from ...base.topic_partition import TopicPartition
from ..log.log import Log
from ..log.strand import Strand
from ..recovery.log_recovery import StartingPoint
from .log_directory import LogDirectory
from .log_move import LogMove


class WaitingLog(NamedTuple):
    """A log that the start found in `directory` but could not open: the disk was full, or there was an obstacle.

    `start`: how to open it later.
    """

    directory: LogDirectory
    start: StartingPoint


class LogTable:
    """Changed from any thread under `lock`; looked up without it.

    A directory goes offline under the lock, and `add` refuses a log in an offline directory, so no log is added to one.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.departures = 0
        """How many logs have been removed."""
        self._logs: dict[TopicPartition, Log] = {}
        self._strands: dict[TopicPartition, Strand] = {}
        self._directory_of: dict[TopicPartition, LogDirectory] = {}
        self._moves: dict[TopicPartition, LogMove] = {}
        self._waiting: dict[TopicPartition, WaitingLog] = {}

    def __len__(self) -> int:
        return len(self._logs)

    def add(self, log: Log, strand: Strand, directory: LogDirectory) -> bool:
        """Add a log; the caller has checked that its partition has none. False when the directory went offline."""
        tp = log.topic_partition
        with self.lock:
            if not directory.is_online:
                return False
            self._waiting.pop(tp, None)
            self._logs[tp] = log
            self._strands[tp] = strand
            self._directory_of[tp] = directory
            directory.partition_count += 1
            return True

    def remove(self, tp: TopicPartition) -> int:
        """Remove a log; return the number of this removal, counted from 1."""
        with self.lock:
            self.departures += 1
            self._logs.pop(tp, None)
            self._strands.pop(tp, None)
            directory = self._directory_of.pop(tp, None)
            if directory is not None:
                directory.partition_count -= 1
            return self.departures

    def get(self, tp: TopicPartition) -> Log | None:
        return self._logs.get(tp)

    def strand(self, tp: TopicPartition) -> Strand | None:
        return self._strands.get(tp)

    def directory_of(self, tp: TopicPartition) -> LogDirectory | None:
        return self._directory_of.get(tp)

    def all_logs(self) -> list[Log]:
        with self.lock:
            return list(self._logs.values())

    def all_strands(self) -> list[Strand]:
        with self.lock:
            return list(self._strands.values())

    def logs_in(self, directory: LogDirectory) -> list[Log]:
        with self.lock:
            return [self._logs[tp] for tp, other in self._directory_of.items() if other is directory]

    # --- logs that are opened later -----------------------------------------------------------------------------------

    def wait(self, tp: TopicPartition, waiting: WaitingLog) -> None:
        """Note a log that is opened on request, once there is disk space or no obstacle."""
        with self.lock:
            self._waiting[tp] = waiting

    def waiting(self, tp: TopicPartition) -> WaitingLog | None:
        return self._waiting.get(tp)

    def waiting_in(self, directory: LogDirectory) -> dict[TopicPartition, WaitingLog]:
        with self.lock:
            return {tp: waiting for tp, waiting in self._waiting.items() if waiting.directory is directory}

    def wait_no_more(self, tp: TopicPartition) -> None:
        with self.lock:
            self._waiting.pop(tp, None)

    # --- moves to another log directory -------------------------------------------------------------------------

    def move(self, tp: TopicPartition) -> LogMove | None:
        return self._moves.get(tp)

    def all_moves(self) -> list[LogMove]:
        with self.lock:
            return list(self._moves.values())

    def moves_to(self, directory: LogDirectory) -> list[LogMove]:
        """Return the moves whose copies lie in that directory."""
        return [move for move in self.all_moves() if move.destination is directory]

    def add_move(self, move: LogMove) -> bool:
        """Add a move. False when the log has one already, or the log or a directory was lost meanwhile."""
        tp = move.topic_partition
        with self.lock:
            if (
                tp in self._moves
                or self._logs.get(tp) is not move.log
                or self._directory_of[tp] is not move.source
                or not move.destination.is_online
            ):
                return False
            self._moves[tp] = move
            move.destination.partition_count += 1
            return True

    def end_move(self, move: LogMove) -> bool:
        """End a move without effect. False when it had ended before."""
        tp = move.topic_partition
        with self.lock:
            if self._moves.get(tp) is not move:
                return False
            del self._moves[tp]
            move.is_ended = True
            move.destination.partition_count -= 1
            return True

    def finish_move(self, move: LogMove) -> None:
        """Note that the log is in the destination now, also when the move was cancelled too late."""
        tp = move.topic_partition
        with self.lock:
            self.end_move(move)
            move.is_done = True
            if self._logs.get(tp) is move.log:
                move.source.partition_count -= 1
                move.destination.partition_count += 1
                self._directory_of[tp] = move.destination
                self._strands[tp].use_budget(move.destination.budget)

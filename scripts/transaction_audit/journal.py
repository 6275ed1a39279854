"""The journal of a client: a line for each step of a transaction, written before a request and after its response.

A line is a JSON list: the step, the time in seconds (CLOCK_MONOTONIC, which all processes of a machine share), and for
`send` and `read` the records. A process that is killed leaves all its lines, except that the last may be cut off.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from support.transactions.transaction_history import (
    Observed,
    Place,
    ProducerSession,
    ReadRange,
    SentTransaction,
    TransactionHistory,
    TransactionOutcome,
)

__all__ = ["Journal", "take_journal"]

_UNKNOWN = -1
"""Clients do not tell their producer id and epoch."""


class Journal:
    """Writes the journal of one client process."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def session(self) -> None:
        """InitProducerId was answered."""
        self._write("session")

    def begin(self) -> None:
        self._write("begin")

    def send(self, records: Iterable[tuple[str, int, str]]) -> None:
        """Topic, partition and value of each record. Call it before the records are sent."""
        self._write("send", list(records))

    def read(self, records: Iterable[tuple[str, int, int, str]]) -> None:
        """Topic, partition, offset and value of each record that a read_committed consumer returned."""
        self._write("read", list(records))

    def moved(self) -> None:
        """The consumer continues at other offsets, for example at those of a transaction that was aborted."""
        self._write("moved")

    def commit(self) -> None:
        """Call it before the transaction is committed."""
        self._write("commit")

    def committed(self) -> None:
        self._write("committed")

    def aborted(self) -> None:
        self._write("aborted")

    def _write(self, step: str, *more: object) -> None:
        os.write(self._file, json.dumps([step, time.monotonic(), *more]).encode() + b"\n")


def take_journal(path: Path, transactional_id: str, history: TransactionHistory) -> Iterator[ReadRange]:
    """Adds the client's transactions to the history; yields what it read from each partition, one
    range for each session and after each move."""
    client = _Client(path.stem, transactional_id, history)
    for line in path.read_text().splitlines():
        try:
            step, at_s, *more = json.loads(line)
        except ValueError:  # cut off
            break
        if step in ("session", "moved"):
            yield from client.read_ranges()
        client.take(step, at_s, *more)
    yield from client.read_ranges()


class _Client:
    def __init__(self, name: str, transactional_id: str, history: TransactionHistory) -> None:
        self._name = name
        self._transactional_id = transactional_id
        self._history = history
        self._session: ProducerSession | None = None
        self._transaction: SentTransaction | None = None
        self._seen: dict[Place, list[Observed]] = {}

    def take(self, step: str, at_s: float, records: Any = ()) -> None:
        transaction = self._transaction
        match step:
            case "session":
                self._session = ProducerSession(self._transactional_id, self._name, _UNKNOWN, _UNKNOWN, at_s)
                self._history.sessions.append(self._session)
            case "begin":
                assert self._session is not None
                self._transaction = self._history.begin(self._session, at_s)
            case "moved":
                return
            case _ if transaction is None:
                raise ValueError(f"{self._name}: {step} without a transaction")
            case "send":
                transaction.last_sent_s = at_s
                for topic, partition, value in records:
                    transaction.values.setdefault((topic, partition), []).append(value.encode())
            case "read":
                for topic, partition, offset, value in records:
                    place = topic, partition
                    transaction.reads.append((place, value.encode()))
                    self._seen.setdefault(place, []).append(Observed(offset, value.encode(), at_s))
            case "commit":
                transaction.last_sent_s = at_s
                transaction.outcome = TransactionOutcome.IN_DOUBT
            case "committed" | "aborted":
                transaction.outcome = TransactionOutcome(step)
                transaction.ended_s = at_s

    def read_ranges(self) -> Iterator[ReadRange]:
        for place, seen in self._seen.items():
            offsets = [record.offset for record in seen]
            yield ReadRange(self._name, place, min(offsets), max(offsets) + 1, seen)
        self._seen = {}

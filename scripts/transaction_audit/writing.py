"""The work of all writers of an audit, whatever their client library is: transactions of reads and appends.

In a transaction a writer reads what is new in all partitions, and appends unique values to some. It aborts some of its
transactions, and rests in some for a few seconds.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

__all__ = ["TRANSACTION_TIMEOUT_MS", "Arguments", "Orders", "Record", "is_aborted", "records_of", "rest"]

TRANSACTION_TIMEOUT_MS = 20_000
"""Longer than any fault lasts."""
_ABORTED_SHARE = 0.15
_REST_SHARE = 0.03
_PAUSE_S = 0.1

Record = tuple[str, int, str]
"""Topic, partition and value."""


class Arguments(NamedTuple):
    """The arguments of a client program, in their order."""

    servers: str
    topic: str
    partitions: int
    transactional_id: str
    journal: str
    output: str = ""
    """The topic to which a copier copies."""

    @classmethod
    def of(cls, arguments: list[str]) -> "Arguments":
        servers, topic, partitions, *rest = arguments
        return cls(servers, topic, int(partitions), *rest)

    @property
    def name(self) -> str:
        """The name of the process, unique in an audit."""
        return self.journal.rpartition("/")[2].removesuffix(".journal")


class Orders:
    """Whether a line on the input told the client to end. The process exits when its input ends: the audit is over."""

    def __init__(self) -> None:
        self.is_told_to_end = False
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        self.is_told_to_end = bool(sys.stdin.readline())
        if not self.is_told_to_end:
            os._exit(1)


def records_of(arguments: Arguments, random: Random) -> Iterator[list[Record]]:
    """The records of one part of a transaction after another, without end."""
    number = 0
    while True:
        partitions = [random.randrange(arguments.partitions) for _ in range(random.choice((1, 1, 2, 4)))]
        yield [
            (arguments.topic, partition, f"{arguments.name}/{number + index}")
            for index, partition in enumerate(partitions)
        ]
        number += len(partitions)


def is_aborted(random: Random) -> bool:
    return random.random() < _ABORTED_SHARE


def rest(random: Random, read: Callable[[float], None]) -> None:
    """Pauses between two parts of a transaction, as a program that computes. `read` gets the seconds to wait."""
    read(random.uniform(0, _PAUSE_S))
    if random.random() < _REST_SHARE:
        time.sleep(random.uniform(0.5, 3.0))

"""A record of client operations, their results and the faults of a run; the final checkers judge by it."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple
from zlib import crc32

from support.transactions.transaction_history import Place

__all__ = [
    "IN_SEQUENCE",
    "Acknowledged",
    "Commit",
    "Guarantee",
    "History",
    "Outcome",
    "Place",
    "Read",
    "Sent",
    "Suspicion",
    "Transaction",
    "ViolationError",
]

_LINES = 4000


class ViolationError(Exception):
    """An invariant is broken. The message names the invariant and the partition."""


class Outcome(Enum):
    UNDER_WAY = "under way"
    ACKNOWLEDGED = "acknowledged"
    UNKNOWN = "unknown"
    """Given up without a response: the batch may be stored, not stored, or stored later."""
    REFUSED = "refused"
    """Every attempt was answered with an error code that says that nothing was stored."""


class Guarantee(Enum):
    """The delivery guarantee a producer asked for."""

    NONE = "acks=0"
    LEADER = "acks=1"
    ALL = "acks=all"
    ONCE = "idempotent"
    TRANSACTION = "transactional"

    @property
    def acks(self) -> int:
        return {Guarantee.NONE: 0, Guarantee.LEADER: 1}.get(self, -1)


IN_SEQUENCE = (Guarantee.ONCE, Guarantee.TRANSACTION)
"""Guarantees under which batches have sequence numbers, so each must be stored once."""


@dataclass(slots=True)
class Sent:
    """A batch that a producer sent. `number` counts those of a producer to a partition."""

    producer: str
    number: int
    place: Place
    values: tuple[bytes, ...]
    guarantee: Guarantee
    sent_s: float
    attempts: int = 0
    outcome: Outcome = Outcome.UNDER_WAY
    base_offset: int = -1
    done_s: float = -1.0
    leader_id: int = -1
    """The broker that acknowledged the batch."""
    sequence: int = -1
    known_epoch: int = -1
    """The leader epoch known to the acknowledging broker when it received the request, at `asked_s`."""
    asked_s: float = -1.0
    maybe_taken: int = 0
    """The number of attempts that may have been stored: the log may hold this many copies."""

    @property
    def last_offset(self) -> int:
        return self.base_offset + len(self.values) - 1

    @property
    def acknowledged(self) -> "Acknowledged":
        return Acknowledged(self.known_epoch, self.last_offset, self.asked_s)


@dataclass(frozen=True, slots=True)
class Read:
    """A record that a consumer read: its offset, the leader epoch and the time."""

    value: bytes
    known_epoch: int
    read_s: float


class Acknowledged(NamedTuple):
    """A record acknowledged by a leader, with the leader epoch known to it and the time of the request.

    ``last_offset``: the highest offset at which the record can be; its exact offset is unknown.
    """

    known_epoch: int = -1
    last_offset: int = -1
    asked_s: float = -1.0


class Commit(NamedTuple):
    """A committed offset, and the record in ``__consumer_offsets`` that keeps it."""

    offset: int = -1
    record: Acknowledged = Acknowledged()


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A violation unless the records at this offset and leader epoch may have been lost since."""

    place: Place
    what: str
    lost: Acknowledged
    is_refusal: bool = False
    """The report is a refusal by a broker that may no longer be leader."""


@dataclass(slots=True, eq=False)
class Transaction:
    """Records that a producer sent atomically. `is_committed`: the coordinator decided to commit."""

    producer_id: int
    sent: list[Sent] = field(default_factory=list)
    is_committed: bool = False
    read: dict[str, dict[bytes, None]] = field(default_factory=dict)
    """The values of the transaction that each read_committed consumer has read."""
    ends: dict[Place, Acknowledged] = field(default_factory=dict)
    """The acknowledged markers, by partition."""


@dataclass
class History:
    """`lines` describe the most recent events; `digest` is a checksum of all lines, which shows whether two runs are
    equal.
    """

    sent: list[Sent] = field(default_factory=list)
    read: dict[Place, dict[int, Read]] = field(default_factory=dict)
    committed: dict[tuple[str, Place], Commit] = field(default_factory=dict)
    """The last offset whose commit was acknowledged, by group and partition."""
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))
    counts: Counter[str] = field(default_factory=Counter)
    suspicions: list[Suspicion] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    """Violations that no loss can excuse."""
    transactions: dict[bytes, Transaction] = field(default_factory=dict)
    """The transaction of each record, by the record's value."""
    ended_transactions: list[Transaction] = field(default_factory=list)
    """Transactions whose markers are all acknowledged."""
    committed_readers: list[str] = field(default_factory=list)
    """The names of read_committed consumers."""
    deletions: dict[Place, int] = field(default_factory=dict)
    """The highest offset before which a client asked to delete records."""
    kept_to_size: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """Topics whose settings delete old records, with these settings."""
    topics: dict[str, bool | None] = field(default_factory=dict)
    """Whether a topic must exist; None: unknown, because a request about it was not answered."""
    digest: int = 0

    def may_be_trimmed(self, place: Place, log_start_offset: int) -> bool:
        """Whether the log may start at this offset."""
        return place[0] in self.kept_to_size or log_start_offset <= self.deletions.get(place, 0)

    def note(self, time_s: float, who: str, what: str) -> None:
        line = f"{time_s:10.4f} {who}: {what}"
        self.lines.append(line)
        self.digest = crc32(line.encode(), self.digest)

    def suspect(self, place: Place, what: str, lost: Acknowledged | None, *, is_refusal: bool = False) -> None:
        """``lost``: the record whose loss would explain it; None if no loss can."""
        if lost is None:
            self.violations.append(f"{place}: {what}")
        else:
            self.suspicions.append(Suspicion(place, what, lost, is_refusal))

    def has_committed(self, key: tuple[str, Place], before: Commit, commit: Commit) -> None:
        """Record a group's new committed offset; offsets below it are violations from now on.

        The new offset may be lower than `before`, the last one at the time of the request.
        """
        latest = self.committed.get(key, Commit())
        self.committed[key] = commit if latest == before else max(commit, latest)

    def saw(self, place: Place, offset: int, read: Read) -> None:
        """Record that a consumer read a record; two different records at one offset are suspicious."""
        records = self.read.setdefault(place, {})
        before = records.setdefault(offset, read)
        if before is read:
            return
        older, newer = sorted((before, read), key=lambda each: each.known_epoch)
        if older.value != newer.value:
            told = f"offset {offset} was read as {older.value!r} and as {newer.value!r}"
            self.suspect(place, told, Acknowledged(older.known_epoch, offset, older.read_s))
        records[offset] = newer
